"""Tables as dicts of items; index entries are computed from the items whenever somebody asks."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field

from .answers import Refused
from .values import Item, Value, item_size, order

ITEM_BYTES_MAX = 400 * 1024
PAGE_BYTES_MAX = 1024 * 1024
NO_MATCH = "The provided key element does not match the schema"

KeyDefinition = tuple[tuple[str, str], ...]
Position = tuple[tuple[str, object], ...]
"""An item's primary key as something a dict can be keyed by."""


@dataclass(frozen=True)
class Index:
    """A secondary index: the first key attribute is its partition key. `included` counts for INCLUDE only."""

    name: str
    is_global: bool
    key: KeyDefinition
    projection: str
    included: tuple[str, ...] = ()


@dataclass
class Units:
    """What a call is charged, for the table and for each index that was touched."""

    table: float = 0.0
    indexes: dict[str, float] = field(default_factory=dict)

    def add(self, other: Units) -> None:
        self.table += other.table
        for name, units in other.indexes.items():
            self.indexes[name] = self.indexes.get(name, 0.0) + units

    @property
    def total(self) -> float:
        return self.table + sum(self.indexes.values())


@dataclass
class Table:
    name: str
    key: KeyDefinition
    indexes: tuple[Index, ...] = ()
    items: dict[Position, Item] = field(default_factory=dict, repr=False)

    @property
    def has_local_index(self) -> bool:
        return any(not index.is_global for index in self.indexes)

    def key_of(self, item: Item) -> Item:
        return {name: item[name] for name, _ in self.key}

    def find(self, item: Item) -> Item | None:
        """The stored item with the key of the one given."""
        return self.items.get(position(self.key_of(item)))

    def replace(self, key: Item, after: Item | None) -> None:
        """Make `after` the item with that key; None removes it."""
        if after is None:
            self.items.pop(position(key), None)
        else:
            self.items[position(key)] = after

    def stored_size(self, item: Item) -> int:
        """What has to keep to 400 KB: the item together with its entries in local indexes."""
        local = [index for index in self.indexes if not index.is_global]
        return size_of(item) + sum(size_of(self.entry(index, item)) for index in local)

    def entry(self, index: Index | None, item: Item | None) -> Item | None:
        """What an index holds of an item (of the table itself: all of it); None when it holds nothing."""
        if item is None or index is None or any(name not in item for name, _ in index.key):
            return item if index is None else None
        if index.projection == "ALL":
            return item
        wanted = {name for name, _ in self.key + index.key}
        if index.projection == "INCLUDE":
            wanted.update(index.included)
        return {name: value for name, value in item.items() if name in wanted}

    def entries(self, index: Index | None) -> dict[Position, Item]:
        """All entries of an index by the primary key of their item."""
        entries = ((place, self.entry(index, item)) for place, item in self.items.items())
        return {place: entry for place, entry in entries if entry is not None}

    def projects(self, index: Index | None, name: str) -> bool:
        """Whether an index holds an attribute at all."""
        if index is None or index.projection == "ALL":
            return True
        return name in {known for known, _ in self.key + index.key} or name in index.included

    def write_units(self, before: Item | None, after: Item | None, factor: int = 1) -> Units:
        """Table: the larger image, each KB; index: by what its entry does."""
        units = Units(factor * kilobytes(max(size_of(before), size_of(after))))
        for index in self.indexes:
            charge = self._index_units(index, self.entry(index, before), self.entry(index, after))
            if charge:
                units.indexes[index.name] = charge
        return units

    def _index_units(self, index: Index, before: Item | None, after: Item | None) -> float:
        if before == after:
            return 0
        if before is None or after is None:
            return kilobytes(size_of(before) + size_of(after))
        if all(before[name] == after[name] for name, _ in index.key):
            return kilobytes(max(size_of(before), size_of(after)))
        return kilobytes(size_of(before)) + kilobytes(size_of(after))

    def check_item_keys(self, item: Item) -> tuple[list[str], list[str]]:
        """Texts for key attributes that are missing, of a wrong type or empty: (schema problems, empty values)."""
        schema, empty = [], []
        for name, kind in self.key:
            if name not in item:
                schema.append(f"One or more parameter values were invalid: Missing the key {name} in the item")
            elif item[name][0] != kind:
                actual = item[name][0]
                schema.append(
                    "One or more parameter values were invalid: "
                    f"Type mismatch for key {name} expected: {kind} actual: {actual}"
                )
            elif is_empty(item[name]):
                empty.append(empty_key_text(name, kind))
        for index in self.indexes:
            for name, kind in index.key:
                if name not in item or name in dict(self.key):
                    continue
                if item[name][0] == kind and is_empty(item[name]):
                    empty.append(
                        "One or more parameter values are not valid. A value specified for a secondary index key is "
                        "not supported. The AttributeValue for a key attribute cannot contain an empty "
                        f"{'string' if kind == 'S' else 'binary'} value. IndexName: {index.name}, IndexKey: {name}"
                    )
        return schema + self.index_type_faults(item), empty

    def index_type_faults(self, values: Item) -> list[str]:
        """Texts for attributes that an index can't have as its key."""
        return [
            f"One or more parameter values were invalid: Type mismatch for Index Key {name} "
            f"Expected: {kind} Actual: {values[name][0]} IndexName: {index.name}"
            for index in self.indexes
            for name, kind in index.key
            if name not in dict(self.key) and name in values and values[name][0] != kind
        ]

    def key_faults(self, key: Item) -> list[str]:
        """What is wrong with a key that was given for a lookup."""
        if set(key) != {name for name, _ in self.key} or any(key[name][0] != kind for name, kind in self.key):
            return [NO_MATCH]
        return [empty_key_text(name, kind) for name, kind in self.key if is_empty(key[name])]

    def check_key(self, key: Item) -> None:
        """Refuse a wrong key."""
        texts = self.key_faults(key)
        if texts:
            raise Refused(*texts)

    def check_update(self, after: Item) -> None:
        """The result of an update: index keys of the right type and not empty, and the size."""
        texts = []
        for name, kind in (pair for index in self.indexes for pair in index.key):
            if name in after and after[name][0] != kind:
                texts.append("The update expression attempted to update the secondary index key to unsupported type")
            elif name in after and is_empty(after[name]):
                texts.append(
                    "One or more parameter values are not valid. The update expression attempted to update a secondary "
                    "index key to a value that is not supported. The AttributeValue for a key attribute cannot contain "
                    f"an empty {'string' if kind == 'S' else 'binary'} value."
                )
        if self.stored_size(after) > ITEM_BYTES_MAX:
            texts.append("Item size to update has exceeded the maximum allowed size")
        if texts:
            raise Refused(*texts)


