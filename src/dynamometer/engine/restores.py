"""Restores: a new table is filled with the items of a backup, or with those that a table had at a past second.

    backup      copy the kept items
    past        copy the items of now, then undo the change log, newest change first, down to the moment

Both go through `Commit`, a bounded piece at a time, so index entries, counters and collection sizes come out exact,
and nothing but the piece is in memory. Items of now are one range that was made when the restore began; the log holds
every change since the moment up to that beginning, and `recovery.holder` keeps it until the restore is over.

After a restart, a restore from a backup goes on behind the last item that it has, and a restore of the past begins
again with an empty table. One whose source is gone ends: its table disappears.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from dynamometer.base.errors import LimitExceededException, StoreConflict
from dynamometer.engine import keyspace, records, recovery
from dynamometer.engine.backups import STEP_BYTES, STEP_ITEMS, Backup, take
from dynamometer.engine.catalog import Table, World
from dynamometer.engine.commit import Commit, Image, entry_or_none
from dynamometer.engine.records import TableRecord
from dynamometer.storage.interface import Pair

if TYPE_CHECKING:
    from dynamometer.engine.engine import Engine

RUNNING_MAX = 50
"""Restores at once in an account (service model: RestoreTableFromBackup)."""


class Restores:
    """All restores of a store."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        for world in engine.catalog.worlds():
            for table in list(world.tables.values()):
                if table.record.restore is not None and table.record.restore.is_running:
                    self._resume(world, table)

    def begin(self, world: World, record: TableRecord, source: Backup | Table) -> Table:
        """Make the table and begin to fill it. Raises LimitExceededException."""
        owned = (each for each in self._engine.catalog.worlds() if each.account == world.account)
        tables = (table for each in owned for table in each.tables.values())
        running = sum(1 for each in tables if each.record.restore is not None and each.record.restore.is_running)
        if running >= RUNNING_MAX:
            raise LimitExceededException(  # assumed text
                f"Subscriber limit exceeded: There is a limit of {RUNNING_MAX} concurrent restores"
            )
        table, _ = self._engine.catalog.create(world, record)
        self._engine.jobs.append(self._job(world, table, source))
        return table

    def _job(self, world: World, table: Table, source: Backup | Table, after: bytes = b"") -> RestoreJob:
        start = source.prefix + after
        items = self._engine.store.range(start, keyspace.successor(source.prefix))
        job = RestoreJob(self._engine, world, table, items, len(source.prefix))
        if isinstance(source, Table):
            assert table.record.restore is not None, "it is a restore's table"
            first = recovery.first_undone(table.record.restore.at)
            job.undo = Undo(self._engine, source.number, first)
        return job

    def _resume(self, world: World, table: Table) -> None:
        restore = table.record.restore
        assert restore is not None, "it is a restore's table"
        engine = self._engine
        source: Backup | Table | None
        after = b""
        if restore.backup_arn is not None:
            source = engine.backups.load(restore.backup_arn)
            last = next(
                iter(engine.store.range(table.prefix, keyspace.successor(table.prefix), reverse=True, limit=1)), None
            )
            after = b"" if last is None else last[0][len(table.prefix) :] + b"\0"
        else:
            numbered = (each for each in engine.catalog.tables() if each.number == restore.source_number)
            source = next(numbered, None)
            engine.catalog.clear(table)
        if source is None:
            engine.catalog.remove(world, table)
        else:
            engine.jobs.append(self._job(world, table, source, after))


class RestoreJob:
    """The filling of one restored table, a bounded piece at a time."""

    def __init__(self, engine: Engine, world: World, table: Table, items: Iterator[Pair], cut: int) -> None:
        self._engine = engine
        self._world = world
        self._table = table
        self._items = items
        self._cut = cut
        self._piece: tuple[list[Pair], bool] | None = None
        self._is_copied = False
        self.undo: Undo | None = None

    def step(self) -> bool:
        """Do one piece; whether the restore is over."""
        if self._world.tables.get(self._table.name) is not self._table or self._table.record.status != "CREATING":
            return True
        if not self._is_copied:
            self._copy()
        elif self.undo is not None and not self.undo.is_done:
            self.undo.step(self._table)
        if not self._is_copied or (self.undo is not None and not self.undo.is_done):
            return False
        self._finish()
        return True

    def _copy(self) -> None:
        if self._piece is None:
            self._piece = take(self._items)
        pairs, is_last = self._piece
        prefix, cut = self._table.prefix, self._cut
        if write(self._engine, self._table, lambda _: [(prefix + key[cut:], None, value) for key, value in pairs]):
            self._piece, self._is_copied = None, is_last

    def _finish(self) -> None:
        """The table is ACTIVE, once the time that a new table takes is over."""
        engine = self._engine
        record = records.copy(self._table.record)
        assert record.restore is not None, "it is a restore's table"
        record.restore.is_running = False
        until, transition_seconds = engine.clock.now(), engine.settings.table_transition_seconds
        if transition_seconds:
            until = max(until, record.created_at + transition_seconds)
        record.until = until
        for index in record.indexes:
            index.until = until
        engine.catalog.save(self._world, self._table, record)
        engine.catalog.settle(self._world, self._table)


class Undo:
    """The change log of a table, undone on another table, from its end down to the change numbered `first`."""

    def __init__(self, engine: Engine, source_number: int, first: int) -> None:
        self._engine = engine
        self._source_number = source_number
        self._first = first
        self._end = max(first, engine.log.last_sequence + 1)
        self.is_done = False

    def step(self, table: Table) -> None:
        """Undo some changes. What one item was before the oldest of them counts."""
        engine = self._engine
        before: dict[bytes, bytes | None] = {}
        changes, size, end = 0, 0, self._end
        for change in engine.log.read(
            engine.store, self._source_number, self._first, self._end, reverse=True, limit=STEP_ITEMS
        ):
            before[table.prefix + change.place] = change.before
            end = change.sequence
            changes += 1
            size += len(change.before or b"") + len(change.after or b"")
            if changes == STEP_ITEMS or size >= STEP_BYTES:
                break
        keys = list(before)
        if write(engine, table, lambda commit: zip(keys, commit.read_all(keys), before.values(), strict=True)):
            self._end = end
            self.is_done = changes < STEP_ITEMS and size < STEP_BYTES


def write(
    engine: Engine,
    table: Table,
    decide: Callable[[Commit], Iterable[tuple[bytes, Image | None, bytes | None]]],
) -> bool:
    """Commit changes of items (key, now, then); False when the store says that it has to be done again.

    No collection is too large here: what is restored was there before.
    """
    commit = Commit(engine.store, engine.log, sys.maxsize)
    try:
        for key, now, then in decide(commit):
            after = None if then is None else Image(then)
            entries = None if after is None else [entry_or_none(index, key, after) for index in table.maintained]
            commit.change(table, key, now, after, entries)
        commit.finish()
    except StoreConflict:
        commit.transaction.rollback()
        return False
    return True
