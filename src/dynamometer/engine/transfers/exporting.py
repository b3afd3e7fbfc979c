"""The job of an export: a table of one moment, or what changed between two, as files in a bucket.

The table of a moment is the table as it is with the log undone. Of a range of places: first an iterator is opened,
which shows what is there then; next the log is read from the moment wanted up to that; then the items go by, and those
that have changed since are replaced by what they were. So nothing is held but one range's changes, and every range may
be begun at another time. That the log reaches back is promised to the job until it ends (`Transfers`).

One file a partition, its name derived from the export's: a job that was killed writes its unfinished file again.

    AWSDynamoDB/<id>/_started, manifest-summary.json and .md5, manifest-files.json and .md5
    AWSDynamoDB/<id>/data/<name>.json.gz     of a full export
    AWSDynamoDB/data/<name>.json.gz          of an incremental one
"""

from __future__ import annotations

import base64
import hashlib
import zlib
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import islice
from typing import Any

import orjson

from dynamometer.engine import keyspace, stored
from dynamometer.engine.catalog import Table
from dynamometer.engine.commit import PREFIX_LENGTH
from dynamometer.engine.objects import Encryption, md5_base64, put
from dynamometer.engine.partitions import partitions_of
from dynamometer.engine.transfers import selecting
from dynamometer.engine.transfers.export_lines import EXTENSIONS, JSON, ChangeLines, FullLines
from dynamometer.engine.transfers.job import Stopped, TransferJob
from dynamometer.engine.transfers.transfer import COMPLETED, Transfer, end, save
from dynamometer.engine.transfers.window import Window
from dynamometer.storage.interface import Pair

STEP_ITEMS = 500
STEP_BYTES = 1 << 20
"""A step ends with the item that reaches one of these: some milliseconds."""
STEP_CHANGES = 50
COMPRESSION_LEVEL = 4
"""Of gzip: at the default 6, compressing takes longer than all the rest together and saves some 5 %."""
INCREMENTAL = "INCREMENTAL_EXPORT"
VERSIONS = {True: "2023-08-01", False: "2020-06-30"}
"""Of the manifests of incremental and of full exports."""

Piece = tuple[bytes, int, int]
"""Lines, the items in them, and the bytes that they are billed for."""


