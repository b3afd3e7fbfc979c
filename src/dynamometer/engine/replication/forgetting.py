"""What global tables forget in time: old deletions, old notes, and what a crash has left of former replicas."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from dynamometer.engine import keyspace, versions
from dynamometer.engine.catalog import Table, World
from dynamometer.engine.log import sequence_at
from dynamometer.engine.replication import conflicts
from dynamometer.engine.replication.links import Links

if TYPE_CHECKING:
    from dynamometer.engine.engine import Engine

GRAVE_SECONDS = 24 * 3600
"""How long the version of a deleted item is kept (assumed: how the service does it is not public)."""
SWEEP_KEYS = 1000


class Forgetting:
    """The chore that forgets. `replicated`: all replicas, by table number."""

    def __init__(self, engine: Engine, links: Links, replicated: dict[int, tuple[World, Table]]) -> None:
        self._engine = engine
        self._links = links
        self._replicated = replicated

    def clear_away(self) -> None:
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

    def sweep(self) -> bool:
        """Forget deletions that nothing older can meet any more, and losses that were noted long ago."""
        now = self._engine.clock.now()
        more = False
        for world, table in list(self._replicated.values()):
            arrived = self._links.arrived(world, table)
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
