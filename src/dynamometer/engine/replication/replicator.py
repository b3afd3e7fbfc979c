"""The replication of all global tables of a store: a chore that gives every replica what the others have changed.

A region that is cut off neither sends nor receives, and catches up when it is healed. What was sent to a region on
another server (`peers`) arrives at least once, which changes nothing the second time.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from dynamometer.base.config import peers_of
from dynamometer.engine import keyspace, records
from dynamometer.engine.catalog import Table, World
from dynamometer.engine.reaper import ExpiryBackfill
from dynamometer.engine.records import Replication, TableRecord
from dynamometer.engine.replication import conflicts, groups, positions
from dynamometer.engine.replication.conflicts import Conflict
from dynamometer.engine.replication.filling import Filling
from dynamometer.engine.replication.forgetting import Forgetting
from dynamometer.engine.replication.links import Links
from dynamometer.engine.replication.peers import Peers, Transport
from dynamometer.storage.interface import Transaction

if TYPE_CHECKING:
    from dynamometer.engine.engine import Engine

log = logging.getLogger(__name__)

DRAIN_STEPS = 10
"""Batches that a replica that is to go sends at once."""


class Replicator:
    """All global tables of a store."""

    def __init__(self, engine: Engine, transport: Transport | None = None) -> None:
        self._engine = engine
        self._transport = transport
        self.lag_seconds: float = engine.settings.replication_lag_seconds
        """How long a change takes to the other regions, at the least. It may be set at any time."""
        self.cut_off: set[str] = set()
        self.peers = peers_of(engine.settings.peers)
        """Regions that are on other servers, and where."""
        self._replicated: dict[int, tuple[World, Table]] = {}
        self.links = Links(engine, self)
        self._forgetting = Forgetting(engine, self.links, self._replicated)
        self.sweep = self._forgetting.sweep
        self.filling = Filling(engine, self)
        self.messages = Peers(engine, self, self.peers, transport)
        engine.log.pass_by(positions.newest(engine.store))
        engine.log.holders.append(self._needed)
        engine.catalog.tell(self._follow)
        self._reconcile()
        self._forgetting.clear_away()

    # Control.

    def cut(self, region: str) -> None:
        """Cut a region off from all others: nothing is replicated from it or to it until it is healed."""
        self.cut_off.add(region)
        self._link_siblings()

    def heal(self, region: str) -> None:
        """Let a region catch up. Strongly consistent tables have caught up when this returns."""
        self.cut_off.discard(region)
        for world, table in self._strong():
            while self.links.send_all(world, table, with_lag=False):
                pass
        self._link_siblings()

    def conflicts(self, account: str | None = None, table: str | None = None) -> list[Conflict]:
        """The updates that were lost, as `conflicts.read` finds them."""
        return list(conflicts.read(self._engine.store, account, table))

    def is_caught_up(self) -> bool:
        """Whether every change that was made has arrived in every region."""
        end = self._engine.log.last_sequence + 1
        return not any(
            self.links.has_more(table, member.region, end)
            for _, table in self._replicated.values()
            for member in self.links.targets(table)
        )

    # What happens to tables.

    def _follow(self, world: World, table: Table) -> None:
        is_replica = table.record.replication is not None and not table.record.is_gone
        was_replica = table.number in self._replicated
        if is_replica:
            self._replicated[table.number] = (world, table)
        elif was_replica:
            del self._replicated[table.number]
            self.messages.forget(table)
        if is_replica or was_replica:
            self._link_siblings()

    def _strong(self) -> list[tuple[World, Table]]:
        return [pair for pair in self._replicated.values() if _replication(pair[1]).is_strong]

    def _link_siblings(self) -> None:
        """Tell strongly consistent replicas of each other: those that are cut off stand apart."""
        for world, table in list(self._replicated.values()):
            table.siblings, table.is_isolated = [], False
            replication = table.record.replication
            if replication is None or not replication.is_strong:
                continue
            table.conflict_window = int(self._engine.settings.replicated_conflict_seconds * 1e9)
            others = {member.region for member in replication.others(world.region)} | {replication.witness}
            table.is_isolated = world.region in self.cut_off or others - {None} <= self.cut_off
            if world.region in self.cut_off:
                continue
            for member in replication.others(world.region):
                sibling = self.replica(world, table.name, member.region)
                if sibling is not None and member.region not in self.cut_off:
                    table.siblings.append(sibling)

    def replica(self, world: World, name: str, region: str) -> Table | None:
        """The replica of a table in a region of this store."""
        if region in self.peers:
            return None
        other = self._engine.world(world.account, region)
        table = other.tables.get(name)
        if table is None or table.record.replication is None or table.record.is_gone:
            return None
        return table

    def save(
        self, world: World, table: Table, record: TableRecord, also: Callable[[Transaction], None] | None = None
    ) -> None:
        """Keep a changed record of a replica, as the newest revision of its global table, and tell the other replicas.

        Members that are new get their positions in the same commit.
        """
        replication = record.replication
        if replication is not None:
            self._engine.log.pass_by(replication.revision)
            replication.revision, replication.revised_in = self._engine.log.next_sequence(), world.region

        def stage(transaction: Transaction) -> None:
            if also is not None:
                also(transaction)
            if replication is not None:
                self._begin_positions(transaction, table, replication)

        others = [] if table.record.replication is None else table.record.replication.others(world.region)
        self._engine.catalog.save(world, table, record, stage)
        gone = [member.region for member in others if replication is None or replication.member(member.region) is None]
        for region in gone:
            self._dismiss(world, table, record, region)
        self.tell(world, table)

    def _begin_positions(self, transaction: Transaction, table: Table, replication: Replication) -> None:
        for member in replication.others(table.record.region):
            if positions.read(self._engine.store, table.number, positions.SENT, member.region) is None:
                since = member.since.get(table.record.region, self._engine.log.last_sequence + 1)
                positions.write(transaction, table.number, positions.SENT, member.region, since)

    def _dismiss(self, world: World, table: Table, record: TableRecord, region: str) -> None:
        """A region is no replica any more: a table that it has on this store learns of it."""
        self.messages.forget(table, region)
        transaction = self._engine.store.begin()
        positions.forget(transaction, table.number, region)
        transaction.commit()
        other = self.replica(world, table.name, region)
        if other is None or record.replication is None or not groups.is_newer(record.replication, _replication(other)):
            return
        if (
            other.record.replication is not None
            and other.record.replication.created_at == record.replication.created_at
        ):
            self._release(self._engine.world(world.account, region), other)

    def _release(self, world: World, table: Table) -> None:
        """The table is a table of its own again."""
        released = records.copy(table.record)
        replication = _replication(table)
        released.replication = None
        if released.status == "UPDATING" and released.until is None:
            released.status = "ACTIVE"

        def forget(transaction: Transaction) -> None:
            for member in replication.others(world.region):
                positions.forget(transaction, table.number, member.region)

        self._engine.catalog.save(world, table, released, forget)
        for prefix in (keyspace.version_prefix(table.number), keyspace.grave_prefix(table.number)):
            self._engine.store.delete_range(prefix, keyspace.successor(prefix))

    def leave(self, world: World, table: Table) -> None:
        """Take a table out of its global table; the others go on without it."""
        replication = _replication(table)
        others = replication.others(world.region)
        here = [(member, self.replica(world, table.name, member.region)) for member in others]
        for member, other in here:
            if other is not None:
                self.without(self._engine.world(world.account, member.region), other, world.region)
                break
        else:
            for member in others:
                self.messages.say_farewell(world, table, member.region)
        if table.record.replication is not None:
            self._release(world, table)

    def without(self, world: World, table: Table, region: str) -> None:
        """Take a member out of the list that a table has."""
        record = records.copy(table.record)
        replication = record.replication
        assert replication is not None, "it is a replica"
        replication.members = [member for member in replication.members if member.region != region]
        if len(replication.members) == 1 and replication.version == groups.CURRENT:
            self._release(world, table)
        else:
            self.save(world, table, record)

    def tell(self, world: World, table: Table) -> None:
        """Copy what a replica's record says of the global table to every replica that knows less."""
        replication = table.record.replication
        if replication is None:
            return
        for member in replication.others(world.region):
            other = self.replica(world, table.name, member.region)
            if other is not None and groups.is_newer(replication, _replication(other)):
                self.adopt(self._engine.world(world.account, member.region), other, table.record)

    def adopt(self, world: World, table: Table, source: TableRecord) -> None:
        """Make a replica's record follow a newer one."""
        engine = self._engine
        labels = engine.streams.labels(world, table.name)
        record = groups.adopt(source, table.record, round(engine.clock.now(), 3), labels)
        if record.replication is None:
            self._release(world, table)
            return
        old = table.record
        replication = record.replication
        engine.catalog.save(
            world, table, record, lambda transaction: self._begin_positions(transaction, table, replication)
        )
        for member in old.replication.others(world.region) if old.replication is not None else ():
            if replication.member(member.region) is None:
                self._dismiss(world, table, record, member.region)
        self._begin_work(world, table, old)

    def _begin_work(self, world: World, table: Table, old: TableRecord) -> None:
        """Fill the indexes that are new, and find out when items expire."""
        engine, record = self._engine, table.record
        for index in record.indexes:
            known = old.index(index.name)
            if index.backfilling and (known is None or known.number != index.number):
                engine.catalog.start_backfill(world, table, table.indexes[index.name])
        ttl = record.ttl
        if ttl is not None and ttl is not old.ttl and ttl.backfilling and (old.ttl is None or old.ttl != ttl):
            engine.jobs.append(ExpiryBackfill(engine, table))
        if ttl is not None and not ttl.enabled and old.ttl is not None and old.ttl.enabled:
            prefix = keyspace.due_prefix(table.number)
            engine.store.delete_range(prefix, keyspace.successor(prefix))

    def _reconcile(self) -> None:
        """After a start: what one replica's record says and another's does not yet, because a crash came between."""
        for world, table in list(self._replicated.values()):
            self.tell(world, table)

    # The chore.

    def work(self) -> bool:
        """One step of all that there is to do; whether there is more at once."""
        self.messages.farewells()
        more = False
        for world, table in list(self._replicated.values()):
            replication = table.record.replication
            if replication is None or table.record.is_gone:
                continue
            if table.record.status == "DELETING":
                self._send_to_peers(world, table)
                more = self._remove_if_drained(world, table) or more
                continue
            more = self.filling.work(world, table) or more
            if table.record.replication is None:
                continue
            more = self.links.send_all(world, table) or more
            more = self._send_to_peers(world, table) or more
            if replication.leaving is not None:
                self._leave_if_done(world, table, replication.leaving)
        return more

    def _send_to_peers(self, world: World, table: Table) -> bool:
        more = False
        record = table.record
        if record.replication is None or record.is_filling or world.region in self.cut_off:
            return False
        for member in record.replication.others(world.region):
            if member.region in self.peers and member.region not in self.cut_off:
                more = self.messages.work(world, table, member) or more
        return more

    def _needed(self, table_number: int) -> int | None:
        """What of a table's log some region has not got yet."""
        pair = self._replicated.get(table_number)
        if pair is None or pair[1].record.replication is None:
            return None
        sent = [self.links.sent(pair[1], member.region) for member in pair[1].record.replication.others(pair[0].region)]
        return min(sent, default=None)

    def _leave_if_done(self, world: World, table: Table, leaving: int) -> None:
        for member in self.links.targets(table):
            source = self.replica(world, table.name, member.region)
            if self.links.has_more(table, member.region, leaving):
                return
            if source is not None and self.links.has_more(source, world.region, leaving):
                return
            if source is None:
                arrived = positions.read(self._engine.store, table.number, positions.ARRIVED, member.region)
                if arrived is None or arrived < leaving:
                    return
        self.leave(world, table)

    def drain(self, world: World, table: Table) -> bool:
        """Let no one write to a replica that is to go; whether all others have got what was written in it.

        Otherwise some of them would have its last writes, and some not.
        """
        if table.record.status != "DELETING":
            record = records.copy(table.record)
            record.status, record.until = "DELETING", None
            self._engine.catalog.save(world, table, record)
        for _ in range(DRAIN_STEPS):
            if not self.links.send_all(world, table, with_lag=False):
                break
        end = self._engine.log.last_sequence + 1
        return not any(self.links.has_more(table, member.region, end) for member in self.links.targets(table))

    def _remove_if_drained(self, world: World, table: Table) -> bool:
        """Go on with DeleteTable; whether there is more to do at once. A region that asked for the removal waits."""
        own = _replication(table).member(world.region)
        if not self.drain(world, table):
            return self.links.send_all(world, table, with_lag=False)
        if own is None or own.status == "DELETING":
            return False
        engine = self._engine
        self.leave(world, table)
        record = records.copy(table.record)
        record.status, record.until = "DELETING", engine.catalog.until()
        archive = None if record.recovery is None else partial(engine.backups.archive, table, record)
        engine.catalog.save(world, table, record, archive)
        engine.catalog.settle(world, table)
        return False

    def begin_replica(self, table: Table) -> None:
        """A new replica was made: it will send what is changed in it from its first change on."""
        transaction = self._engine.store.begin()
        self._begin_positions(transaction, table, _replication(table))
        transaction.commit()

    def drop(self, world: World, table: Table, region: str) -> None:
        """A member's table is gone, and with it the member."""
        record = records.copy(table.record)
        groups.end_update(record, self._engine.clock.now(), region)
        if record.until is not None:
            self._engine.catalog.save(world, table, record)
        self.without(world, table, region)
        self._engine.catalog.settle(world, table)

    def finish(self, world: World, table: Table, region: str) -> None:
        """A new replica has been filled."""
        self.filling.finish(world, table, region)

    def activate(self, world: World, table: Table) -> None:
        """A replica here has been filled."""
        self.filling.activate(world, table)

    def close(self) -> None:
        """Send nothing more."""
        if self._transport is not None:
            self._transport.close()


def _replication(table: Table) -> Replication:
    replication = table.record.replication
    assert replication is not None, "it is a replica"
    return replication
