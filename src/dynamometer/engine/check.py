"""`dyno check`: does everything in a store agree with everything else?

    items      readable, of the size that is kept with them, under the key that their attributes give
    entries    every item has exactly the entries it should have, every entry has its item
    counters   the numbers and sizes that DescribeTable reports are those of the contents
    sizes      so are the sizes of item collections
    backups    have the items that they count
    changes    the change log is readable and ends in what is there; items with a time to live are found when it is over
    replicas   items have versions, and deleted ones are forgotten in time
    rest       nothing is kept for a table, an index, a backup or a token that does not exist

Reads only. One pass over the items and one over the entries, so a large store takes a while: `progress` is told.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import orjson

from dynamometer.base.errors import StoreCorrupt
from dynamometer.engine import check_backups, check_changes, check_replicas, keyspace, records, stored
from dynamometer.engine.catalog import Index, Table
from dynamometer.engine.codec import KEY_HEAD, UNUSUAL, Entry, IndexKeyError, Item
from dynamometer.engine.commit import PREFIX_LENGTH
from dynamometer.model import values
from dynamometer.storage.interface import View

_PROGRESS_STEP = 10_000


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that does not agree. `where` names table, index and key, never an item's contents."""

    where: str
    problem: str

    def __str__(self) -> str:
        return f"{self.where}: {self.problem}"


