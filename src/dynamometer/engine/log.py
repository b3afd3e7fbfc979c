"""The change log: what happened to the items of a table, in order. Streams, recovery, export and replicas read it.

A table whose record says `is_logged` gets one entry for each change of an item, written in the change's own commit:
the item before and after as they are at rest. Whoever reads makes of it what it needs:

    streams          the record's images, by view type
    recovery         the item before: undone backwards, the log takes a table to any second of the window
    increments       the first item before and the last item after in a window
    replicas         the item after

Entries are found by sequence number: nanoseconds since the epoch, made strictly increasing, so that a moment is a
place in the log. An entry stays until no holder asks for it any more (`trim`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from struct import Struct

from dynamometer.base.clock import Clock
from dynamometer.base.errors import StoreCorrupt
from dynamometer.engine import keyspace
from dynamometer.storage.interface import Store, View

SERVICE = 1
"""Flag: the change was the service's own, a deletion by time to live."""
REPLICATED = 2
"""Flag: the change was made in another region first."""
SEEN = 4
"""Flag: the entry ends with the change's version, see `versions`, and its length."""

_HEAD = Struct(">BII")
"""Flags, and the lengths of place and before."""
_PLACE = _HEAD.size
"""Where the place begins in an entry's value."""

Holder = Callable[[int], int | None]
"""From a table's number to the oldest sequence number that is still needed; None when nothing is."""


@dataclass(frozen=True, slots=True)
class Change:
    """One change. `place`: the item's storage key without family, table and index; before and after as at rest."""

    sequence: int
    flags: int
    place: bytes
    before: bytes | None
    after: bytes | None
    version: bytes = b""
    """Of a replica's item, as at rest."""

    @property
    def event_name(self) -> str:
        """What a stream calls it: INSERT, MODIFY or REMOVE."""
        if self.before is None:
            return "INSERT"
        return "REMOVE" if self.after is None else "MODIFY"

    @property
    def seconds(self) -> float:
        """When it happened, in seconds since the epoch."""
        return self.sequence / 1e9


def sequence_at(seconds: float) -> int:
    """The sequence number that begins a moment."""
    return int(seconds * 1_000_000) * 1000


def encode(flags: int, place: bytes, before: bytes | None, after: bytes | None, version: bytes = b"") -> bytes:
    """An entry's value: flags, then three parts with their lengths; a missing image has none."""
    before, after = before or b"", after or b""
    if version:
        flags |= SEEN
        after += version + len(version).to_bytes(2, "big")
    return _HEAD.pack(flags, len(place), len(before)) + place + before + after


def decode(sequence: int, value: bytes) -> Change:
    """An entry from its value. Raises StoreCorrupt."""
    if len(value) < _PLACE:
        raise StoreCorrupt("a change in the store is damaged; run `dyno check` on the data folder")
    flags, place_length, before_length = _HEAD.unpack_from(value)
    place_end = _PLACE + place_length
    before_end = place_end + before_length
    end, version = len(value), b""
    if flags & SEEN:
        end -= 2 + int.from_bytes(value[-2:], "big")
        version = value[end:-2]
    before, after = value[place_end:before_end] or None, value[before_end:end] or None
    return Change(sequence, flags & ~SEEN, value[_PLACE:place_end], before, after, version)


def partition_hash(value: bytes) -> int:
    """Where in the hash space the item of an entry is, from the entry's value."""
    return int.from_bytes(value[_PLACE : _PLACE + 8], "big")


def entries(
    view: View, table: int, start: int, end: int | None = None, reverse: bool = False, limit: int = 0
) -> Iterator[tuple[int, bytes]]:
    """Entries of a table with start <= sequence < end, not decoded."""
    low = keyspace.log_key(table, start)
    high = keyspace.successor(keyspace.log_prefix(table)) if end is None else keyspace.log_key(table, end)
    for key, value in view.range(low, high, reverse, limit):
        yield keyspace.log_sequence(key), value


def tables_of(view: View) -> list[int]:
    """The numbers of all tables that have entries: a jump from one to the next."""
    tables = []
    position, end = keyspace.log_range()
    while (pair := next(iter(view.range(position, end, limit=1)), None)) is not None:
        table = keyspace.log_table(pair[0])
        tables.append(table)
        position = keyspace.successor(keyspace.log_prefix(table))
    return tables


class ChangeLog:
    """Sequence numbers and entries of all tables of one store."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self.holders: list[Holder] = []
        self.last_sequence = self._newest()

    def next_sequence(self) -> int:
        """The number of the next change: now, or just after the last one."""
        sequence = int(self._clock.now() * 1_000_000) * 1000
        if sequence <= self.last_sequence:
            sequence = self.last_sequence + 1
        self.last_sequence = sequence
        return sequence

    def following(self) -> int:
        """The number that the next change has at the least. From now on that holds even if the clock is set back."""
        self.pass_by(sequence_at(self._clock.now()) - 1)
        return self.last_sequence + 1

    def pass_by(self, sequence: int) -> None:
        """Let every further change have a higher number than this one."""
        self.last_sequence = max(self.last_sequence, sequence)

    def read(
        self, view: View, table: int, start: int, end: int | None = None, reverse: bool = False, limit: int = 0
    ) -> Iterator[Change]:
        """Changes of a table with start <= sequence < end, in order or backwards."""
        for sequence, value in entries(view, table, start, end, reverse, limit):
            yield decode(sequence, value)

    def entries(
        self, view: View, table: int, start: int, end: int | None = None, reverse: bool = False, limit: int = 0
    ) -> Iterator[tuple[int, bytes]]:
        """The same, not decoded: for readers that pass many by."""
        return entries(view, table, start, end, reverse, limit)

    def trim(self) -> None:
        """Remove what no holder needs."""
        for table in tables_of(self._store):
            needed = [oldest for holder in self.holders if (oldest := holder(table)) is not None]
            prefix = keyspace.log_prefix(table)
            end = keyspace.log_key(table, min(needed)) if needed else keyspace.successor(prefix)
            if next(iter(self._store.range(prefix, end, limit=1)), None) is not None:
                self._store.delete_range(prefix, end)

    def _newest(self) -> int:
        newest = 0
        for table in tables_of(self._store):
            prefix = keyspace.log_prefix(table)
            pair = next(iter(self._store.range(prefix, keyspace.successor(prefix), reverse=True, limit=1)))
            newest = max(newest, keyspace.log_sequence(pair[0]))
        return newest
