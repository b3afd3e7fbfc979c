"""The replication of all global tables of a store: a chore that gives every replica what the others have changed.

A link leads from one replica to another. It reads the change log of its source up to `lag_seconds` ago and applies what
was changed there, in batches; where it has come to is kept in the same commit, so everything arrives exactly once. A
region that is cut off neither sends nor receives, and catches up when it is healed. What was sent to a region on
another server (`peers`) arrives at least once, which changes nothing the second time.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING

from dynamometer.base.config import peers_of
from dynamometer.engine import keyspace, records, versions
from dynamometer.engine.catalog import Table, World
from dynamometer.engine.commit import Commit
from dynamometer.engine.log import REPLICATED, sequence_at
from dynamometer.engine.reaper import ExpiryBackfill
from dynamometer.engine.records import Member, Replication, TableRecord
from dynamometer.engine.replication import applying, conflicts, groups, positions
from dynamometer.engine.replication.applying import Arrival
from dynamometer.engine.replication.conflicts import Conflict
from dynamometer.engine.replication.filling import Filling
from dynamometer.engine.replication.peers import Peers, Transport
from dynamometer.storage.interface import Transaction

if TYPE_CHECKING:
    from dynamometer.engine.engine import Engine

log = logging.getLogger(__name__)

STEP_CHANGES = 100
STEP_BYTES = 1 << 20
GRAVE_SECONDS = 24 * 3600
"""How long the version of a deleted item is kept (assumed: how the service does it is not public)."""
IDLE_SECONDS = 60.0
"""How far a position may fall behind while there is nothing to send."""
AHEAD_NANOSECONDS = 1_000_000_000
SWEEP_KEYS = 1000
UNMADE = ("CREATING", "CREATION_FAILED", "DELETING")
"""States of members that are sent no changes."""
SCANNED_MAX = 2000
"""Entries that one step looks at."""
PASSED_MAX = 200
"""Entries of other regions that a link may pass by without noting it."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Changes to send. `following`: where the next batch begins. `is_worth_it`: whether that should be kept."""

    arrivals: list[Arrival]
    following: int
    is_worth_it: bool
    has_more: bool


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
        self.filling = Filling(engine, self)
        self.messages = Peers(engine, self, self.peers, transport)
        engine.log.pass_by(positions.newest(engine.store))
        engine.log.holders.append(self._needed)
        engine.catalog.on_change.append(self._follow)
        for world in engine.catalog.worlds():
            for table in world.tables.values():
                self._follow(world, table)
        self._reconcile()
        self._clear_away()

    # Control.

    def cut(self, region: str) -> None:
        """Cut a region off from all others: nothing is replicated from it or to it until it is healed."""
        self.cut_off.add(region)
        self._link_siblings()

    def heal(self, region: str) -> None:
        """Let a region catch up. Strongly consistent tables have caught up when this returns."""
        self.cut_off.discard(region)
        for world, table in self._strong():
            while self._send_all(world, table, with_lag=False):
                pass
        self._link_siblings()

    def conflicts(self, account: str | None = None, table: str | None = None) -> list[Conflict]:
        """The updates that were lost, as `conflicts.read` finds them."""
        return list(conflicts.read(self._engine.store, account, table))

    def is_caught_up(self) -> bool:
        """Whether every change that was made has arrived in every region."""
        end = self._engine.log.last_sequence + 1
        return not any(
            self._has_more(table, member.region, end)
            for _, table in self._replicated.values()
            for member in self._targets(table)
        )

    def _has_more(self, table: Table, region: str, end: int) -> bool:
        """Whether a region has not got all that was changed before a moment."""
        batch = self.batch(table, region, end)
        return bool(batch.arrivals) or batch.has_more

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

    def _clear_away(self) -> None:
        """After a start: what a crash has left of tables that are no replicas any more."""
        store = self._engine.store
        for bounds, prefix_of in (
            (keyspace.version_range(), keyspace.version_prefix),
            (keyspace.grave_range(), keyspace.grave_prefix),
            (keyspace.position_range(), keyspace.positions_prefix),
        ):
            start, end = bounds
            while (pair := next(iter(store.range(start, end, limit=1)), None)) is not None:
                number = keyspace.log_table(pair[0])
                start = keyspace.successor(prefix_of(number))
                if number not in self._replicated:
                    store.delete_range(prefix_of(number), start)

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
                self._remove_if_drained(world, table)
                continue
            more = self.filling.work(world, table) or more
            if table.record.replication is None:
                continue
            more = self._send_all(world, table) or more
            more = self._send_to_peers(world, table) or more
            if replication.leaving is not None:
                self._leave_if_done(world, table, replication.leaving)
        return more

    def _targets(self, table: Table) -> list[Member]:
        """The members that are sent a table's changes: those that have been filled."""
        record = table.record
        if record.replication is None or record.is_filling:
            return []
        return [member for member in record.replication.others(record.region) if member.status not in UNMADE]

    def _send_all(self, world: World, table: Table, with_lag: bool = True) -> bool:
        more = False
        if world.region in self.cut_off:
            return False
        for member in self._targets(table):
            if member.region in self.cut_off or member.region in self.peers:
                continue
            target = self.replica(world, table.name, member.region)
            if target is not None and not target.record.is_filling:
                more = self._send(table, target, with_lag) or more
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

    def _sent(self, table: Table, region: str) -> int:
        return positions.read(self._engine.store, table.number, positions.SENT, region) or 0

    def horizon(self) -> int:
        """Changes before this one are old enough to arrive elsewhere.

        A sequence number that is ahead of the clock came from a region whose clock is: then nothing is held back.
        """
        last = self._engine.log.last_sequence
        now = self._engine.clock.now()
        if self.lag_seconds == 0 or last - sequence_at(now) > AHEAD_NANOSECONDS:
            return last + 1
        return sequence_at(now - self.lag_seconds)

    def batch(self, table: Table, region: str, end: int) -> Batch:
        """The next changes of a table, made in its own region before `end`, that another region has not got."""
        start = following = self._sent(table, region)
        arrivals: list[Arrival] = []
        size = scanned = 0
        for change in self._engine.log.read(self._engine.store, table.number, start, end, limit=SCANNED_MAX):
            following = change.sequence + 1
            scanned += 1
            if not change.flags & REPLICATED and change.version:
                arrivals.append(Arrival(change.place, versions.decode(change.version), change.after))
                size += len(change.after or b"")
            if len(arrivals) == STEP_CHANGES or size > STEP_BYTES or scanned == SCANNED_MAX:
                return Batch(arrivals, following, True, True)
        if end - following > IDLE_SECONDS * 1e9:
            # there was nothing for a while: let the log and old deletions go
            self._engine.log.pass_by(end - 1)
            return Batch(arrivals, end, True, False)
        return Batch(arrivals, following, bool(arrivals) or scanned > PASSED_MAX, False)

    def _send(self, source: Table, target: Table, with_lag: bool) -> bool:
        """Apply some changes; whether there are more."""
        engine = self._engine
        region = target.record.region
        batch = self.batch(source, region, self.horizon() if with_lag else engine.log.last_sequence + 1)
        if not batch.is_worth_it:
            return False

        def decide(commit: Commit) -> list[Conflict]:
            positions.write(commit.transaction, source.number, positions.SENT, region, batch.following)
            return applying.apply(engine, commit, target, batch.arrivals)

        done = applying.transact(engine, decide)
        if done is not None:
            self.report(done[0])
        return done is None or batch.has_more

    def report(self, found: list[Conflict]) -> None:
        """Tell the operator of lost updates."""
        if len(found) == 1:
            log.warning("an update was lost: %s", found[0])
        elif found:
            log.warning("%d updates were lost, which `dyno conflicts` shows; the first: %s", len(found), found[0])

    def _needed(self, table_number: int) -> int | None:
        """What of a table's log some region has not got yet."""
        pair = self._replicated.get(table_number)
        if pair is None or pair[1].record.replication is None:
            return None
        sent = [self._sent(pair[1], member.region) for member in pair[1].record.replication.others(pair[0].region)]
        return min(sent, default=None)

    def arrived(self, world: World, table: Table) -> int | None:
        """The moment up to which everything that was changed elsewhere has arrived here; None: nothing is known."""
        replication = table.record.replication
        if replication is None:
            return None
        moments = []
        for member in replication.others(world.region):
            source = self.replica(world, table.name, member.region)
            if source is not None:
                moment: int | None = self._sent(source, world.region)
            else:
                moment = positions.read(self._engine.store, table.number, positions.ARRIVED, member.region)
            if moment is None:
                return None
            moments.append(moment)
        return min(moments, default=None)

    def _leave_if_done(self, world: World, table: Table, leaving: int) -> None:
        for member in self._targets(table):
            source = self.replica(world, table.name, member.region)
            if self._has_more(table, member.region, leaving):
                return
            if source is not None and self._has_more(source, world.region, leaving):
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
        while self._send_all(world, table, with_lag=False):
            pass
        end = self._engine.log.last_sequence + 1
        return not any(self._has_more(table, member.region, end) for member in self._targets(table))

    def _remove_if_drained(self, world: World, table: Table) -> None:
        """Go on with DeleteTable. Where another region has asked for the removal, that region waits for it."""
        own = _replication(table).member(world.region)
        if not self.drain(world, table) or own is None or own.status == "DELETING":
            return
        engine = self._engine
        self.leave(world, table)
        record = records.copy(table.record)
        record.status, record.until = "DELETING", engine.catalog.until()
        archive = None if record.recovery is None else partial(engine.backups.archive, table, record)
        engine.catalog.save(world, table, record, archive)
        engine.catalog.settle(world, table)

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

    # What is forgotten in time.

    def sweep(self) -> bool:
        """Forget deletions that nothing older can meet any more, and losses that were noted long ago."""
        now = self._engine.clock.now()
        more = False
        for world, table in list(self._replicated.values()):
            arrived = self.arrived(world, table)
            if arrived is not None:
                more = self._sweep_graves(table, min(arrived, sequence_at(now - GRAVE_SECONDS))) or more
        old = conflicts.old_keys(self._engine.store, now, SWEEP_KEYS)
        if old:
            transaction = self._engine.store.begin()
            for key in old:
                transaction.delete(key)
            transaction.commit()
        return more or len(old) == SWEEP_KEYS

    def _sweep_graves(self, table: Table, end: int) -> bool:
        prefix = keyspace.grave_prefix(table.number)
        bounds = prefix, keyspace.grave_key(table.number, end, b"")
        graves = [key for key, _ in islice(self._engine.store.range(*bounds, limit=SWEEP_KEYS), SWEEP_KEYS)]
        if not graves:
            return False
        transaction = self._engine.store.begin()
        for grave in graves:
            sequence, place = keyspace.grave_parts(grave)
            key = keyspace.version_prefix(table.number) + place
            value = transaction.get(key)
            if value is not None and versions.decode(value).sequence == sequence:
                transaction.delete(key)
            transaction.delete(grave)
        transaction.commit()
        return len(graves) == SWEEP_KEYS


def _replication(table: Table) -> Replication:
    replication = table.record.replication
    assert replication is not None, "it is a replica"
    return replication
