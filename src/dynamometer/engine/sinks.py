"""Where records for Kinesis go: the interface, and a folder that stands in for Kinesis.

The engine opens no connection of its own. Whoever puts the program together gives it a sink: a folder, or a client of
an endpoint that speaks Kinesis. A sink never blocks for long: it hands back an outcome to be asked for later.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Protocol

Outcome = Callable[[], list[int] | None]
"""The numbers of the records that were refused; None while that is not known yet. Raises SinkError, NoSuchStream."""


class SinkError(Exception):
    """Nothing got there, or nobody knows what did; it is worth another try."""


class NoSuchStream(SinkError):
    """There is no such Kinesis data stream."""


@dataclass(frozen=True, slots=True)
class SinkRecord:
    """One record of a Kinesis data stream."""

    data: bytes
    partition_key: str


class Sink(Protocol):
    """A place that has Kinesis data streams."""

    def find(self, stream_arn: str) -> Outcome:
        """Ask whether there is such a stream; the outcome is an empty list, or NoSuchStream."""
        ...

    def send(self, stream_arn: str, records: list[SinkRecord]) -> Outcome:
        """Put records into a stream, in any order."""
        ...

    def close(self) -> None: ...


_TAIL_BYTES = 4096
_ARN = re.compile(r"arn:[a-z-]+:kinesis:([a-z0-9-]+):(\d{12}):stream/([a-zA-Z0-9_.-]+)").fullmatch


def stream_of(arn: str) -> tuple[str, str, str] | None:
    """Region, account and name of a Kinesis data stream's ARN; None when it is none."""
    match = _ARN(arn)
    return None if match is None or not match[3].strip(".") else (match[1], match[2], match[3])


class FolderSink:
    """A folder with one file for each stream, `account/region/name.jsonl`, and a record's data on each line."""

    def __init__(self, folder: str, sync: bool = True) -> None:
        self._folder = Path(folder)
        self._sync = sync

    def find(self, stream_arn: str) -> Outcome:
        if stream_of(stream_arn) is None:
            return _no_such_stream
        return list

    def send(self, stream_arn: str, records: list[SinkRecord]) -> Outcome:
        stream = stream_of(stream_arn)
        if stream is None:
            return _no_such_stream
        region, account, name = stream
        try:
            self._append(self._folder / account / region / f"{name}.jsonl", records)
        except OSError as error:
            return _failing(f"{error.filename or self._folder} can't be written: {error.strerror}")
        return list

    def _append(self, path: Path, records: list[SinkRecord]) -> None:
        """Append all lines or none."""
        path.parent.mkdir(parents=True, exist_ok=True)
        data = b"".join(record.data + b"\n" for record in records)
        with path.open("a+b", buffering=0) as file:
            before = _cut_to_whole_lines(file)
            try:
                written = file.write(data)
                if written != len(data):
                    raise OSError(28, os.strerror(28), str(path))
                if self._sync:
                    os.fsync(file.fileno())
            except OSError:
                file.truncate(before)
                raise

    def close(self) -> None:
        """Nothing is held open."""


def _cut_to_whole_lines(file: BinaryIO) -> int:
    """Remove what a killed process left of a line, which is delivered again; the length of the file."""
    end = file.seek(0, os.SEEK_END)
    position = end
    while position > 0:
        start = max(0, position - _TAIL_BYTES)
        file.seek(start)
        newline = file.read(position - start).rfind(b"\n")
        if newline >= 0:
            position = start + newline + 1
            break
        position = start
    if position < end:
        file.truncate(position)
    return position


def _no_such_stream() -> list[int]:
    raise NoSuchStream("there is no such Kinesis data stream")


def _failing(message: str) -> Outcome:
    def fail() -> list[int]:
        raise SinkError(message)

    return fail
