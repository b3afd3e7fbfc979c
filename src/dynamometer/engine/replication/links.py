"""Links: each leads from one replica to another, and applies there what was changed here.

A link reads the change log of its source up to `lag_seconds` ago, in batches. Where it has come to is kept in the
commit of what it applied, so that everything arrives exactly once. Changes that came from another region are passed by.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dynamometer.engine import versions
from dynamometer.engine.catalog import Table, World
from dynamometer.engine.commit import Commit
from dynamometer.engine.log import REPLICATED, sequence_at
from dynamometer.engine.records import Member
from dynamometer.engine.replication import applying, positions
from dynamometer.engine.replication.applying import Arrival
from dynamometer.engine.replication.conflicts import Conflict

if TYPE_CHECKING:
    from dynamometer.engine.engine import Engine
    from dynamometer.engine.replication.replicator import Replicator

log = logging.getLogger(__name__)

STEP_CHANGES = 100
STEP_BYTES = 1 << 20
IDLE_SECONDS = 60.0
"""How far a position may fall behind while there is nothing to send."""
AHEAD_NANOSECONDS = 1_000_000_000
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


class Links:
    """All links between replicas of one store."""

    def __init__(self, engine: Engine, replicator: Replicator) -> None:
        self._engine = engine
        self._replicator = replicator

    def targets(self, table: Table) -> list[Member]:
        """The members that are sent a table's changes: those that have been filled."""
        record = table.record
        if record.replication is None or record.is_filling:
            return []
        return [member for member in record.replication.others(record.region) if member.status not in UNMADE]

    def send_all(self, world: World, table: Table, with_lag: bool = True) -> bool:
        more = False
        if world.region in self._replicator.cut_off:
            return False
        for member in self.targets(table):
            if member.region in self._replicator.cut_off or member.region in self._replicator.peers:
                continue
            target = self._replicator.replica(world, table.name, member.region)
            if target is not None and not target.record.is_filling:
                more = self._send(table, target, with_lag) or more
        return more

    def has_more(self, table: Table, region: str, end: int) -> bool:
        """Whether a region has not got all that was changed before a moment."""
        batch = self.batch(table, region, end)
        return bool(batch.arrivals) or batch.has_more

    def sent(self, table: Table, region: str) -> int:
        return positions.read(self._engine.store, table.number, positions.SENT, region) or 0

    def horizon(self) -> int:
        """Changes before this one are old enough to arrive elsewhere.

        A sequence number that is ahead of the clock came from a region whose clock is: then nothing is held back.
        """
        last = self._engine.log.last_sequence
        now = self._engine.clock.now()
        if self._replicator.lag_seconds == 0 or last - sequence_at(now) > AHEAD_NANOSECONDS:
            return last + 1
        return sequence_at(now - self._replicator.lag_seconds)

    def batch(self, table: Table, region: str, end: int) -> Batch:
        """The next changes of a table, made in its own region before `end`, that another region has not got."""
        start = following = self.sent(table, region)
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

    def arrived(self, world: World, table: Table) -> int | None:
        """The moment up to which everything that was changed elsewhere has arrived here; None: nothing is known."""
        replication = table.record.replication
        if replication is None:
            return None
        moments = []
        for member in replication.others(world.region):
            source = self._replicator.replica(world, table.name, member.region)
            if source is not None:
                moment: int | None = self.sent(source, world.region)
            else:
                moment = positions.read(self._engine.store, table.number, positions.ARRIVED, member.region)
            if moment is None:
                return None
            moments.append(moment)
        return min(moments, default=None)