def position(key: Item) -> Position:
    return tuple(sorted(key.items()))


def size_of(item: Item | None) -> int:
    return 0 if item is None else item_size(item)


def kilobytes(size: int) -> int:
    """Write units: a started kilobyte each, and never none."""
    return max(1, math.ceil(size / 1024))


def read_blocks(size: int) -> int:
    """Read units at the strong rate: four started kilobytes each, and never none."""
    return max(1, math.ceil(size / 4096))


def is_empty(value: Value) -> bool:
    return value[0] in ("S", "B") and not value[1]


def empty_key_text(name: str, kind: str) -> str:
    return (
        "One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an empty "
        f"{'string' if kind == 'S' else 'binary'} value. Key: {name}"
    )


def sort_order(index_key: KeyDefinition, item: Item) -> tuple[object, ...]:
    """What the entries of one partition are sorted by."""
    return tuple(order(item[name]) for name, _ in index_key[1:])


def partition_of(index_key: KeyDefinition, item: Item) -> tuple[str, object]:
    kind, raw = item[index_key[0][0]]
    return kind, raw


def take_page(entries: Iterable[tuple[Item, Item]], limit: int | None) -> tuple[list[Item], bool]:
    """The entries one call evaluates, and whether it says that there may be more.

    Each comes with the item whose size counts: the one that is returned.
    """
    page: list[Item] = []
    size = 0
    for entry, counted in entries:
        page.append(entry)
        size += item_size(counted)
        if len(page) == limit or size >= PAGE_BYTES_MAX:
            return page, True
    return page, False
