"""DynamoDB Streams: a table's change log, cut into shards, for 24 hours.

A stream has a record of its own, which outlives its being disabled and its table. It holds no items: those are in the
change log (`log`), and a shard is a rectangle in it, a range of the hash space during a range of sequence numbers:

    hashes   +---------+------+-------+     epoch 1: one partition; its shard rolls over after four hours
             |         |      |   d   |     epoch 2: the table has two partitions: a split
             |    a    |  b   +-------+
             |         |      |   e   |     parents: b of a, d and e of b
             +---------+------+-------+
             start     4 h    split          sequence numbers

So shards are computed, never stored; only the beginning of each epoch is. There is one open shard for each partition
of the table, as on the service. A shard is listed until its last record is 24 hours old.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from zlib import crc32

import orjson

from dynamometer.base.clock import Clock
from dynamometer.base.errors import ResourceNotFoundException, ValidationException
from dynamometer.engine import keyspace
from dynamometer.engine.catalog import Catalog, Table, World
from dynamometer.engine.log import ChangeLog, sequence_at
from dynamometer.engine.partitions import partitions_of
from dynamometer.storage.interface import Store

RETENTION_SECONDS = 24 * 3600
SHARD_SECONDS = 4 * 3600
"""A shard is replaced by a child after about four hours (widely reported, not documented)."""
_STREAM_ARN = re.compile(r"arn:[a-z-]+:dynamodb:[a-z0-9-]*:\d*:table/[a-zA-Z0-9_.-]+/stream/.+").fullmatch
_SHARD_SEQUENCES = SHARD_SECONDS * 1_000_000_000


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
    epochs: list[list[int]]
    end: int | None = None
    """The sequence number at which it was disabled."""

    @property
    def arn(self) -> str:
        return f"arn:aws:dynamodb:{self.region}:{self.account}:table/{self.table_name}/stream/{self.label}"

    @property
    def key_names(self) -> list[str]:
        return [self.partition] if self.sort is None else [self.partition, self.sort]


@dataclass(frozen=True, slots=True)
class Shard:
    """Records with start <= sequence < end of items with low <= hash < high; `end` is None while it is open."""

    shard_id: str
    parent: str | None
    start: int
    end: int | None
    low: int
    high: int


class Streams:
    """All streams of a store."""

    def __init__(self, store: Store, clock: Clock, log: ChangeLog, catalog: Catalog, settings: Any) -> None:
        self._store = store
        self._clock = clock
        self._log = log
        self._settings = settings
        self._streams: dict[str, Stream] = {}
        for _, raw in store.range(*keyspace.stream_range()):
            stream = Stream(**orjson.loads(raw))
            self._streams[stream.arn] = stream
        log.holders.append(self._needed)
        catalog.on_change.append(self.follow)
        for world in catalog.worlds():
            for table in world.tables.values():
                self.follow(world, table)

    # What happens to tables.

    def follow(self, world: World, table: Table) -> None:
        """Open, split or close a table's stream as its record says."""
        record = table.record
        wanted = record.stream if record.stream is not None and record.stream.enabled else None
        if record.status == "DELETING":
            wanted = None
        for stream in list(self._streams.values()):
            if stream.table_number == table.number and stream.end is None:
                if wanted is None or wanted.label != stream.label:
                    self._close(stream)
                else:
                    self._resize(stream, partitions_of(record))
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
        if stream.arn not in self._streams:
            self._streams[stream.arn] = stream
            self._save(stream)

    def _resize(self, stream: Stream, partitions: int) -> None:
        if stream.epochs[-1][1] != partitions:
            stream.epochs.append([self._log.next_sequence(), partitions])
            self._save(stream)

    def _close(self, stream: Stream) -> None:
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
        for stream in self._streams.values():
            if stream.table_number == table and (stream.end is None or stream.end > horizon):
                return horizon
        return None

    # What readers ask.

    def horizon(self) -> int:
        """The oldest sequence number that is not trimmed."""
        return sequence_at(self._clock.now() - RETENTION_SECONDS)

    def of_world(self, world: World) -> list[Stream]:
        """The streams of an account and region that are listed, by ARN; those that are over are forgotten."""
        horizon = self.horizon()
        listed = []
        for stream in list(self._streams.values()):
            if stream.end is not None and stream.end <= horizon:
                del self._streams[stream.arn]
                transaction = self._store.begin()
                transaction.delete(self._key(stream))
                transaction.commit()
            elif stream.account == world.account and stream.region == world.region:
                listed.append(stream)
        return sorted(listed, key=lambda stream: stream.arn)

    def find(self, world: World, arn: str) -> Stream:
        """The stream with this ARN. Raises ValidationException for what is none, ResourceNotFoundException."""
        if not _STREAM_ARN(arn):
            raise ValidationException(f"Invalid StreamArn: {arn}")
        for stream in self.of_world(world):
            if stream.arn == arn:
                return stream
        raise ResourceNotFoundException(f"Requested resource not found: Stream: {arn} not found")

    def status(self, stream: Stream) -> str:
        """ENABLING, ENABLED, DISABLING or DISABLED."""
        now, delay = self._clock.now(), self._settings.table_transition_seconds
        if stream.end is not None:
            return "DISABLING" if now < stream.end / 1e9 + delay else "DISABLED"
        return "ENABLING" if now < stream.created_at + delay else "ENABLED"

    def shards(self, stream: Stream) -> list[Shard]:
        """The shards that are listed, oldest first, parents before children."""
        horizon = self.horizon()
        return [shard for shard in self._all_shards(stream) if shard.end is None or shard.end > horizon]

    def _all_shards(self, stream: Stream) -> Iterator[Shard]:
        now = max(self._log.last_sequence + 1, sequence_at(self._clock.now()))
        above: list[Shard] = []
        for number, (start, partitions) in enumerate(stream.epochs):
            last = stream.epochs[number + 1][0] if number + 1 < len(stream.epochs) else stream.end
            while True:
                end: int | None = start + _SHARD_SEQUENCES
                if last is not None and last <= start + _SHARD_SEQUENCES:
                    end = last
                elif now <= start + _SHARD_SEQUENCES:
                    end = None
                above = [_shard(stream, start, end, part, partitions, above) for part in range(partitions)]
                yield from above
                if end is None or end == last:
                    break
                start = end


def _shard(stream: Stream, start: int, end: int | None, part: int, partitions: int, above: list[Shard]) -> Shard:
    low, high = (part << 64) // partitions, ((part + 1) << 64) // partitions
    parent = next((shard.shard_id for shard in above if shard.low <= low < shard.high), None)
    digest = crc32(f"{stream.arn}/{start}/{part}/{partitions}".encode())
    return Shard(f"shardId-{start // 1_000_000:020d}-{digest:08x}", parent, start, end, low, high)


def sequence_text(sequence: int) -> str:
    """A sequence number as readers see it: 21 digits, so that texts of equal length compare as numbers do."""
    return f"1{sequence:020d}"
