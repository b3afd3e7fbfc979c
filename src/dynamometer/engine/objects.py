"""Buckets of objects: where exports go and imports come from.

The engine asks for three things: a list, a stream out of an object, a stream into one. `FolderObjects` is a folder that
stands for S3: its sub-folders are the buckets, files are objects. The S3-compatible endpoint is another implementation,
outside of the engine (`dynamometer.objects`), because it needs a client library.

Streams never hold more than a few pieces. An object that is being written is not there before `finish`; one whose
writer dies never is. A reader is told the ETag that it expects, so that it can't mix two versions of an object.

Jobs run between requests, so nothing here should wait: `is_ready` and `is_busy` say when to come again later instead.
"""

from __future__ import annotations

import base64
import hashlib
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Protocol

PIECE_BYTES = 1 << 18


class ObjectsError(Exception):
    """A bucket or object can't be used. `code` is how the service calls that in FailureCode."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


NO_SUCH_BUCKET = "S3NoSuchBucket"
NO_SUCH_KEY = "S3NoSuchKey"
MODIFIED = "ObjectModifiedInS3DuringImport"


def no_such_bucket() -> ObjectsError:
    """What the service says of a bucket that is not there."""
    return ObjectsError(NO_SUCH_BUCKET, "The specified bucket does not exist")


def modified() -> ObjectsError:
    """What the service says of an object that was replaced while it was read."""
    return ObjectsError(MODIFIED, "The S3 object could not be imported because it was overwritten.")


@dataclass(frozen=True, slots=True)
class Listed:
    """An object as a list shows it."""

    key: str
    size_bytes: int
    etag: str


@dataclass(frozen=True, slots=True)
class Encryption:
    """How an object is to be encrypted by its store: AES256 or KMS with or without a key. A folder does neither."""

    algorithm: str | None = None
    key: str | None = None


class Source(Protocol):
    """An object that is being read."""

    @property
    def is_ready(self) -> bool:
        """Whether `read` would answer at once."""
        ...

    def read(self) -> bytes:
        """The next piece; empty at the end. Raises ObjectsError."""
        ...

    def close(self) -> None: ...


class Sink(Protocol):
    """An object that is being written."""

    @property
    def is_busy(self) -> bool:
        """Whether `write` or `finish` would have to wait."""
        ...

    def write(self, data: bytes) -> None:
        """Append. Raises ObjectsError."""
        ...

    def finish(self) -> str:
        """Make the object appear; its ETag. Raises ObjectsError."""
        ...

    def abort(self) -> None:
        """Forget the object, if it was not finished."""
        ...


class ObjectStore(Protocol):
    """Buckets."""

    def list(self, bucket: str, prefix: str) -> Iterator[Listed]:
        """The objects whose keys begin with `prefix`, in the order of their keys. Raises ObjectsError."""
        ...

    def open(self, bucket: str, listed: Listed) -> Source:
        """Read an object that was listed. Raises ObjectsError when it is gone or another one by now."""
        ...

    def create(self, bucket: str, key: str, encryption: Encryption) -> Sink:
        """Write an object, instead of the one that may be there. Raises ObjectsError."""
        ...


def put(store: ObjectStore, bucket: str, key: str, data: bytes, encryption: Encryption) -> str:
    """Write a small object; its ETag. Raises ObjectsError."""
    sink = store.create(bucket, key, encryption)
    try:
        sink.write(data)
        return sink.finish()
    except BaseException:
        sink.abort()
        raise


def md5_base64(data: bytes) -> str:
    """The checksum that the service writes beside its manifests."""
    return base64.b64encode(hashlib.md5(data, usedforsecurity=False).digest()).decode()


# --- A folder that stands for S3 ---------------------------------------------------------------------------------

_bucket_name = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*").fullmatch
_UNFINISHED = ".unfinished"
"""The end of the name of a file that is no object yet."""


class FolderObjects:
    """Sub-folders are buckets, files are objects. Nothing outside of the folder is ever touched."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self._root = Path(folder)

    def list(self, bucket: str, prefix: str) -> Iterator[Listed]:
        folder = self._bucket(bucket)
        if prefix and not _is_key(prefix.rstrip("/") or "/"):
            return iter(())
        return self._walk(folder, folder, "", prefix)

    def _walk(self, bucket: Path, folder: Path, head: str, prefix: str) -> Iterator[Listed]:
        """Files in the order of their keys: a folder's name counts with the slash that follows it."""
        try:
            with os.scandir(folder) as found:
                entries = sorted((entry.name + "/" if entry.is_dir() else entry.name, entry) for entry in found)
        except OSError as error:
            raise _explained(error) from error
        for name, entry in entries:
            key = head + name
            if not self._is_inside(bucket, Path(entry.path)):
                continue
            if name.endswith("/"):
                if key.startswith(prefix) or prefix.startswith(key):
                    yield from self._walk(bucket, Path(entry.path), key, prefix)
            elif key.startswith(prefix) and not name.endswith(_UNFINISHED):
                status = entry.stat()
                yield Listed(key, status.st_size, _version(status))

    def open(self, bucket: str, listed: Listed) -> FileSource:
        path = self._path(bucket, listed.key)
        try:
            file = path.open("rb")
        except FileNotFoundError:
            raise modified() from None
        except OSError as error:
            raise _explained(error) from error
        if _version(os.fstat(file.fileno())) != listed.etag:
            file.close()
            raise modified()
        return FileSource(file, listed.etag)

    def create(self, bucket: str, key: str, encryption: Encryption) -> FileSink:
        path = self._path(bucket, key)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            return FileSink(path)
        except OSError as error:
            raise _explained(error) from error

    def _bucket(self, bucket: str) -> Path:
        folder = self._root / bucket
        if not _bucket_name(bucket) or not folder.is_dir() or not self._is_inside(self._root, folder):
            raise no_such_bucket()
        return folder

    def _path(self, bucket: str, key: str) -> Path:
        folder = self._bucket(bucket)
        path = folder / key
        if not _is_key(key) or not self._is_inside(folder, path):
            raise ObjectsError(NO_SUCH_KEY, "A folder that stands for S3 can't have an object of this name")
        return path

    @staticmethod
    def _is_inside(folder: Path, path: Path) -> bool:
        """Whether a path stays in a folder, also by way of links."""
        return path.resolve().is_relative_to(folder.resolve())


