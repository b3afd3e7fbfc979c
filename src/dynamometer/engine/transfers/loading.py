"""The job that imports and bulk puts share: objects become records, records items, and items a batch a commit.

How far the job is stands in its record, which every batch writes in its own commit: which object, how many of its
records. So each record is counted once and put once, whenever the process is killed. The list of objects is kept too:
what comes into the bucket later is not part of the transfer, and what is overwritten meanwhile is noticed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, Any

import orjson

from dynamometer.base import limits
from dynamometer.base.errors import (
    ConditionalCheckFailedException,
    ItemCollectionSizeLimitExceededException,
    ServiceError,
    TransactionConflictException,
    ValidationException,
)
from dynamometer.engine.actions import ITEM_TOO_LARGE, Put
from dynamometer.engine.catalog import Table
from dynamometer.engine.codec import UNUSUAL
from dynamometer.engine.commit import Charge, Commit, Image
from dynamometer.engine.objects import NO_SUCH_KEY, Listed
from dynamometer.engine.requests import item_key
from dynamometer.engine.transfers.input import Csv, Malformed, ObjectReader, Record
from dynamometer.engine.transfers.job import Stopped, TransferJob
from dynamometer.engine.transfers.transfer import Transfer, dumps, save, take_over
from dynamometer.expressions import Bound
from dynamometer.model import values

if TYPE_CHECKING:
    from dynamometer.engine.engine import Engine

BATCH_ITEMS = 400
BATCH_BYTES = 2 << 20
SKIPPED_ITEMS = 5000
OBJECTS_MAX = 50_000
"""Of one job (developer guide: quotas)."""
INPUTS = "inputs"
NOT_AN_ITEM = "The record is not an item in the given format"  # assumed text


@dataclass(frozen=True, slots=True)
class Refused:
    """A record that is not put, where it stands, and why."""

    key: str
    index: int
    message: str
    record: Record


Entry = Put | Refused


class LoadJob(TransferJob):
    """Puts the items of objects."""

    bucket: str
    prefix: str
    form: str
    compression: str
    csv = Csv(",", None, {})

    def __init__(self, engine: Engine, transfer: Transfer) -> None:
        super().__init__(engine, transfer)
        self._inputs: list[Listed] = []
        self._key = ""

    # What a subclass adds.

    def begin(self) -> None:
        """The objects are known: everything that comes before the first item."""

    def target(self) -> Table:
        """The table. Raises Stopped when it can't be written any more."""
        raise NotImplementedError

    def conditions(self, record: dict[str, Any]) -> Bound | None:
        """What a record asks for beside its item."""
        return None

    def may_go_on(self) -> bool:
        """Whether a batch may be written now."""
        return True

    def is_cancelled(self) -> bool:
        """Whether somebody asked to stop."""
        return False

    def stage(
        self, commit: Commit, draft: Transfer, refused: list[Refused], failed: list[tuple[Put, Image | None]]
    ) -> None:
        """Stage what a batch leaves beside the items, in its commit."""

    def charged(self, draft: Transfer, put: Put, charge: Charge) -> None:
        """Count what a put used."""

    def finish(self) -> Iterator[None]:
        """All records are through, or the transfer was cancelled."""
        raise NotImplementedError

    # The work.

    def work(self) -> Iterator[None]:
        progress = self.transfer.progress
        if "object" not in progress:
            self._list()
            yield
        else:
            raw = self.engine.store.get(self.transfer.spool_key(INPUTS))
            self._inputs = [Listed(*each) for each in orjson.loads(raw or b"[]")]
        for number in range(self.transfer.progress["object"], len(self._inputs)):
            if self.is_cancelled():
                break
            yield from self._load_object(number)
        yield from self.finish()

    def _list(self) -> None:
        """Find the objects, begin, and keep what was found."""
        listed = self.objects.list(self.bucket, self.prefix)
        inputs = list(islice((each for each in listed if not each.key.endswith("/")), OBJECTS_MAX + 1))
        if not inputs:
            raise Stopped(NO_SUCH_KEY, "There are no objects whose keys begin with the given prefix")  # assumed
        if len(inputs) > OBJECTS_MAX:
            raise Stopped("TooManyObjects", f"There are more than {OBJECTS_MAX} objects to read")  # assumed
        self._inputs = inputs
        self.begin()
        kept = replace(
            self.transfer,
            progress=self.transfer.progress | {"object": 0, "records": 0, "bytes": 0},
            total_bytes=sum(each.size_bytes for each in inputs),
        )
        transaction = self.engine.store.begin()
        rows = [(each.key, each.size_bytes, each.etag) for each in inputs]
        transaction.put(kept.spool_key(INPUTS), orjson.dumps(rows))
        transaction.put(kept.key, dumps(kept))
        transaction.commit()
        take_over(self.transfer, kept)

    def _load_object(self, number: int) -> Iterator[None]:
        listed = self._inputs[number]
        self._key = listed.key
        reader = ObjectReader(self.objects.open(self.bucket, listed), self.form, self.compression, self.csv)
        records = reader.records()
        try:
            yield from self._skip(reader, records, self.transfer.progress["records"])
            before = self.transfer.progress["bytes"]
            while not self.is_cancelled():
                if not (reader.is_ready and self.may_go_on()):
                    yield
                    continue
                batch = _batch(records, reader)
                if not batch:
                    break
                entries = self._entries(batch)
                self.transfer.processed_bytes = before + self.read_bytes(reader)
                yield from self._commit_all(entries)
        finally:
            records.close()  # type: ignore[attr-defined]
        if not self.is_cancelled():
            done = before + self.read_bytes(reader)
            self.transfer.progress |= {"object": number + 1, "records": 0, "bytes": done}
            self.transfer.processed_bytes = done
            save(self.engine, self.transfer)

    def read_bytes(self, reader: ObjectReader) -> int:
        """What counts as read."""
        return reader.data_bytes

    @staticmethod
    def _skip(reader: ObjectReader, records: Iterator[Record], count: int) -> Iterator[None]:
        """Pass the records that are through already."""
        while count > 0:
            while not reader.is_ready:
                yield
            passed = sum(1 for _ in islice(records, min(count, SKIPPED_ITEMS)))
            if not passed:
                return
            count -= passed
            yield

    def _entries(self, batch: list[Record]) -> list[Entry]:
        table = self.target()
        entries: list[Entry] = []
        first = self.transfer.progress["records"]
        for number, record in enumerate(batch, first):
            try:
                entries.append(self._put(table, record))
            except ServiceError as error:
                entries.append(Refused(self._key, number, error.message or "", record))
            except UNUSUAL:
                entries.append(Refused(self._key, number, NOT_AN_ITEM, record))
        return entries

    def _put(self, table: Table, raw: Record) -> Put:
        """The put that a record asks for. Raises ValidationException or what UNUSUAL names."""
        record: Any = raw
        if type(raw) is bytes:
            record = orjson.loads(raw)
        elif type(raw) is Malformed:
            raise ValidationException(raw.reason)
        item = record["Item"]
        size = values.normalize_item(item)
        if size > limits.ITEM_BYTES_MAX:
            raise ValidationException(ITEM_TOO_LARGE)
        bound = self.conditions(record) if len(record) > 1 else None
        return Put(table, item_key(table, item), item, size, bound, True)

    def _commit_all(self, entries: list[Entry]) -> Iterator[None]:
        """Commit entries: together up to the next put of a key that is among them already."""
        start = 0
        keys: set[bytes] = set()
        for number, entry in enumerate(entries):
            if type(entry) is Put:
                if entry.key in keys:
                    yield from self._commit_some(entries[start:number])
                    start = number
                    keys.clear()
                keys.add(entry.key)
        yield from self._commit_some(entries[start:])

    def _commit_some(self, entries: list[Entry]) -> Iterator[None]:
        try:
            self._commit(entries)
            yield
        except TransactionConflictException:
            # another writer of a networked store was in the way, again and again: let it go first
            yield
            yield from self._commit_some(entries)
        except ItemCollectionSizeLimitExceededException as error:
            if len(entries) == 1:
                self._commit([self._too_large(entries[0], error)])
                yield
                return
            for entry in entries:
                yield from self._commit_some([entry])

    def _too_large(self, entry: Entry, error: ServiceError) -> Refused:
        assert isinstance(entry, Put), "only a put can fill a collection"
        record = {"Item": entry.key_item}
        return Refused(self._key, self.transfer.progress["records"], error.message or "", record)

    def _commit(self, entries: list[Entry]) -> None:
        """One commit: the items of entries with different keys, and how far that takes the transfer."""
        puts = [entry for entry in entries if type(entry) is Put]
        refused = [entry for entry in entries if type(entry) is Refused]
        table = self.target()

        def decide(commit: Commit) -> Transfer:
            transfer = self.transfer
            draft = replace(
                transfer,
                processed_items=transfer.processed_items + len(entries),
                error_items=transfer.error_items + len(refused),
                usage={name: dict(used) for name, used in transfer.usage.items()},
                progress=transfer.progress | {"records": transfer.progress["records"] + len(entries)},
            )
            failed: list[tuple[Put, Image | None]] = []
            for put, before in zip(puts, commit.read_all([put.key for put in puts]), strict=True):
                try:
                    after = put.decide(before)
                except ConditionalCheckFailedException:
                    failed.append((put, before))
                    continue
                self.charged(draft, put, commit.change(table, put.key, before, after, put.entries))
            draft.done_items += len(puts) - len(failed)
            self.stage(commit, draft, refused, failed)
            commit.transaction.put(draft.key, dumps(draft))
            return draft

        draft, _ = self.engine.transact(decide)
        take_over(self.transfer, draft)

    def clear_spool(self) -> None:
        """Remove what was kept beside the record."""
        self.engine.store.delete_range(*self.transfer.spool_range())


def _batch(records: Iterator[Record], reader: ObjectReader) -> list[Record]:
    """The records of the next commit."""
    batch: list[Record] = []
    size, before = 0, reader.data_bytes
    for record in islice(records, BATCH_ITEMS):
        batch.append(record)
        size += len(record) if type(record) is bytes else 0
        if size >= BATCH_BYTES or reader.data_bytes - before >= BATCH_BYTES:
            break
    return batch
