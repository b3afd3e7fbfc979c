"""What a decided write does to the store: the item, its index entries, the counters, and what it costs.

A decision hands over the item before and after. `Commit` stages the difference in one storage transaction; nothing is
visible until `finish`. Everything that follows from a write (index entries, counters, item collection sizes, units)
is computed here and nowhere else, so that PutItem, a batch, a transaction and a backfill can't disagree.
"""

from __future__ import annotations

from typing import Any
from zlib import adler32

from dynamometer.base.errors import InternalServerError, ItemCollectionSizeLimitExceededException
from dynamometer.capacity import units
from dynamometer.engine import keyspace, stored, versions
from dynamometer.engine.catalog import Index, Table
from dynamometer.engine.codec import KEY_HEAD, Entry, IndexKeyError, Item
from dynamometer.engine.log import REPLICATED, ChangeLog
from dynamometer.engine.log import encode as encode_change
from dynamometer.engine.vectors.codec import billed_size
from dynamometer.storage.interface import Transaction

EXPIRY_DIGITS_MAX = 18
"""Seconds with more digits never come."""
PREFIX_LENGTH = 7
"""Family, table and index at the head of a data key."""


class Image:
    """One state of an item: before or after a write. What an index would keep of it is worked out when asked for."""

    __slots__ = ("_item", "size", "value")

    def __init__(self, value: bytes, item: Item | None = None, size: int | None = None) -> None:
        self.value = value
        self.size = stored.size_of(value) if size is None else size
        self._item = item

    @property
    def item(self) -> Item:
        if self._item is None:
            self._item = stored.decode(self.value)
        return self._item

    @property
    def json(self) -> bytes:
        return self.value[stored.BODY :]


def _is_same_item(before: Image, after: Image) -> bool:
    """Whether two images have the same content, in whatever order. Most that have not are told without decoding them:
    the low half of an Adler-32 is the sum of all bytes, which no order changes."""
    if len(before.value) != len(after.value) or (adler32(before.value) ^ adler32(after.value)) & 0xFFFF:
        return False
    return before.item == after.item


def entries_of(table: Table, key: bytes, image: Image) -> list[Entry | None]:
    """What every maintained index keeps of an item, in the order of `table.maintained`. Raises IndexKeyError."""
    item, value, size = image.item, image.value, image.size
    return [index.codec.entry(item, key, value, size) for index in table.maintained]


def entry_or_none(index: Index, key: bytes, image: Image) -> Entry | None:
    """The entry of an item at rest. One that can't be indexed (written before the index was made) has none."""
    if image._item is None and not index.codec.may_hold(image.value):
        return None
    try:
        return index.codec.entry(image.item, key, image.value, image.size)
    except IndexKeyError:
        return None


def _entries_of_change(
    table: Table, key: bytes, before: Image | None, after: Image | None, after_entries: list[Entry | None] | None
) -> list[tuple[Index, Entry | None, Entry | None]]:
    """Each index that keeps the item before or after a change, with its entries then."""
    if after is not None and after_entries is None:
        after_entries = entries_of(table, key, after)
    entries = []
    for number, index in enumerate(table.maintained):
        new = after_entries[number] if after_entries is not None else None
        old = None if before is None else entry_or_none(index, key, before)
        if old is not None or new is not None:
            entries.append((index, old, new))
    return entries


def _growth(old: Entry | None, new: Entry | None) -> int:
    """By how many bytes an index's part of an item collection grows."""
    return (new.size if new is not None else 0) - (old.size if old is not None else 0)


def expiry_of(item: Item, attribute: str) -> int | None:
    """The second in which an item expires; None if its attribute says nothing of the kind.

    A fraction counts as its numeric value: the item has expired once the clock is past it.
    """
    value = item.get(attribute)
    if value is None or "N" not in value:
        return None
    seconds = value["N"].partition(".")[0]
    return int(seconds) if seconds[0] != "-" and len(seconds) <= EXPIRY_DIGITS_MAX else None


def _vector_table_units(dimensions: dict[str, int], before: Image | None, after: Image | None) -> int:
    """What a write costs a table whose vectors count four bytes a dimension."""
    sizes = [billed_size(image.item, image.size, dimensions) for image in (before, after) if image is not None]
    return units.write_units(max(sizes, default=0))


