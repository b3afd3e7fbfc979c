"""DynamoDB Streams: a table's change log, cut into shards, for 24 hours.

A stream has a record of its own, which outlives its being disabled and its table. It holds no items: those are in the
change log (`log`), and its shards are computed from when it was enabled and how many partitions the table had since
(`shards`). There is one open shard for each partition of the table, as on the service. A shard is listed until its
last record is 24 hours old.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import orjson

from dynamometer.base.clock import Clock
from dynamometer.base.errors import ResourceNotFoundException, ValidationException
from dynamometer.engine import keyspace
from dynamometer.engine.catalog import Catalog, Table, World
from dynamometer.engine.log import ChangeLog, sequence_at
from dynamometer.engine.partitions import partitions_of
from dynamometer.engine.shards import Epoch, Shard, shards_of, split
from dynamometer.storage.interface import Store

RETENTION_SECONDS = 24 * 3600
_STREAM_ARN = re.compile(r"arn:[a-z-]+:dynamodb:[a-z0-9-]*:\d*:table/[a-zA-Z0-9_.-]+/stream/.+").fullmatch


@dataclass(slots=True)
class Stream:
    """One stream's record. `epochs`: from which sequence number on the table had how many partitions."""

    account: str
    region: str
    table_name: str
    table_number: int
    label: str
    view_type: str
    partition: str
    sort: str | None
    created_at: float
    start: int
    epochs: list[Epoch]
    end: int | None = None
    """The sequence number at which it was disabled."""

    @property
    def arn(self) -> str:
        return f"arn:aws:dynamodb:{self.region}:{self.account}:table/{self.table_name}/stream/{self.label}"

    @property
    def key_names(self) -> list[str]:
        return [self.partition] if self.sort is None else [self.partition, self.sort]


class Streams:
    """All streams of a store."""

    def __init__(self, store: Store, clock: Clock, log: ChangeLog, catalog: Catalog, settings: Any) -> None:
        self._store = store
        self._clock = clock
        self._log = log
        self._catalog = catalog
        self._settings = settings
        self._streams: dict[str, Stream] = {}
        self._open_by_table: dict[int, Stream] = {}
        self._load()
        log.holders.append(self._needed)
        catalog.tell(self.follow)

    def _load(self) -> None:
        tables = {table.number for table in self._catalog.tables()}
        for _, raw in list(self._store.range(*keyspace.stream_range())):
            stream = Stream(**orjson.loads(raw))
            self._streams[stream.arn] = stream
            # no change may come before a boundary that shards already have, even if the clock was set back
            self._log.pass_by(max(stream.epochs[-1][0], stream.end or 0))
            if stream.end is not None:
                continue
            if stream.table_number in tables:
                self._open_by_table[stream.table_number] = stream
            else:
                # the process ended after the table had gone and before this was noted
                self._close(stream)

    # What happens to tables.

    def follow(self, world: World, table: Table) -> None:
        """Open, split or close a table's stream as its record says."""
        record = table.record
        wanted = record.stream if record.stream is not None and record.stream.enabled else None
        if record.status == "DELETING":
            wanted = None
        stream = self._open_by_table.get(table.number)
        if stream is not None:
            if wanted is not None and wanted.label == stream.label:
                self._resize(stream, partitions_of(record))
                return
            self._close(stream)
        if wanted is not None:
            self._open(world, table, wanted.label, wanted.view_type)

    def _open(self, world: World, table: Table, label: str, view_type: str) -> None:
        start = self._log.next_sequence()
        stream = Stream(
            account=world.account,
            region=world.region,
            table_name=table.name,
            table_number=table.number,
            label=label,
            view_type=view_type,
            partition=table.key.partition[0].name,
            sort=table.key.sort[0].name if table.key.sort else None,
            created_at=self._clock.now(),
            start=start,
            epochs=[[start, partitions_of(table.record)]],
        )
        self._streams[stream.arn] = stream
        self._open_by_table[table.number] = stream
        self._save(stream)

    def _resize(self, stream: Stream, needed: int) -> None:
        partitions = split(stream.epochs[-1][1], needed)
        if partitions != stream.epochs[-1][1]:
            stream.epochs.append([self._log.next_sequence(), partitions])
            self._save(stream)

    def _close(self, stream: Stream) -> None:
        self._open_by_table.pop(stream.table_number, None)
        stream.end = self._log.next_sequence()
        self._save(stream)

    def _save(self, stream: Stream) -> None:
        transaction = self._store.begin()
        transaction.put(self._key(stream), orjson.dumps(stream))
        transaction.commit()

    def _key(self, stream: Stream) -> bytes:
        return keyspace.stream_key(stream.account, stream.region, stream.table_name, stream.label)

    def _needed(self, table: int) -> int | None:
        """What of a table's log is not yet 24 hours old and may still be read through a stream."""
        horizon = self.horizon()
        if table in self._open_by_table:
            return horizon
        for stream in self._streams.values():
            if stream.table_number == table and not _is_over(stream, horizon):
                return horizon
        return None

    # What readers ask.

    def horizon(self) -> int:
        """The oldest sequence number that is not trimmed."""
        return sequence_at(self._clock.now() - RETENTION_SECONDS)

    def of_world(self, world: World) -> list[Stream]:
        """The streams of an account and region that are listed, by ARN; those that are over are forgotten."""
        horizon = self.horizon()
        for stream in [stream for stream in self._streams.values() if _is_over(stream, horizon)]:
            del self._streams[stream.arn]
            transaction = self._store.begin()
            transaction.delete(self._key(stream))
            transaction.commit()
        return sorted((s for s in self._streams.values() if self._is_in(s, world)), key=lambda stream: stream.arn)

    def labels(self, world: World, table_name: str) -> set[str]:
        """The labels that a table of this name has used for its streams."""
        streams = [stream for stream in self._streams.values() if stream.table_name == table_name]
        return {stream.label for stream in streams if self._is_in(stream, world)}

    def find(self, world: World, arn: str) -> Stream:
        """The stream with this ARN. Raises ValidationException for what is none, ResourceNotFoundException."""
        if not _STREAM_ARN(arn):
            raise ValidationException(f"Invalid StreamArn: {arn}")
        stream = self._streams.get(arn)
        if stream is None or _is_over(stream, self.horizon()) or not self._is_in(stream, world):
            raise ResourceNotFoundException(f"Requested resource not found: Stream: {arn} not found")
        return stream

    def _is_in(self, stream: Stream, world: World) -> bool:
        return self._catalog.world(stream.account, stream.region) is world

    def status(self, stream: Stream) -> str:
        """ENABLING, ENABLED, DISABLING or DISABLED."""
        now, delay = self._clock.now(), self._settings.table_transition_seconds
        if stream.end is not None:
            return "DISABLING" if now < stream.end / 1e9 + delay else "DISABLED"
        return "ENABLING" if now < stream.created_at + delay else "ENABLED"

    def shards(self, stream: Stream) -> list[Shard]:
        """The shards that are listed, oldest first, parents before children."""
        return shards_of(stream.arn, stream.epochs, stream.end, self._log.following(), self.horizon())


def _is_over(stream: Stream, horizon: int) -> bool:
    """Disabled, and nothing of it can be read any more."""
    return stream.end is not None and stream.end <= horizon


def sequence_text(sequence: int) -> str:
    """A sequence number as readers see it: 21 digits, so that texts of equal length compare as numbers do."""
    return f"1{sequence:020d}"
