"""A new replica is made, and filled with the items that its source has, with their versions.

Each step copies some items as they are at that moment, behind the place where the last one ended; the place is kept in
the same commit. Changes from the moment on in which the replica was asked for follow through the change log, so it
does not matter that the items were not all read at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import TYPE_CHECKING

from dynamometer.engine import keyspace, records, versions
from dynamometer.engine.catalog import Table, World
from dynamometer.engine.commit import Commit
from dynamometer.engine.records import Member
from dynamometer.engine.replication import applying, groups, positions
from dynamometer.engine.replication.applying import Arrival
from dynamometer.storage.interface import Pair

if TYPE_CHECKING:
    from dynamometer.engine.engine import Engine
    from dynamometer.engine.replication.replicator import Replicator

STEP_ITEMS = 100
STEP_BYTES = 1 << 20
ITEM, GRAVE = b"i", b"g"
"""What a place is that the filling has come to: an item's, or a grave's."""
NOTHING = Arrival(b"", versions.ORIGINAL, None)
"""Changes nothing: a step that found only what is of no use is not the last one."""


class Filling:
    """All new replicas of a store, and those that are to go."""

    def __init__(self, engine: Engine, replicator: Replicator) -> None:
        self._engine = engine
        self._replicator = replicator

    def work(self, world: World, table: Table) -> bool:
        """One step for each member of a table that is new or to be removed; whether there is more at once."""
        more = False
        replication = table.record.replication
        members = [] if replication is None else list(replication.others(world.region))
        for member in members:
            if member.region in self._replicator.peers and member.status == "CREATING":
                continue
            if member.region in self._replicator.cut_off or world.region in self._replicator.cut_off:
                continue
            if member.status == "CREATING" and member.source == world.region:
                more = self._fill(world, table, member) or more
            elif member.status == "DELETING" and member.source == world.region:
                self._remove(world, table, member)
            elif member.status == "UPDATING" and member.source == world.region:
                self._settle(world, table, member)
        return more

    def _fill(self, world: World, table: Table, member: Member) -> bool:
        target_world = self._engine.world(world.account, member.region)
        target = self._replicator.replica(world, table.name, member.region)
        if target is None and table.name not in target_world.tables:
            self._make(target_world, table, member.region)
            return True
        if target is None or not groups.are_one(table.record, target.record):
            self.fail(world, table, member.region)  # the region got another table of that name meanwhile
            return True
        arrivals, place = items(
            self._engine, table, positions.read_place(self._engine.store, table.number, member.region)
        )

        def decide(commit: Commit) -> None:
            positions.write_place(commit.transaction, table.number, member.region, place)
            applying.apply(self._engine, commit, target, arrivals)

        if arrivals:
            applying.transact(self._engine, decide)
            return True
        if self._engine.clock.now() >= target.record.created_at + self._engine.settings.table_transition_seconds:
            self.finish(world, table, member.region)
            return True
        return False

    def _make(self, target_world: World, table: Table, region: str) -> None:
        engine = self._engine
        labels = engine.streams.labels(target_world, table.name)
        record = groups.new_replica(table.record, region, round(engine.clock.now(), 3), labels)
        made, _ = engine.catalog.create(target_world, record)
        self._replicator.begin_replica(made)

    def finish(self, world: World, table: Table, region: str) -> None:
        """The new replica has everything: it may be used."""
        target = self._replicator.replica(world, table.name, region)
        if target is not None:
            self.activate(self._engine.world(world.account, region), target)
        self._conclude(world, table, region, "ACTIVE")

    def fail(self, world: World, table: Table, region: str) -> None:
        """There will be no such replica."""
        self._conclude(world, table, region, "CREATION_FAILED")

    def _conclude(self, world: World, table: Table, region: str, status: str) -> None:
        record = records.copy(table.record)
        replication = record.replication
        assert replication is not None, "it is a replica"
        member = replication.member(region)
        if member is None or member.status != "CREATING":
            return  # given up meanwhile
        member.status, member.until = status, None
        groups.end_update(record, self._engine.clock.now())
        filled = keyspace.position_key(table.number, positions.FILLED, region)
        self._replicator.save(world, table, record, lambda transaction: transaction.delete(filled))
        self._engine.catalog.settle(world, table)

    def activate(self, world: World, table: Table) -> None:
        """Give a filled replica its stream and let it be used."""
        engine = self._engine
        record = records.copy(table.record)
        record.status, record.until = "ACTIVE", None
        member = None if record.replication is None else record.replication.member(record.region)
        if member is not None:
            member.status = "ACTIVE"
        for index in record.indexes:
            index.status, index.until = "ACTIVE", None
        engine.catalog.save(world, table, record)

    def _remove(self, world: World, table: Table, member: Member) -> None:
        """Remove a replica's table once its time has come."""
        if member.until is not None and self._engine.clock.now() < member.until:
            return
        target = self._replicator.replica(world, table.name, member.region)
        if target is not None and groups.are_one(table.record, target.record):
            target_world = self._engine.world(world.account, member.region)
            if not self._replicator.drain(target_world, target):
                return
            self._engine.catalog.remove(target_world, target)
        if member.region in self._replicator.peers:
            if not member.is_given_up:
                return  # the peer says when it is done
            self._replicator.messages.ask_to_remove(world, table, member.region)
        self._replicator.drop(world, table, member.region)

    def _settle(self, world: World, table: Table, member: Member) -> None:
        if member.until is not None and self._engine.clock.now() < member.until:
            return
        record = records.copy(table.record)
        changed = None if record.replication is None else record.replication.member(member.region)
        assert changed is not None, "the region is a member"
        changed.status, changed.until = "ACTIVE", None
        self._replicator.save(world, table, record)


