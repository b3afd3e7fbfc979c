"""Time to live: expired items are deleted in the background, as the service does, some time after they expired.

Tables with a time to live keep every item under the second in which it expires (`keyspace.due_key`, written by
`Commit`). The reaper looks at those that have been due for `ttl_lag_seconds`, reads each item again, and deletes it
only if it still says that it has expired: whoever moved or removed the value in time has saved the item. Deletions
cost no write units and are marked in the change log as the service's own.

An item that expired more than five years ago is left alone (developer guide, "Before using TTL").
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from dynamometer.engine import keyspace, records
from dynamometer.engine.catalog import Table
from dynamometer.engine.commit import PREFIX_LENGTH, Commit, expiry_of
from dynamometer.engine.log import SERVICE

if TYPE_CHECKING:
    from dynamometer.engine.engine import Engine

FIVE_YEARS_SECONDS = 5 * 365 * 24 * 3600
STEP_ITEMS = 100


class Reaper:
    """Deletes what has expired."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.deleted = 0
        """Items deleted since the start."""

    def reap(self) -> bool:
        """One step over all tables; whether more is due at once."""
        more = False
        for table in self._engine.catalog.tables():
            record = table.record
            if record.replication is not None and record.replication.members[0].region != record.region:
                continue  # the oldest replica deletes, and its deletions are replicated
            if table.ttl_attribute is not None and record.status not in ("CREATING", "DELETING"):
                more = self._reap_table(table) or more
        return more

    def _reap_table(self, table: Table) -> bool:
        engine = self._engine
        now = engine.clock.now()
        last = int(now - engine.settings.ttl_lag_seconds)
        start = keyspace.due_key(table.number, max(0, int(now) - FIVE_YEARS_SECONDS), b"")
        end = keyspace.due_key(table.number, max(0, last), b"")
        keys = [key for key, _ in islice(engine.store.range(start, end, limit=STEP_ITEMS), STEP_ITEMS)]
        if keys:
            deleted, _ = engine.transact(lambda commit: _delete(commit, table, keys, now))
            self.deleted += deleted
        return len(keys) == STEP_ITEMS


def _delete(commit: Commit, table: Table, due_keys: list[bytes], now: float) -> int:
    """Delete the items of due entries, if they say that they have expired; an entry that is wrong goes alone."""
    assert table.ttl_attribute is not None, "only tables with a time to live are reaped"
    prefix_length = len(keyspace.due_key(table.number, 0, b""))
    keys = [table.prefix + due_key[prefix_length:] for due_key in due_keys]
    deleted = 0
    for due_key, key, before in zip(due_keys, keys, commit.read_all(keys), strict=True):
        expiry = None if before is None else expiry_of(before.item, table.ttl_attribute)
        if expiry is not None and expiry < now:
            commit.change(table, key, before, None, flags=SERVICE)
            deleted += 1
        if expiry is None or due_key != keyspace.due_key(table.number, expiry, key[PREFIX_LENGTH:]):
            commit.transaction.delete(due_key)
    return deleted


def resume(engine: Engine) -> None:
    """After a start: begin unfinished backfills again, and remove what a table without a time to live still has."""
    for table in engine.catalog.tables():
        ttl = table.record.ttl
        if ttl is not None and ttl.enabled and ttl.backfilling:
            engine.jobs.append(ExpiryBackfill(engine, table))
        elif ttl is not None and not ttl.enabled:
            prefix = keyspace.due_prefix(table.number)
            engine.store.delete_range(prefix, keyspace.successor(prefix))


class ExpiryBackfill:
    """Finds the expiry of the items that a table had before its time to live was enabled."""

    def __init__(self, engine: Engine, table: Table) -> None:
        self._engine = engine
        self._table = table
        self._attribute = table.ttl_attribute
        self._items = engine.store.range(table.prefix, keyspace.successor(table.prefix))

    def step(self) -> bool:
        """Do one piece; whether that was the last."""
        table, attribute = self._table, self._attribute
        if attribute is None or table.ttl_attribute != attribute or table.record.status == "DELETING":
            return True
        keys = [key for key, _ in islice(self._items, STEP_ITEMS)]

        def decide(commit: Commit) -> None:
            for key, image in zip(keys, commit.read_all(keys), strict=True):
                expiry = None if image is None else expiry_of(image.item, attribute)
                if expiry is not None:
                    commit.transaction.put(keyspace.due_key(table.number, expiry, key[PREFIX_LENGTH:]), b"")

        self._engine.transact(decide)
        if len(keys) == STEP_ITEMS:
            return False
        self._finish()
        return True

    def _finish(self) -> None:
        record = records.copy(self._table.record)
        assert record.ttl is not None, "the time to live is enabled"
        record.ttl.backfilling = False
        catalog = self._engine.catalog
        catalog.save(catalog.world(record.account, record.region), self._table, record)