def _is_key(key: str) -> bool:
    """Whether a key can be a path: S3 allows more."""
    return not any(part in ("", ".", "..") or len(part.encode()) > 255 or "\0" in part for part in key.split("/"))


def _version(status: os.stat_result) -> str:
    """Something that differs whenever a file was written anew."""
    return f"{status.st_mtime_ns:x}-{status.st_ino:x}-{status.st_size:x}"


def _explained(error: OSError) -> ObjectsError:
    code = "S3AccessDenied" if isinstance(error, PermissionError) else "S3Error"
    return ObjectsError(code, f"The folder that stands for S3 can't be used: {error.strerror}")


class FileSource:
    """A file that is being read."""

    is_ready = True

    def __init__(self, file: IO[bytes], version: str) -> None:
        self._file = file
        self._version = version

    def read(self) -> bytes:
        try:
            piece = self._file.read(PIECE_BYTES)
            if not piece and _version(os.fstat(self._file.fileno())) != self._version:
                raise modified()
        except OSError as error:
            raise _explained(error) from error
        return piece

    def close(self) -> None:
        self._file.close()


class FileSink:
    """A file that is being written under another name, synced, and renamed."""

    is_busy = False

    def __init__(self, path: Path) -> None:
        self._path = path
        self._unfinished = path.with_name(path.name + _UNFINISHED)
        self._file = self._unfinished.open("wb")
        self._md5 = hashlib.md5(usedforsecurity=False)

    def write(self, data: bytes) -> None:
        self._md5.update(data)
        try:
            self._file.write(data)
        except OSError as error:
            raise _explained(error) from error

    def finish(self) -> str:
        try:
            self._file.flush()
            os.fsync(self._file.fileno())
            self._file.close()
            self._unfinished.replace(self._path)
        except OSError as error:
            raise _explained(error) from error
        # as S3 makes it of an object that came in one part
        return hashlib.md5(self._md5.digest(), usedforsecurity=False).hexdigest() + "-1"

    def abort(self) -> None:
        self._file.close()
        self._unfinished.unlink(missing_ok=True)
