"""A change from another region, applied to the replica here: the last writer wins, item by item.

The whole item counts, not its attributes (developer guide: how global tables work). A write that is older than what
the replica has changes nothing; so does one that it has already, and a batch may be sent again.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from dynamometer.base.errors import StoreConflict
from dynamometer.engine import keyspace, versions
from dynamometer.engine.catalog import Index, Table
from dynamometer.engine.codec import Entry, IndexKeyError
from dynamometer.engine.commit import Commit, Image
from dynamometer.engine.log import REPLICATED
from dynamometer.engine.replication import conflicts
from dynamometer.engine.replication.conflicts import Conflict
from dynamometer.engine.versions import ORIGINAL, Version

if TYPE_CHECKING:
    from dynamometer.engine.engine import Engine

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Arrival:
    """One item as a region left it: its place, the write that it is, and its value at rest, None if it was deleted."""

    place: bytes
    version: Version
    value: bytes | None


def transact(engine: Engine, decide: Callable[[Commit], T]) -> tuple[T, int] | None:
    """Run a decision and commit it; None when the store says that it has to be done again.

    No collection is too large here: the region that made the write has let it happen.
    """
    commit = Commit(engine.store, engine.log, sys.maxsize)
    try:
        outcome = decide(commit)
        return outcome, commit.finish()
    except StoreConflict:
        commit.transaction.rollback()
        return None
    except BaseException:
        commit.transaction.rollback()
        raise


def apply(engine: Engine, commit: Commit, table: Table, arrivals: Sequence[Arrival]) -> list[Conflict]:
    """Stage what the arrivals change; the updates that are lost by that."""
    return _Applying(engine, commit, table, arrivals).run(arrivals)


class _Applying:
    """One batch. A transaction does not see its own writes: what the batch has made of an item is kept here."""

    def __init__(self, engine: Engine, commit: Commit, table: Table, arrivals: Sequence[Arrival]) -> None:
        self._log = engine.log
        self._commit = commit
        self._table = table
        places = list(dict.fromkeys(arrival.place for arrival in arrivals))
        prefix = keyspace.version_prefix(table.number)
        kept = commit.transaction.multi_get([prefix + place for place in places])
        self._versions = {
            place: ORIGINAL if value is None else versions.decode(value)
            for place, value in zip(places, kept, strict=True)
        }
        self._images = dict(zip(places, commit.read_all([table.prefix + place for place in places]), strict=True))
        self._conflicts: dict[bytes, Conflict] = {}
        record = table.record
        parents = [
            keyspace.conflict_key(record.account, record.name, *arrival.version.parent, arrival.place)
            for arrival in arrivals
        ]
        self._noted = {
            key for key, value in zip(parents, commit.transaction.multi_get(parents), strict=True) if value is not None
        }

    def run(self, arrivals: Sequence[Arrival]) -> list[Conflict]:
        for arrival in arrivals:
            self._one(arrival)
            self._take_back(arrival)
        return list(self._conflicts.values())

    def _take_back(self, arrival: Arrival) -> None:
        """What the write was built upon is not lost, even if it came too late here."""
        record = self._table.record
        key = keyspace.conflict_key(record.account, record.name, *arrival.version.parent, arrival.place)
        if key in self._noted or self._conflicts.pop(key, None) is not None:
            self._commit.transaction.delete(key)

    def _one(self, arrival: Arrival) -> None:
        place, version = arrival.place, arrival.version
        if version.sequence == 0 and arrival.value is None:
            return
        current, image = self._versions[place], self._images[place]
        is_first = current.sequence == 0 and image is None
        if version.order <= current.order and not is_first:
            if not current.has_seen(version):
                self._lose(place, version, arrival.value, current, image)
            return
        if not version.has_seen(current):
            self._lose(place, current, None if image is None else image.value, version, arrival.value)
        after = None if arrival.value is None else Image(arrival.value)
        self._log.pass_by(version.sequence)
        self._change(place, image, after)
        if version.sequence:
            kept = versions.encode(version)
            versions.keep(self._commit.transaction, self._table.number, place, version.sequence, kept, after is None)
        self._versions[place], self._images[place] = version, after

    def _change(self, place: bytes, before: Image | None, after: Image | None) -> None:
        key = self._table.prefix + place
        entries = None if after is None else [_entry(index, key, after) for index in self._table.maintained]
        self._commit.change(self._table, key, before, after, entries, REPLICATED)

    def _lose(
        self, place: bytes, lost: Version, lost_value: bytes | None, to: Version, winner: Image | bytes | None
    ) -> None:
        other = winner.value if isinstance(winner, Image) else winner
        known = lost_value if lost_value is not None else other
        if lost.sequence == 0 or lost_value == other or known is None:
            return  # both writes left the same
        noted = conflicts.note(self._commit.transaction, self._table, place, lost, lost_value, to, known)
        if noted is not None:
            self._conflicts[noted[0]] = noted[1]


def _entry(index: Index, key: bytes, image: Image) -> Entry | None:
    """What the index keeps of an item; one that can't be indexed is left out, as when an index is filled."""
    try:
        return index.codec.entry(image.item, key, image.value, image.size)
    except IndexKeyError:
        return None