class Checker:
    """One check of one store."""

    def __init__(self, store: Any, tables: list[Table], progress: Callable[[str], None] | None = None) -> None:
        self._store = store
        self._view: View = store.snapshot()
        self._tables = tables
        self._progress = progress
        self._backups_kept, self._damaged_backups = check_backups.load(self._view)
        self._done = 0

    def findings(self) -> Iterator[Finding]:
        """Everything that does not agree."""
        for table in self._tables:
            if not table.is_going:
                yield from self._table(table)
        yield from self._backups()
        for where, problem in check_changes.problems(self._view, self._tables, self._count):
            yield Finding(where, problem)
        for where, problem in check_replicas.problems(self._view, self._tables, self._count):
            yield Finding(where, problem)
        yield from self._strays()
        yield from self._tokens()

    def _count(self) -> None:
        self._done += 1
        if self._progress is not None and self._done % _PROGRESS_STEP == 0:
            self._progress(f"{self._done:,} items and entries checked")

    def _table(self, table: Table) -> Iterator[Finding]:
        counts = {index.schema.number: [0, 0] for index in table.maintained}
        items, size_bytes = 0, 0
        collections: dict[bytes, int] = {}
        for key, value in self._view.range(table.prefix, keyspace.successor(table.prefix)):
            self._count()
            where = f"table {table.name}, item {key[KEY_HEAD:].hex()}"
            item = yield from self._item(table, key, value, where)
            if item is None:
                continue
            problem = check_changes.missing_due(self._view, table, key, item)
            if problem is not None:
                yield Finding(where, problem)
            items += 1
            size_bytes += stored.size_of(value)
            grown = stored.size_of(value)
            for index in table.maintained:
                entry = yield from self._entry(index, item, key, value, where)
                if entry is None:
                    continue
                counts[index.schema.number][0] += 1
                counts[index.schema.number][1] += entry.size
                grown += 0 if index.schema.is_global else entry.size
            if table.has_local:
                length = int.from_bytes(key[KEY_HEAD : KEY_HEAD + 2], "big")
                collection = table.sizes_prefix + key[PREFIX_LENGTH : KEY_HEAD + 2 + length]
                collections[collection] = collections.get(collection, 0) + grown
        yield from self._counters(f"table {table.name}", table.counters_key, [items, size_bytes])
        for index in table.maintained:
            if not index.backfilling:
                where = f"table {table.name}, index {index.schema.name}"
                yield from self._entries_of(table, index, where)
                yield from self._counters(where, index.counters_key, counts[index.schema.number])
        yield from self._sizes(table, collections)

    def _item(self, table: Table, key: bytes, value: bytes, where: str) -> Iterator[Finding] | Any:
        try:
            item = stored.decode(value)
            size = values.item_size(item)
        except (StoreCorrupt, *UNUSUAL) as error:
            yield Finding(where, f"the item can't be read: {error}")
            return None
        if size != stored.size_of(value):
            yield Finding(where, f"its size is {size} bytes, but {stored.size_of(value)} are kept with it")
        try:
            expected = table.encode_key(item)
        except UNUSUAL:
            expected = b""
        if expected != key:
            yield Finding(where, "it is kept under a key that is not its own")
        return item

    def _entry(self, index: Index, item: Item, key: bytes, value: bytes, where: str) -> Iterator[Finding] | Any:
        """The entry that the item should have; a finding when the index has another one."""
        try:
            entry: Entry | None = index.codec.entry(item, key, value, stored.size_of(value))
        except IndexKeyError:
            return None
        if entry is None or index.backfilling:
            return None
        found = self._view.get(entry.key)
        if found is None:
            yield Finding(where, f"its entry in index {index.schema.name} is missing")
        elif found != entry.value and stored.decode(found) != entry.content:
            yield Finding(where, f"its entry in index {index.schema.name} holds something else")
        return entry

    def _entries_of(self, table: Table, index: Index, where: str) -> Iterator[Finding]:
        """Entries without an item, or of an item that is somewhere else by now."""
        for key, value in self._view.range(index.prefix, keyspace.successor(index.prefix)):
            self._count()
            try:
                base_key = table.encode_key(stored.decode(value))
            except (StoreCorrupt, *UNUSUAL) as error:
                yield Finding(f"{where}, entry {key[KEY_HEAD:].hex()}", f"it can't be read: {error}")
                continue
            base = self._view.get(base_key)
            if base is None:
                yield Finding(f"{where}, entry {key[KEY_HEAD:].hex()}", "its item does not exist")
                continue
            try:
                entry = index.codec.entry(stored.decode(base), base_key, base, stored.size_of(base))
            except IndexKeyError:
                entry = None
            if entry is None or entry.key != key:
                yield Finding(f"{where}, entry {key[KEY_HEAD:].hex()}", "its item is indexed elsewhere, or not at all")

    def _counters(self, where: str, key: bytes, expected: list[int]) -> Iterator[Finding]:
        kept = self._store.counters(key, 2)
        if list(kept) != expected:
            yield Finding(
                where,
                f"its counters say {kept[0]} items of {kept[1]} bytes, it has {expected[0]} of {expected[1]} bytes",
            )

    def _sizes(self, table: Table, expected: dict[bytes, int]) -> Iterator[Finding]:
        prefix = table.sizes_prefix
        for key, _ in self._view.range(prefix, keyspace.successor(prefix)):
            if key not in expected and self._store.counters(key, 1) != [0]:
                yield Finding(f"table {table.name}", f"a size is kept for collection {key.hex()}, which is empty")
        for key, size in expected.items():
            kept = self._store.counters(key, 1)[0]
            if kept != size:
                yield Finding(
                    f"table {table.name}", f"collection {key.hex()} has {size} bytes, but {kept} are kept for it"
                )

    def _backups(self) -> Iterator[Finding]:
        for key in self._damaged_backups:
            yield Finding(f"backup {key}", "its record can't be read")
        for backup in self._backups_kept:
            for problem in check_backups.problems(self._view, backup, self._count):
                yield Finding(f"backup {backup.arn}", problem)
        for prefix in check_backups.strays(self._view, self._backups_kept):
            yield Finding(f"kept {prefix}", "it belongs to no backup")

    def _strays(self) -> Iterator[Finding]:
        """Data of tables and indexes that are not there: jump from one known table to the next."""
        known = {table.prefix for table in self._tables}
        known |= {index.prefix for table in self._tables for index in table.indexes.values()}
        known |= {backup.prefix for backup in self._backups_kept}
        position, end = b"d", b"e"
        while True:
            pair = next(iter(self._view.range(position, end, limit=1)), None)
            if pair is None:
                return
            prefix = pair[0][:PREFIX_LENGTH]
            if prefix not in known:
                yield Finding(f"data {prefix.hex()}", "it belongs to no table or index")
            position = keyspace.successor(prefix)

    def _tokens(self) -> Iterator[Finding]:
        for key, value in self._view.range(b"i", b"j"):
            try:
                expires = orjson.loads(value)["expires"]
            except UNUSUAL:
                yield Finding(f"token {key.hex()}", "its record can't be read")
                continue
            if self._view.get(keyspace.token_expiry_key(expires, key)) is None:
                yield Finding(f"token {key.hex()}", "nothing would ever clear it away")


def check(store: Any, progress: Callable[[str], None] | None = None) -> Iterator[Finding]:
    """Everything in the store that does not agree. `progress` is given a line of text now and then."""
    tables = []
    for _, raw in store.range(*keyspace.catalog_range()):
        table = Table(records.loads(raw))
        for each in table.record.indexes:
            # an index that is only CREATING is complete from its first item on
            table.indexes[each.name].backfilling = each.backfilling
        tables.append(table)
    return Checker(store, tables, progress).findings()