class ExportJob(TransferJob):
    """Writes the files of one export."""

    def work(self) -> Iterator[None]:
        transfer, request = self.transfer, self.transfer.request
        encryption = Encryption(request.get("S3SseAlgorithm"), request.get("S3SseKmsKeyId"))
        folder = folder_of(transfer)
        put(self.objects, request["S3Bucket"], f"{folder}/_started", b"", encryption)
        yield
        ranges = _ranges(self._table(), self._selection())
        files = transfer.progress.setdefault("files", [])
        for number in range(len(files), len(ranges)):
            yield from self._write_file(number, *ranges[number], encryption)
        self._write_manifests(folder, files, encryption)
        end(self.engine, transfer, COMPLETED)

    def _table(self) -> Table:
        table = self.table()
        # assumed codes and texts: the service never loses a table that it exports
        if table is None:
            raise Stopped("TableNotFound", f"Table not found: {self.transfer.table_arn}")
        if table.record.recovery is None:
            raise Stopped(
                "PointInTimeRecoveryUnavailable", f"Point in time recovery is not enabled for table '{table.name}'"
            )
        return table

    def _selection(self) -> selecting.Selection:
        return selecting.parse(self._table(), self.transfer.request.get("FilterSpecification"))

    def _write_file(self, number: int, low: bytes, high: bytes | None, encryption: Encryption) -> Iterator[None]:
        """One data file; its row of the manifest is kept in the record."""
        transfer, request = self.transfer, self.transfer.request
        key = _data_key(transfer, number)
        sink = self.objects.create(request["S3Bucket"], key, encryption)
        try:
            packer = zlib.compressobj(COMPRESSION_LEVEL, zlib.DEFLATED, 31)
            md5 = hashlib.md5(usedforsecurity=False)
            items = billed = 0
            for lines, count, size in self._pieces_of(low, high):
                self._table()
                packed = packer.compress(lines)
                md5.update(packed)
                sink.write(packed)
                items += count
                billed += size
                transfer.done_items += count
                transfer.processed_bytes += size
                yield
                while sink.is_busy:
                    yield
            packed = packer.flush()
            md5.update(packed)
            sink.write(packed)
            while sink.is_busy:
                yield
            etag = sink.finish()
        except BaseException:
            sink.abort()
            raise
        checksum = base64.b64encode(md5.digest()).decode()
        row = {"itemCount": items, "md5Checksum": checksum, "etag": etag, "dataFileS3Key": key}
        transfer.progress["files"].append(row)
        transfer.progress["billed"] = transfer.progress.get("billed", 0) + billed
        save(self.engine, transfer)
        yield

    def _pieces_of(self, low: bytes, high: bytes | None) -> Iterator[Piece]:
        # what an interrupted file had counted is counted again
        self.transfer.done_items = sum(row["itemCount"] for row in self.transfer.progress["files"])
        self.transfer.processed_bytes = self.transfer.progress.get("billed", 0)
        if self.transfer.request.get("ExportType") == INCREMENTAL:
            return self._changes(low, high)
        return self._items(low, high)

    def _items(self, low: bytes, high: bytes | None) -> Iterator[Piece]:
        """The items of a range as they were at the moment wanted."""
        form = self.transfer.request.get("ExportFormat", JSON)
        writer = FullLines(form, self._selection().bound)
        table, first = self._table(), self.transfer.first_sequence
        prefix, engine = table.prefix, self.engine
        while True:
            end_key = keyspace.successor(prefix) if high is None else prefix + high
            pairs = engine.store.range(prefix + low, end_key)
            window = Window(engine.log, engine.store, table.number, first, engine.log.last_sequence + 1, low, high)
            while not window.step():
                yield b"", 0, 0
            past = sorted((place, effect.before) for place, effect in window.effects.items())
            values: Iterator[bytes] = (value for _, value in pairs)
            if past:
                values = _as_they_were(pairs, past, None if window.high is None else prefix + window.high)
            for items in _in_steps(values):
                lines, count = writer.lines(items)
                yield lines, count, sum(map(stored.size_of, items))
            if window.high == high:
                return
            assert window.high is not None, "a window only gets smaller"
            low = window.high

    def _changes(self, low: bytes, high: bytes | None) -> Iterator[Piece]:
        """The net changes of a range."""
        request, table, engine = self.transfer.request, self._table(), self.engine
        with_old = request["IncrementalExportSpecification"].get("ExportViewType") != "NEW_IMAGE"
        writer = ChangeLines(request.get("ExportFormat", JSON), self._selection().bound, table.key.names, with_old)
        first, last = self.transfer.first_sequence, self.transfer.end_sequence
        while True:
            window = Window(engine.log, engine.store, table.number, first, last, low, high)
            while not window.step():
                yield b"", 0, 0
            effects = (window.effects[place] for place in sorted(window.effects))
            while piece := list(islice(effects, STEP_CHANGES)):
                lines = [line for effect in piece if (line := writer.line(effect)) is not None]
                size = sum(len(each.before or b"") + len(each.after or b"") for each in piece)
                yield b"".join(lines), len(lines), size
            if window.high == high:
                return
            assert window.high is not None, "a window only gets smaller"
            low = window.high

    def _write_manifests(self, folder: str, files: list[dict[str, Any]], encryption: Encryption) -> None:
        """The checksums come before what they are of, and the summary last: who sees it sees everything."""
        bucket = self.transfer.request["S3Bucket"]
        rows = b"".join(orjson.dumps(row) + b"\n" for row in files)
        summary = orjson.dumps(_summary(self.transfer, folder, round(self.engine.clock.now(), 3)))
        for name, data in (("manifest-files", rows), ("manifest-summary", summary)):
            put(self.objects, bucket, f"{folder}/{name}.md5", md5_base64(data).encode(), encryption)
            put(self.objects, bucket, f"{folder}/{name}.json", data, encryption)


