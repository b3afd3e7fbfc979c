"""A folder that stands for S3: keys in order, whole objects only, and nothing outside of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from dynamometer.engine.objects import Encryption, FolderObjects, Listed, ObjectsError, put

PLAIN = Encryption()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "s3" / "bucket").mkdir(parents=True)
    (tmp_path / "secret").write_text("secret")
    return tmp_path / "s3"


@pytest.fixture
def store(folder: Path) -> FolderObjects:
    return FolderObjects(folder)


def keys(store: FolderObjects, prefix: str) -> list[str]:
    return [each.key for each in store.list("bucket", prefix)]


def read(store: FolderObjects, listed: Listed) -> bytes:
    source = store.open("bucket", listed)
    data = b""
    while piece := source.read():
        data += piece
    source.close()
    return data


def test_objects_are_listed_in_the_order_of_their_keys(store: FolderObjects) -> None:
    names = ["a", "a-b", "a/b", "a/b/c.json", "a0", "b/x"]
    for name in ("a-b", "a/b/c.json", "a0", "b/x"):
        put(store, "bucket", name, name.encode(), PLAIN)
    assert keys(store, "") == sorted(set(names) - {"a", "a/b"})
    assert keys(store, "a") == ["a-b", "a/b/c.json", "a0"]
    assert keys(store, "a/") == keys(store, "a/b/c") == ["a/b/c.json"]
    assert keys(store, "nothing/") == keys(store, "../") == keys(store, "a/../b") == []
    (listed,) = store.list("bucket", "b/")
    assert (listed.size_bytes, read(store, listed)) == (3, b"b/x")


def test_an_object_appears_when_it_is_finished(store: FolderObjects) -> None:
    sink = store.create("bucket", "a/b", PLAIN)
    sink.write(b"half")
    assert keys(store, "") == []
    sink.write(b" and half")
    assert sink.finish().endswith("-1")
    (listed,) = store.list("bucket", "")
    assert read(store, listed) == b"half and half"
    sink = store.create("bucket", "a/b", PLAIN)
    sink.write(b"never")
    sink.abort()
    assert read(store, listed) == b"half and half"


def test_an_overwritten_object_is_noticed(store: FolderObjects) -> None:
    put(store, "bucket", "a", b"one", PLAIN)
    (listed,) = store.list("bucket", "")
    put(store, "bucket", "a", b"two", PLAIN)
    with pytest.raises(ObjectsError) as overwritten:
        store.open("bucket", listed)
    assert overwritten.value.code == "ObjectModifiedInS3DuringImport"


def test_an_object_that_grows_while_it_is_read_is_noticed(store: FolderObjects, folder: Path) -> None:
    put(store, "bucket", "a", b"one", PLAIN)
    (listed,) = store.list("bucket", "")
    source = store.open("bucket", listed)
    assert source.read() == b"one"
    (folder / "bucket" / "a").write_bytes(b"other")
    assert source.read() == b"er"
    with pytest.raises(ObjectsError):
        source.read()


@pytest.mark.parametrize("bucket", ["nowhere", "..", ".", "../s3/bucket", "bucket/..", "", "/"])
def test_other_names_are_no_buckets(store: FolderObjects, bucket: str) -> None:
    with pytest.raises(ObjectsError) as missing:
        list(store.list(bucket, ""))
    assert missing.value.code == "S3NoSuchBucket"


@pytest.mark.parametrize(
    "key", ["../secret", "a/../../secret", "/etc/passwd", "a//b", "./a", "a/", "", "a\0b", "x" * 300]
)
def test_keys_stay_in_the_folder(store: FolderObjects, folder: Path, key: str) -> None:
    with pytest.raises(ObjectsError):
        put(store, "bucket", key, b"overwritten", PLAIN)
    with pytest.raises(ObjectsError):
        store.open("bucket", Listed(key, 1, "x"))
    assert (folder.parent / "secret").read_text() == "secret"


def test_links_that_lead_out_are_not_followed(store: FolderObjects, folder: Path) -> None:
    (folder / "bucket" / "out").symlink_to(folder.parent)
    (folder / "bucket" / "file").symlink_to(folder.parent / "secret")
    (folder / "other").symlink_to(folder.parent)
    assert keys(store, "") == []
    for key in ("out/secret", "file"):
        with pytest.raises(ObjectsError):
            put(store, "bucket", key, b"overwritten", PLAIN)
        with pytest.raises(ObjectsError):
            store.open("bucket", Listed(key, 1, "x"))
    with pytest.raises(ObjectsError):
        list(store.list("other", ""))


def test_a_read_only_folder_is_named(store: FolderObjects, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "mkdir", refuse)
    with pytest.raises(ObjectsError) as denied:
        put(store, "bucket", "a/b", b"", PLAIN)
    assert denied.value.code == "S3AccessDenied"
