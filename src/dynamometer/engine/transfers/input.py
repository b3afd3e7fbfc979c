"""The records of one object: decompressed, cut apart, and counted, without ever holding more than a few pieces.

    DYNAMODB_JSON   a line is a record; it is handed on as bytes
    ION             a struct is a record; it is handed on as {"Item": {…}} and what is beside that
    CSV             a line is a record, quotes may run over several; it is handed on as {"Item": {…}}

What can't be read is handed on as `Malformed`, in its place. After one that makes the rest of the object unreadable
(broken compression, Ion, quotes) the object is over; a broken JSON line is followed by the next line.
Source: the developer guide's pages on import formats and validation.
"""

from __future__ import annotations

import codecs
import csv
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from dynamometer.engine.objects import PIECE_BYTES, ObjectsError, Source
from dynamometer.model import ion

LINE_BYTES_MAX = 16 << 20
"""A line that is longer holds no item."""
CSV_FIELD_CHARACTERS_MAX = 1 << 20
GZIP, ZSTD = "GZIP", "ZSTD"


@dataclass(frozen=True, slots=True)
class Malformed:
    """A record that can't be read, and why."""

    reason: str


Record = bytes | dict[str, Any] | Malformed


@dataclass(frozen=True, slots=True)
class Csv:
    """How CSV is to be read. `types`: of key attributes; all others are strings."""

    delimiter: str
    header: list[str] | None
    types: dict[str, str]


class ObjectReader:
    """Reads the records of one object."""

    def __init__(self, source: Source, form: str, compression: str, options: Csv) -> None:
        self._source = source
        self._form = form
        self._compression = compression
        self._options = options
        self.raw_bytes = 0
        """Read from the bucket."""
        self.data_bytes = 0
        """After decompression."""

    @property
    def is_ready(self) -> bool:
        """Whether reading on would not wait."""
        return self._source.is_ready

    def records(self) -> Iterator[Record]:
        """All records in order. Raises ObjectsError when the bucket fails."""
        pieces = _counted(self, self._decompressed())
        try:
            if self._form == "DYNAMODB_JSON":
                yield from _lines(pieces)
            elif self._form == "ION":
                yield from map(_ion_record, ion.read_structs(_decoded(pieces)))
            else:
                yield from self._rows(_text_lines(_decoded(pieces)))
        except (zlib.error, EOFError) as error:
            yield Malformed(f"The object is not {self._compression}, or damaged: {error}")
        except UnicodeDecodeError:
            yield Malformed("The object is not UTF-8")
        except ion.IonError as error:
            yield Malformed(f"The object is not Ion from here on: {error}")
        except csv.Error as error:
            yield Malformed(f"The object is not CSV from here on: {error}")
        finally:
            self._source.close()

    def _raw(self) -> Iterator[bytes]:
        read = self._source.read
        while piece := read():
            self.raw_bytes += len(piece)
            yield piece

    def _decompressed(self) -> Iterator[bytes]:
        if self._compression == GZIP:
            return _gunzip(self._raw())
        if self._compression == ZSTD:
            return _unzstd(self._raw())
        return self._raw()

    def _rows(self, lines: Iterator[str]) -> Iterator[Record]:
        options = self._options
        if csv.field_size_limit() < CSV_FIELD_CHARACTERS_MAX:
            csv.field_size_limit(CSV_FIELD_CHARACTERS_MAX)
        rows = csv.reader(lines, delimiter=options.delimiter, strict=True)
        header = options.header or next(rows, [])
        if len(set(header)) != len(header) or "" in header:
            yield Malformed("The header of the object has a name twice, or an empty one")
            return
        columns = [(name, options.types.get(name, "S")) for name in header]
        for row in rows:
            if len(row) == len(columns):
                pairs = zip(columns, row, strict=True)
                yield {"Item": {name: {kind: text} for (name, kind), text in pairs if text}}
            elif row:
                yield Malformed(f"The line has {len(row)} columns, but the header has {len(columns)}")


def _counted(reader: ObjectReader, pieces: Iterator[bytes]) -> Iterator[bytes]:
    for piece in pieces:
        reader.data_bytes += len(piece)
        yield piece


def _gunzip(raw: Iterator[bytes]) -> Iterator[bytes]:
    """All members of a gzip file, in pieces whatever they expand to."""
    member = zlib.decompressobj(31)
    is_inside = False
    for data in raw:
        while data:
            is_inside = True
            piece = member.decompress(data, PIECE_BYTES)
            if piece:
                yield piece
            data = member.unconsumed_tail
            if member.eof:
                data = member.unused_data.lstrip(b"\0")  # padding between and behind members is allowed
                member = zlib.decompressobj(31)
                is_inside = False
    if is_inside:
        yield member.flush()
        if not member.eof:
            raise EOFError("it ends too early")


def _unzstd(raw: Iterator[bytes]) -> Iterator[bytes]:
    try:
        import zstandard
    except ImportError:
        raise ObjectsError(
            "ZstdNotInstalled",
            "ZSTD needs the package zstandard: pip install 'dynamometer[bulk]', and start the server again",
        ) from None
    decompressor: Any = zstandard.ZstdDecompressor()
    reader = decompressor.stream_reader(_Readable(raw), read_size=PIECE_BYTES, read_across_frames=True)
    try:
        while piece := reader.read(PIECE_BYTES):
            yield piece
    except zstandard.ZstdError as error:
        raise EOFError(str(error)) from None


class _Readable:
    """Pieces as a file that zstandard reads from."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces

    def read(self, _: int = -1) -> bytes:
        return next(self._pieces, b"")


def _lines(pieces: Iterable[bytes]) -> Iterator[Record]:
    rest = b""
    for piece in pieces:
        lines = (rest + piece if rest else piece).split(b"\n")
        rest = lines.pop()
        for line in lines:
            if line and not line.isspace():
                yield line
        if len(rest) > LINE_BYTES_MAX:
            yield Malformed("A line is too long to be an item")
            return
    if rest and not rest.isspace():
        yield rest


def _decoded(pieces: Iterable[bytes]) -> Iterator[str]:
    decoder = codecs.getincrementaldecoder("utf-8-sig")()
    for piece in pieces:
        yield decoder.decode(piece)
    yield decoder.decode(b"", final=True)


def _text_lines(pieces: Iterable[str]) -> Iterator[str]:
    rest = ""
    for piece in pieces:
        lines = (rest + piece).split("\n")
        rest = lines.pop()
        for line in lines:
            yield line + "\n"
        if len(rest) > LINE_BYTES_MAX:
            raise csv.Error("a line is too long to be an item")
    if rest:
        yield rest


_EXPRESSIONS = ("ConditionExpression",)
_MAPS = ("Item", "ExpressionAttributeNames", "ExpressionAttributeValues")


def _ion_record(fields: dict[str, Any]) -> Record:
    """A struct as the DynamoDB JSON of the same record."""
    try:
        record: dict[str, Any] = {name: fields[name]["M"] for name in _MAPS if name in fields}
        record |= {name: fields[name]["S"] for name in _EXPRESSIONS if name in fields}
        if "ExpressionAttributeNames" in record:
            names = record["ExpressionAttributeNames"]
            record["ExpressionAttributeNames"] = {name: value["S"] for name, value in names.items()}
        return record
    except KeyError:
        return Malformed("A member of the record has the wrong type")