def _as_they_were(
    pairs: Iterator[Pair], past: list[tuple[bytes, bytes | None]], end_key: bytes | None
) -> Iterator[bytes]:
    """The items of `pairs` up to `end_key`, but where `past` has a place, what it says of that."""
    at, count = 0, len(past)
    for key, value in pairs:
        if end_key is not None and key >= end_key:
            break
        place = key[PREFIX_LENGTH:]
        while at < count and past[at][0] < place:
            before = past[at][1]
            if before is not None:
                yield before
            at += 1
        if at < count and past[at][0] == place:
            before = past[at][1]
            at += 1
            if before is not None:
                yield before
        else:
            yield value
    for _, before in past[at:]:
        if before is not None:
            yield before


def _in_steps(items: Iterator[bytes]) -> Iterator[list[bytes]]:
    """Items in pieces of a few milliseconds' work."""
    piece: list[bytes] = []
    size = 0
    for value in items:
        piece.append(value)
        size += len(value)
        if len(piece) == STEP_ITEMS or size >= STEP_BYTES:
            yield piece
            piece, size = [], 0
    if piece:
        yield piece


def _ranges(table: Table, selection: selecting.Selection) -> list[tuple[bytes, bytes | None]]:
    """The places of each file: the partitions, cut to what the key condition asks for. At least one file."""
    if selection.places is not None:
        return [selection.places]
    count = partitions_of(table.record)
    bounds = [((number << 64) // count).to_bytes(8, "big") for number in range(1, count)]
    return list(zip([b"", *bounds], [*bounds, None], strict=True))


def folder_of(transfer: Transfer) -> str:
    """The folder of an export in its bucket."""
    return f"{_root(transfer)}AWSDynamoDB/{transfer.label}"


def _root(transfer: Transfer) -> str:
    prefix: str = transfer.request.get("S3Prefix") or ""
    return f"{prefix.rstrip('/')}/" if prefix.rstrip("/") else ""


def _data_key(transfer: Transfer, number: int) -> str:
    request = transfer.request
    digest = hashlib.sha256(f"{transfer.arn}/{number}".encode()).digest()
    name = base64.b32encode(digest).decode().lower()[:26]
    extension = EXTENSIONS[request.get("ExportFormat", JSON)]
    folder = f"{_root(transfer)}AWSDynamoDB" if request.get("ExportType") == INCREMENTAL else folder_of(transfer)
    return f"{folder}/data/{name}{extension}"


def moment(seconds: float) -> str:
    """A time as the manifests have it."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z"


def _summary(transfer: Transfer, folder: str, now: float) -> dict[str, Any]:
    request = transfer.request
    is_incremental = request.get("ExportType") == INCREMENTAL
    summary: dict[str, Any] = {
        "version": VERSIONS[is_incremental],
        "exportArn": transfer.arn,
        "startTime": moment(transfer.started_at),
        "endTime": moment(now),
        "tableArn": transfer.table_arn,
        "tableId": transfer.table_id,
    }
    if is_incremental:
        summary["exportFromTime"] = moment(transfer.times["from"])
        summary["exportToTime"] = moment(transfer.times["to"])
    else:
        summary["exportTime"] = moment(transfer.times["at"])
    summary |= {
        "s3Bucket": request["S3Bucket"],
        "s3Prefix": request.get("S3Prefix"),
        "s3SseAlgorithm": request.get("S3SseAlgorithm", "AES256"),
        "s3SseKmsKeyId": request.get("S3SseKmsKeyId"),
        "manifestFilesS3Key": f"{folder}/manifest-files.json",
        "billedSizeBytes": transfer.processed_bytes,
        "itemCount": transfer.done_items,
        "outputFormat": request.get("ExportFormat", JSON),
    }
    if is_incremental:
        view = request["IncrementalExportSpecification"].get("ExportViewType", "NEW_AND_OLD_IMAGES")
        summary["outputView"] = view
    summary["exportType"] = request.get("ExportType", "FULL_EXPORT")
    return summary
