"""Who owns a data folder, and which folders are refused."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from dynamometer.base.errors import StoreError, StoreLocked, StoreUnwritable
from dynamometer.storage.folder import DATA_FOLDER, FORMAT_FILE, LOCK_FILE, Folder, folder_error


def make(path: Path, version: int = 1) -> None:
    folder = Folder(path, "rocksdb", version)
    folder.finish()
    folder.close()


def test_a_new_folder_is_made_and_marked(tmp_path: Path) -> None:
    make(tmp_path / "a" / "b")
    assert (tmp_path / "a" / "b" / FORMAT_FILE).read_text() == "dynamometer rocksdb 1\n"
    folder = Folder(tmp_path / "a" / "b", "rocksdb", 1)
    assert not folder.is_new
    folder.close()


def test_a_folder_that_was_never_finished_counts_as_new(tmp_path: Path) -> None:
    Folder(tmp_path, "rocksdb", 1).close()
    (tmp_path / "FORMAT.new").write_text("dyn")
    folder = Folder(tmp_path, "rocksdb", 1)
    assert folder.is_new
    folder.close()


def test_the_owner_is_named_to_the_second(tmp_path: Path) -> None:
    owner = Folder(tmp_path, "rocksdb", 1)
    with pytest.raises(StoreLocked, match=f"in use by process {os.getpid()}:"):
        Folder(tmp_path, "rocksdb", 1)
    owner.close()
    Folder(tmp_path, "rocksdb", 1).close()


def test_the_lock_ends_with_its_process(tmp_path: Path) -> None:
    script = (
        "import os, sys; from dynamometer.storage.folder import Folder\n"
        "folder = Folder(sys.argv[1], 'rocksdb', 1); folder.finish(); os.kill(os.getpid(), 9)"
    )
    subprocess.run([sys.executable, "-c", script, str(tmp_path)], check=False)
    assert (tmp_path / LOCK_FILE).read_text().strip().isdecimal()
    Folder(tmp_path, "rocksdb", 1).close()


def test_a_folder_of_somebody_else_is_not_touched(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("precious")
    with pytest.raises(StoreError, match=r"not a Dynamometer data folder and not empty \(it has thesis.txt\)"):
        Folder(tmp_path, "rocksdb", 1)
    assert [entry.name for entry in tmp_path.iterdir()] == ["thesis.txt"]


def test_other_formats_are_refused(tmp_path: Path) -> None:
    make(tmp_path, version=2)
    with pytest.raises(StoreError, match="has format 2 and this version reads format 1: open it with a newer version"):
        Folder(tmp_path, "rocksdb", 1)
    with pytest.raises(StoreError, match="open it with an older version"):
        Folder(tmp_path, "rocksdb", 3)
    with pytest.raises(StoreError, match="was made by the store 'rocksdb'"):
        Folder(tmp_path, "lsm", 2)
    (tmp_path / FORMAT_FILE).write_text("something else")
    with pytest.raises(StoreError, match="not a format that Dynamometer ever wrote"):
        Folder(tmp_path, "rocksdb", 1)


def test_a_refused_folder_is_not_locked(tmp_path: Path) -> None:
    make(tmp_path, version=2)
    with pytest.raises(StoreError):
        Folder(tmp_path, "rocksdb", 1)
    Folder(tmp_path, "rocksdb", 2).close()


def test_a_path_through_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="choose a folder on a working disk"):
        Folder(tmp_path / "file" / "data", "rocksdb", 1)


@pytest.mark.parametrize(
    ("number", "kind", "advice"),
    [
        ("ENOSPC", StoreUnwritable, "free some space"),
        ("EROFS", StoreUnwritable, "make the folder writable"),
        ("EACCES", StoreUnwritable, "make the folder writable"),
        ("EIO", StoreError, "working disk"),
    ],
)
def test_errors_of_the_system_say_what_to_do(tmp_path: Path, number: str, kind: type[StoreError], advice: str) -> None:
    import errno

    code = getattr(errno, number)
    error = folder_error(tmp_path, OSError(code, os.strerror(code)))
    assert type(error) is kind
    assert advice in str(error)
    assert str(tmp_path) in str(error)


def test_the_data_lies_in_its_own_folder(tmp_path: Path) -> None:
    make(tmp_path)
    assert (tmp_path / DATA_FOLDER).is_dir()
