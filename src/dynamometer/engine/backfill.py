"""Filling a new global secondary index with the items that its table has already, while the table serves.

Writes maintain the index from the moment its record was committed, and count as if it were full: whoever changes an
item takes its old entry off the counters whether or not that entry has been put yet. So the counters need exactly the
entries of the items as they were when the backfill began, and the index needs the entries of the items as they are
now. The backfill walks one range of that first moment, adds each item to the counters, reads what the item is now, and
puts the entry of that. An entry that a write has put meanwhile is put again as the same bytes.

An item whose attribute has another type or is too long for a key is left out, as the service does.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from dynamometer.base.errors import StoreConflict
from dynamometer.engine import keyspace, stored
from dynamometer.engine.codec import Entry, IndexKeyError
from dynamometer.storage.interface import Pair, Store

if TYPE_CHECKING:
    from dynamometer.engine.catalog import Index, Table, World

STEP_ITEMS = 200
"""Items of one step: a few milliseconds."""


class Backfill:
    """The filling of one index, a bounded piece at a time."""

    def __init__(self, store: Store, world: World, table: Table, index: Index) -> None:
        self._store = store
        self._world = world
        self._table = table
        self._index = index
        self._items = store.range(table.prefix, keyspace.successor(table.prefix))
        self._piece: list[Pair] = []
        self.skipped = 0
        """Items that can't be in the index."""

    def step(self) -> bool:
        """Do one piece; whether the index is full, or not wanted any more."""
        if not self._is_wanted():
            return True
        if not self._piece:
            self._piece = list(islice(self._items, STEP_ITEMS))
        is_last = len(self._piece) < STEP_ITEMS
        if self._piece and not self._commit_piece():
            return False
        self._piece = []
        if is_last:
            self._world.catalog.finish_backfill(self._world, self._table, self._index)
        return is_last

    def _is_wanted(self) -> bool:
        if self._world.tables.get(self._table.name) is not self._table or self._table.record.status == "DELETING":
            return False
        return self._index in self._table.maintained

    def _commit_piece(self) -> bool:
        """Put the entries of one piece; False when another transaction got in the way."""
        index, transaction = self._index, self._store.begin()
        try:
            now = transaction.multi_get([key for key, _ in self._piece])
            items = size_bytes = skipped = 0
            for (key, value), current in zip(self._piece, now, strict=True):
                entry, is_skipped = self._entry(key, value)
                skipped += is_skipped
                if entry is not None:
                    items += 1
                    size_bytes += entry.size
                if current != value:
                    entry = None if current is None else self._entry(key, current)[0]
                if entry is not None:
                    transaction.put(entry.key, entry.value)
            if items:
                transaction.add(index.counters_key, (items, size_bytes))
            transaction.commit()
        except StoreConflict:
            transaction.rollback()
            return False
        self.skipped += skipped
        return True

    def _entry(self, key: bytes, value: bytes) -> tuple[Entry | None, bool]:
        try:
            return self._index.codec.entry(stored.decode(value), key, value, stored.size_of(value)), False
        except IndexKeyError:
            return None, True