class Charge:
    """What one change costs, undoubled: write units of the table and of each index it touches."""

    __slots__ = ("collection_bytes", "global_units", "local_units", "table_units", "vector_bytes")

    def __init__(self, table_units: int) -> None:
        self.table_units = table_units
        self.global_units: dict[str, int] | None = None
        self.local_units: dict[str, int] | None = None
        self.vector_bytes: dict[str, int] | None = None
        self.collection_bytes: int | None = None

    def add_vector(self, index: Index, size_bytes: int) -> None:
        if self.vector_bytes is None:
            self.vector_bytes = {}
        self.vector_bytes[index.schema.name] = size_bytes

    def add_index(self, index: Index, amount: int) -> None:
        if index.schema.is_global:
            if self.global_units is None:
                self.global_units = {}
            self.global_units[index.schema.name] = amount
        else:
            if self.local_units is None:
                self.local_units = {}
            self.local_units[index.schema.name] = amount


class Commit:
    """One storage transaction and what has been staged in it."""

    __slots__ = (
        "_collection_limit_bytes",
        "_collections",
        "_gathers",
        "_log",
        "_store",
        "_tables",
        "transaction",
    )

    def __init__(self, store: Any, log: ChangeLog, collection_limit_bytes: int) -> None:
        self._store = store
        self._log = log
        self.transaction: Transaction = store.begin()
        self._collections: dict[bytes, int] = {}
        self._collection_limit_bytes = collection_limit_bytes
        self._tables: list[Table] = []
        self._gathers = True

    def read(self, key: bytes) -> Image | None:
        """The item now kept at `key`."""
        value = self.transaction.get(key)
        return None if value is None else Image(value)

    def read_all(self, keys: list[bytes]) -> list[Image | None]:
        """The items now kept at the keys, in one read."""
        return [None if value is None else Image(value) for value in self.transaction.multi_get(keys)]

    def checked(self, image: Image | None) -> Charge:
        """What it costs to have checked a condition: the write units of the item."""
        return Charge(units.write_units(image.size if image is not None else 0))

    def change(
        self,
        table: Table,
        key: bytes,
        before: Image | None,
        after: Image | None,
        after_entries: list[Entry | None] | None = None,
        flags: int = 0,
    ) -> Charge:
        """Stage one item's change. `after_entries`: what `entries_of` gave for `after`, if already known.

        `flags` are those of the change log.
        """
        before_size = before.size if before is not None else 0
        after_size = after.size if after is not None else 0
        charge = Charge(units.image_write_units(before_size, after_size))
        if table.vector_dimensions is not None:
            charge.table_units = _vector_table_units(table.vector_dimensions, before, after)
        collection_delta = after_size - before_size
        if before is not None and after is not None and before.value == after.value:
            if table.has_local:
                charge.collection_bytes = self._collection(table, key, 0)
            return charge
        entries = _entries_of_change(table, key, before, after, after_entries) if table.maintained else ()
        if table.has_local:
            # before anything is staged: a batch goes on without a request that is refused here
            grown = sum(_growth(old, new) for index, old, new in entries if not index.schema.is_global)
            charge.collection_bytes = self._collection(table, key, collection_delta + grown)
        for index, old, new in entries:
            self._change_entry(index, old, new, charge)
        if after is not None:
            self.transaction.put(key, after.value)
        elif before is not None:
            self.transaction.delete(key)
        items = (after is not None) - (before is not None)
        if items or collection_delta:
            self.transaction.add(table.counters_key, (items, collection_delta))
        if table.is_followed:
            self._follow(table, key, before, after, flags)
        self._tables.append(table)
        return charge

    def _follow(self, table: Table, key: bytes, before: Image | None, after: Image | None, flags: int) -> None:
        """Stage what a table keeps of its changes: the log's entry, and when the item expires."""
        place = key[PREFIX_LENGTH:]
        if table.ttl_attribute is not None:
            old = None if before is None else expiry_of(before.item, table.ttl_attribute)
            new = None if after is None else expiry_of(after.item, table.ttl_attribute)
            if old != new:
                if old is not None:
                    self.transaction.delete(keyspace.due_key(table.number, old, place))
                if new is not None:
                    self.transaction.put(keyspace.due_key(table.number, new, place), b"")
        if table.is_isolated and not flags & REPLICATED:
            raise InternalServerError("Internal server error")  # assumed: what the service says is not public
        if table.siblings and not flags & REPLICATED:
            self._change_siblings(table, place, before, after)
        if not table.is_logged or (before is None and after is None):
            return
        if before is not None and after is not None and _is_same_item(before, after):
            return  # only the order of the members differs: nothing changed
        version = b""
        if table.is_replicated and not flags & REPLICATED:
            region = table.record.region
            sequence, version = versions.stamp(
                self.transaction, self._log, table.number, region, place, after is None, table.conflict_window
            )
            for sibling in table.siblings:
                versions.keep(self.transaction, sibling.number, place, sequence, version, after is None)
        else:
            sequence = self._log.next_sequence()
        entry = encode_change(
            flags,
            place,
            before.value if before is not None else None,
            after.value if after is not None else None,
            version,
        )
        self.transaction.put(keyspace.log_key(table.number, sequence), entry)

    def _change_siblings(self, table: Table, place: bytes, before: Image | None, after: Image | None) -> None:
        """Stage the same change in every other replica of a strongly consistent global table."""
        for sibling in table.siblings:
            key = sibling.prefix + place
            entries = None
            if after is not None:
                entries = [entry_or_none(index, key, after) for index in sibling.maintained]
            self.change(sibling, key, before, after, entries, REPLICATED)

    def _change_entry(self, index: Index, old: Entry | None, new: Entry | None, charge: Charge) -> None:
        same_key = old is not None and new is not None and old.key == new.key
        if same_key and new is not None and old is not None:
            if old.value == new.value:
                return
            self.transaction.put(new.key, new.value)
            if old.content == new.content:
                # only the order of the members differs: the bytes are renewed, no content changed
                return
        else:
            if old is not None:
                self.transaction.delete(old.key)
            if new is not None:
                self.transaction.put(new.key, new.value)
        old_size = old.size if old is not None else None
        new_size = new.size if new is not None else None
        if index.insights is not None:
            for entry in (new, old) if not same_key else (new,):
                if entry is not None:
                    index.insights.accessed(entry.content)
        if index.vectors is not None:
            self._gathers = False  # the vectors in memory follow what was written
            for entry in (old, new):
                if entry is not None:
                    index.vectors.touch(entry.key)
            charge.add_vector(index, units.vector_write_bytes(old_size, new_size, same_key))
        else:
            charge.add_index(index, units.index_write_units(old_size, new_size, same_key, False))
        items = (new is not None) - (old is not None)
        if items or old_size != new_size:
            self.transaction.add(index.counters_key, (items, (new_size or 0) - (old_size or 0)))

    def _collection(self, table: Table, key: bytes, delta_bytes: int) -> int:
        """The size of the item's collection after the change. Raises when that passes the limit."""
        length = int.from_bytes(key[KEY_HEAD : KEY_HEAD + 2], "big")
        sizes_key = table.sizes_prefix + key[PREFIX_LENGTH : KEY_HEAD + 2 + length]
        pending = self._collections.get(sizes_key, 0)
        size: int = self._store.counters(sizes_key, 1)[0] + pending + delta_bytes
        if delta_bytes > 0 and size > self._collection_limit_bytes:
            # the text of a transaction's reason (service model); a single write's own is not public
            raise ItemCollectionSizeLimitExceededException("Collection size exceeded.")
        if delta_bytes:
            self._collections[sizes_key] = pending + delta_bytes
        return size

    def finish(self) -> int:
        """Make everything visible at once; the sequence number that must be durable before anyone is told."""
        transaction = self.transaction
        for sizes_key, delta_bytes in self._collections.items():
            transaction.add(sizes_key, (delta_bytes,))
        sequence = transaction.commit(self._gathers)
        for table in self._tables:
            table.last_sequence = sequence
        return sequence
