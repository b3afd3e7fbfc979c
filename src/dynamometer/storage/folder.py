"""The folder of a persistent store: who owns it, and which format its bytes have.

    FORMAT             what wrote the folder, the kind of store and the version: "dynamometer rocksdb 1"
    dynamometer.lock   held by the process that owns the folder; its process id, for people
    SEQUENCE           how many changes the store had when it was last opened or closed: it never has fewer
    db/                the store's own files

FORMAT is written last, when the store has been made, so a folder without it holds nothing that anyone was told of.
A folder that has other files in it and no FORMAT is somebody else's and is not touched.
"""

from __future__ import annotations

import errno
import fcntl
import os
from contextlib import suppress
from pathlib import Path

from dynamometer.base.errors import StoreError, StoreLocked, StoreUnwritable
from dynamometer.storage.sync_logs import sync_names

FORMAT_FILE = "FORMAT"
LOCK_FILE = "dynamometer.lock"
SEQUENCE_FILE = "SEQUENCE"
DATA_FOLDER = "db"
PROGRAM = "dynamometer"

_OURS = {
    *(FORMAT_FILE, SEQUENCE_FILE, LOCK_FILE, DATA_FOLDER),
    *(FORMAT_FILE + ".new", SEQUENCE_FILE + ".new"),
    "lost+found",
}
_UNWRITABLE = {errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM, errno.EFBIG}


class Folder:
    """A data folder that this process owns until `close`."""

    def __init__(self, path: str | os.PathLike[str], kind: str, version: int) -> None:
        self.path = Path(path).absolute()
        self.data = self.path / DATA_FOLDER
        self._format = f"{PROGRAM} {kind} {version}\n"
        self._version = version
        self._lock = -1
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            self._refuse_strangers()
            self._acquire()
            self.is_new = not self._check_format()
            self.data.mkdir(exist_ok=True)
        except OSError as error:
            self.close()
            raise folder_error(self.path, error) from error
        except StoreError:
            self.close()
            raise

    def finish(self) -> None:
        """Mark the folder as a store that has been made. Everything that it needs is in it by now."""
        if not self.is_new:
            return
        try:
            self._replace(FORMAT_FILE, self._format)
            for folder in (self.data, self.path, self.path.parent):
                _sync_folder(folder)
        except OSError as error:
            raise folder_error(self.path, error) from error
        self.is_new = False

    def witness(self, sequence: int) -> None:
        """Remember how far the store has come. One that can't be written is left: an older number is true as well."""
        with suppress(OSError):
            self._replace(SEQUENCE_FILE, f"{sequence}\n")

    def witnessed(self) -> int:
        """How far the store had come, at least."""
        try:
            text = (self.path / SEQUENCE_FILE).read_bytes().strip()
        except OSError:
            return 0
        return int(text) if text.isdigit() else 0

    def _replace(self, name: str, text: str) -> None:
        """Write a small file as a whole or not at all."""
        new = self.path / (name + ".new")
        with new.open("w") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        new.rename(self.path / name)

    def close(self) -> None:
        """Let another process own the folder."""
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1

    def _refuse_strangers(self) -> None:
        names = {entry.name for entry in self.path.iterdir()}
        if FORMAT_FILE not in names and not names <= _OURS:
            some = ", ".join(sorted(names - _OURS)[:3])
            raise StoreError(
                f"{self.path} is not a Dynamometer data folder and not empty (it has {some}): choose an empty folder"
            )

    def _acquire(self) -> None:
        self._lock = os.open(self.path / LOCK_FILE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            owner = os.pread(self._lock, 20, 0).decode("ascii", "replace").strip() or "unknown"
            raise StoreLocked(
                f"{self.path} is in use by process {owner}: stop that process, or choose another folder"
            ) from None
        os.ftruncate(self._lock, 0)
        os.pwrite(self._lock, f"{os.getpid()}\n".encode(), 0)

    def _check_format(self) -> bool:
        """True when the folder is a finished store of our format, False when it is a new one."""
        try:
            found = (self.path / FORMAT_FILE).read_bytes().decode("utf-8", "replace")
        except FileNotFoundError:
            return False
        if found == self._format:
            return True
        words = found.split()
        if len(words) != 3 or words[0] != PROGRAM or not words[2].isdecimal():
            raise StoreError(f"{self.path / FORMAT_FILE} is not a format that Dynamometer ever wrote: {found[:40]!r}")
        if words[1] != self._format.split()[1]:
            raise StoreError(f"{self.path} was made by the store {words[1]!r}: open it with that one")
        age = "a newer" if int(words[2]) > self._version else "an older"
        raise StoreError(
            f"{self.path} has format {words[2]} and this version reads format {self._version}: "
            f"open it with {age} version of Dynamometer"
        )


def folder_error(path: Path, error: OSError) -> StoreError:
    """Our error for one of the operating system's about the folder."""
    text = f"{path}: {error.strerror or error}"
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return StoreUnwritable(f"{text}: free some space and start again; what was acknowledged is safe")
    if error.errno in _UNWRITABLE:
        return StoreUnwritable(f"{text}: make the folder writable for this user, or choose another folder")
    return StoreError(f"{text}: choose a folder on a working disk")


def _sync_folder(path: Path) -> None:
    """Make the names in a folder durable."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        sync_names(descriptor)
    finally:
        os.close(descriptor)
