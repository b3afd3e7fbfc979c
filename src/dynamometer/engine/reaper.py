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
            if table.ttl_attribute is not None and table.record.status == "ACTIVE":
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
            prefix_length = len(keyspace.due_key(table.number, 0, b""))
            places = [key[prefix_length:] for key in keys]
            deleted, _ = engine.transact(lambda commit: self._delete(commit, table, places, now))
            self.deleted += deleted
        return len(keys) == STEP_ITEMS

    def _delete(self, commit: Commit, table: Table, places: list[bytes], now: float) -> int:
        keys = [table.prefix + place for place in places]
        deleted = 0
        for key, before in zip(keys, commit.read_all(keys), strict=True):
            if before is None or table.ttl_attribute is None:
                continue
            expiry = expiry_of(before.item, table.ttl_attribute)
            if expiry is not None and expiry < now:
                commit.change(table, key, before, None, flags=SERVICE)
                deleted += 1
        return deleted


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
