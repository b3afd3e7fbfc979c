"""The job of an import: a new table, filled from objects.

The table is made once the objects are known to be there, and stays CREATING until all of them are through. Records that
are no items are skipped and counted, however many they are; the import then ends as FAILED, and the table has all the
others. The service writes why to a log group; here the program's own log has it, up to 10,000 records of an import,
without any value of an item.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import TYPE_CHECKING

import orjson

from dynamometer.engine import records
from dynamometer.engine.actions import Put
from dynamometer.engine.catalog import Table
from dynamometer.engine.commit import Commit, Image
from dynamometer.engine.transfers.input import Csv
from dynamometer.engine.transfers.job import Stopped
from dynamometer.engine.transfers.loading import LoadJob, Refused
from dynamometer.engine.transfers.transfer import COMPLETED, FAILED, Transfer, dumps, end, ended, take_over

if TYPE_CHECKING:
    from dynamometer.engine.engine import Engine

log = logging.getLogger(__name__)

LOGGED_MAX = 10_000
INVALID_ITEMS = (
    "ItemValidationError",
    "Some of the items failed validation checks and were not imported. Please check CloudWatch error logs for more "
    "details.",
)


class ImportJob(LoadJob):
    """Fills one new table."""

    def __init__(self, engine: Engine, transfer: Transfer) -> None:
        super().__init__(engine, transfer)
        request = transfer.request
        source = request["S3BucketSource"]
        self.bucket = source["S3Bucket"]
        self.prefix = source.get("S3KeyPrefix") or ""
        self.form = request["InputFormat"]
        self.compression = request.get("InputCompressionType", "NONE")
        options = (request.get("InputFormatOptions") or {}).get("Csv") or {}
        definitions = request["TableCreationParameters"]["AttributeDefinitions"]
        types = {each["AttributeName"]: each["AttributeType"] for each in definitions}
        self.csv = Csv(options.get("Delimiter", ","), options.get("HeaderList"), types)

    def begin(self) -> None:
        """Make the table, unless that was done before a restart."""
        transfer, world = self.transfer, self.world
        table = world.tables.get(transfer.table_name)
        if table is None or table.record.import_label != transfer.label:
            if table is not None and self.engine.catalog.settle(world, table) is not None:
                raise Stopped("ResourceInUseException", f"Table already exists: {table.name}")  # assumed code
            record = records.loads(orjson.dumps(transfer.progress["table"]))
            table, _ = self.engine.catalog.create(world, record)
        transfer.table_number, transfer.table_id = table.number, table.record.table_id

    def target(self) -> Table:
        table = self.table()
        if table is None:
            raise Stopped("TableNotFound", f"Table not found: {self.transfer.table_arn}")
        return table

    def stage(
        self, commit: Commit, draft: Transfer, refused: list[Refused], failed: list[tuple[Put, Image | None]]
    ) -> None:
        first = draft.error_items - len(refused)
        for each in refused[: max(0, LOGGED_MAX - first)]:
            pointer = {"bucket": self.bucket, "key": each.key, "itemIndex": each.index}
            entry = {"itemS3Pointer": pointer, "importArn": draft.arn, "errorMessages": [without_values(each.message)]}
            log.warning("%s", orjson.dumps(entry).decode())

    def finish(self) -> Iterator[None]:
        if self.transfer.error_items:
            self._end(FAILED, *INVALID_ITEMS)
        else:
            self._end(COMPLETED)
        yield from ()

    def fail(self, code: str, message: str) -> None:
        self._end(FAILED, code, message)

    def _end(self, status: str, code: str | None = None, message: str | None = None) -> None:
        """Keep how it ended; with the table ACTIVE, if there is one, once the time that a new table takes is over."""
        engine, transfer = self.engine, self.transfer
        table = self.table()
        if table is None or table.record.import_label != transfer.label:
            end(engine, transfer, status, code, message)
        else:
            kept = ended(engine, transfer, status, code, message)
            record = records.copy(table.record)
            record.import_label = None
            until = max(engine.clock.now(), record.created_at + engine.settings.table_transition_seconds)
            record.until = until
            for index in record.indexes:
                index.until = until
            engine.catalog.save(self.world, table, record, lambda change: change.put(kept.key, dumps(kept)))
            take_over(transfer, kept)
            engine.catalog.settle(self.world, table)
        self.clear_spool()


def without_values(message: str) -> str:
    """A message without what it quotes of an item."""
    for mark in ("Input collection [", "cannot be converted to a numeric value: "):
        head, found, _ = message.partition(mark)
        if found:
            return f"{head}{found}\u2026"
    return message