def items(engine: Engine, table: Table, after: bytes) -> tuple[list[Arrival], bytes]:
    """Some of what a table has behind a place: items with their versions, then graves; and the last one's place.

    A new replica has to know of deletions too, or another region's older write would bring an item back.
    """
    if after[:1] != GRAVE:
        pairs = _take(engine, table.prefix, after[1:])
        if pairs:
            return _arrivals(engine, table, [(key[len(table.prefix) :], value) for key, value in pairs]), (
                ITEM + pairs[-1][0][len(table.prefix) :]
            )
        after = GRAVE
    prefix = keyspace.grave_prefix(table.number)
    graves = [key for key, _ in _take(engine, prefix, after[1:])]
    if not graves:
        return [], after
    places = list(dict.fromkeys(keyspace.grave_parts(key)[1] for key in graves))
    values = engine.store.multi_get([table.prefix + place for place in places])
    # the grave of an item that is there again says nothing; the item has been copied, or is in the change log
    found: list[tuple[bytes, bytes | None]] = [
        (place, None) for place, value in zip(places, values, strict=True) if value is None
    ]
    return _arrivals(engine, table, found) or [NOTHING], GRAVE + graves[-1][len(prefix) :]


def _take(engine: Engine, prefix: bytes, after: bytes) -> list[Pair]:
    """Some pairs of a range, behind the one named."""
    start = prefix + after + (b"\0" if after else b"")
    pairs: list[Pair] = []
    size_bytes = 0
    for pair in islice(engine.store.range(start, keyspace.successor(prefix), limit=STEP_ITEMS), STEP_ITEMS):
        pairs.append(pair)
        size_bytes += len(pair[1])
        if size_bytes > STEP_BYTES:
            break
    return pairs


def _arrivals(engine: Engine, table: Table, found: Sequence[tuple[bytes, bytes | None]]) -> list[Arrival]:
    prefix = keyspace.version_prefix(table.number)
    kept = engine.store.multi_get([prefix + place for place, _ in found])
    return [
        Arrival(place, versions.ORIGINAL if version is None else versions.decode(version), value)
        for (place, value), version in zip(found, kept, strict=True)
    ]
