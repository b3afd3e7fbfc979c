"""The job of a bulk put: items from objects into a table that serves meanwhile.

Each record is put as PutItem would: under its condition, if it has one, with indexes, streams and time to live. What
did not go through is written to the output bucket at the end, as JSON Lines; until then it is kept in the store, in the
commit of its batch, so that a restart neither loses nor repeats a line.

    <prefix>/AWSDynamoDB/<id>/errors/data.jsonl                     {"Error":{…},"Item":{…}}, or "Record":"…"
    <prefix>/AWSDynamoDB/<id>/condition-check-failures/data.jsonl   {"Item":{…},"ExistingItem":{…}}

The service model names the operation, its states and counters. The form of a record beside its Item, of the output and
its keys, and how bytes are counted are not public: all of that is assumed.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import orjson

from dynamometer.engine import keyspace
from dynamometer.engine.actions import Put
from dynamometer.engine.catalog import Table
from dynamometer.engine.commit import Charge, Commit, Image
from dynamometer.engine.objects import Encryption
from dynamometer.engine.transfers.input import Malformed, ObjectReader
from dynamometer.engine.transfers.job import Stopped
from dynamometer.engine.transfers.loading import LoadJob, Refused
from dynamometer.engine.transfers.transfer import (
    CANCELLED,
    CANCELLING,
    COMPLETED,
    COMPLETED_WITH_ERRORS,
    Transfer,
    end,
)
from dynamometer.expressions import Bound, bind, check_mixing, check_scalar_keys

if TYPE_CHECKING:
    from dynamometer.engine.engine import Engine

ERROR, CONDITION_CHECK_FAILURE = "ERROR", "CONDITION_CHECK_FAILURE"
FOLDERS = {ERROR: "errors", CONDITION_CHECK_FAILURE: "condition-check-failures"}
UNIT_BYTES = 1024
OUTPUT_STEP = 50
"""Kept pieces of output that are written in one step."""
_RECORD_SHOWN = 1000


class BulkJob(LoadJob):
    """Puts into one table."""

    def __init__(self, engine: Engine, transfer: Transfer) -> None:
        super().__init__(engine, transfer)
        request = transfer.request
        source = request["InputS3Configuration"]
        self.bucket = source["S3Bucket"]
        self.prefix = source.get("S3KeyPrefix") or ""
        self.form = source["InputFormat"]
        self.compression = source.get("InputCompressionType", "NONE")
        self._rate: int | None = request.get("MaxWriteRequestUnits")
        self._since = engine.clock.now()
        self._units = 0

    def begin(self) -> None:
        """See that the output's bucket is there before anything is put."""
        output = self.transfer.request["OutputS3Configuration"]
        next(iter(self.objects.list(output.get("S3Bucket", self.bucket), self.transfer.label)), None)

    def target(self) -> Table:
        table = self.table()
        if table is None:
            raise Stopped("TableNotFound", f"Table not found: {self.transfer.table_arn}")  # assumed
        return table

    def conditions(self, record: dict[str, Any]) -> Bound | None:
        kinds = ("ConditionExpression",)
        check_mixing(record, kinds, with_legacy=False)
        bound = bind(record, kinds, with_legacy=False)
        if bound.condition is not None:
            check_scalar_keys(bound.condition.nested, self.target().key.names)
        return bound

    def may_go_on(self) -> bool:
        """Whether the rate that was asked for allows another batch."""
        if self._rate is None:
            return True
        return self._units < (self.engine.clock.now() - self._since + 1) * self._rate

    def is_cancelled(self) -> bool:
        return self.transfer.status == CANCELLING

    def read_bytes(self, reader: ObjectReader) -> int:
        return reader.raw_bytes

    def charged(self, draft: Transfer, put: Put, charge: Charge) -> None:
        self._units += charge.table_units
        usage = draft.usage
        table = usage.setdefault("table", {"": 0})
        table[""] += charge.table_units * UNIT_BYTES
        for kind, used, unit in (
            ("local", charge.local_units, UNIT_BYTES),
            ("global", charge.global_units, UNIT_BYTES),
            ("vector", charge.vector_bytes, 1),
        ):
            if used:
                row = usage.setdefault(kind, {})
                for name, amount in used.items():
                    row[name] = row.get(name, 0) + amount * unit

    def stage(
        self, commit: Commit, draft: Transfer, refused: list[Refused], failed: list[tuple[Put, Image | None]]
    ) -> None:
        wanted = draft.request["OutputS3Configuration"]["OutputType"]
        lines: dict[str, list[bytes]] = {}
        if refused and ERROR in wanted:
            lines[ERROR] = [self._error_line(each) for each in refused]
        if failed and CONDITION_CHECK_FAILURE in wanted:
            lines[CONDITION_CHECK_FAILURE] = [_failure_line(put, before) for put, before in failed]
        for kind, kept in lines.items():
            key = draft.spool_key(FOLDERS[kind], draft.processed_items)
            commit.transaction.put(key, b"".join(kept))

    def _error_line(self, refused: Refused) -> bytes:
        record, error = (
            refused.record,
            {
                "ErrorMessage": refused.message,
                "ItemS3Pointer": {"bucket": self.bucket, "key": refused.key, "itemIndex": refused.index},
            },
        )
        line: dict[str, Any] = {"Error": error}
        if isinstance(record, bytes):
            try:
                record = orjson.loads(record)
            except orjson.JSONDecodeError:
                line["Record"] = str(record[:_RECORD_SHOWN], "utf-8", "replace")
        if isinstance(record, dict) and "Item" in record:
            line["Item"] = record["Item"]
        elif not isinstance(record, (bytes, Malformed)):
            line["Record"] = orjson.dumps(record).decode()[:_RECORD_SHOWN]
        return orjson.dumps(line) + b"\n"

    def finish(self) -> Iterator[None]:
        yield from self._write_outputs()
        if self.is_cancelled():
            # assumed code and text
            self._end(CANCELLED, "Cancelled", "The bulk operation was cancelled by CancelBulkOperation")
        else:
            self._end(COMPLETED_WITH_ERRORS if self.transfer.error_items else COMPLETED)

    def _end(self, status: str, code: str | None = None, message: str | None = None) -> None:
        end(self.engine, self.transfer, status, code, message)
        self.clear_spool()

    def fail(self, code: str, message: str) -> None:
        super().fail(code, message)
        self.clear_spool()

    def _write_outputs(self) -> Iterator[None]:
        """One object for each kind of output that there is."""
        output = self.transfer.request["OutputS3Configuration"]
        bucket = output.get("S3Bucket", self.bucket)
        prefix = (output.get("S3KeyPrefix") or "").rstrip("/")
        encryption = Encryption(output.get("S3SseAlgorithm"), output.get("S3SseKmsKeyId"))
        for folder in FOLDERS.values():
            start = self.transfer.spool_key(folder)
            pieces = self.engine.store.range(start, keyspace.successor(start[:-8]))
            piece = next(pieces, None)
            if piece is None:
                continue
            key = f"{prefix + '/' if prefix else ''}AWSDynamoDB/{self.transfer.label}/{folder}/data.jsonl"
            sink = self.objects.create(bucket, key, encryption)
            try:
                number = 0
                while piece is not None:
                    sink.write(piece[1])
                    number += 1
                    if number % OUTPUT_STEP == 0:
                        yield
                    while sink.is_busy:
                        yield
                    piece = next(pieces, None)
                sink.finish()
            except BaseException:
                sink.abort()
                raise
            yield


def _failure_line(put: Put, before: Image | None) -> bytes:
    line: dict[str, Any] = {"Item": put.key_item}
    if before is not None:
        line["ExistingItem"] = before.item
    return orjson.dumps(line) + b"\n"
