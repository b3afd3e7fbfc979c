"""Queries and scans of the model: pages, filters and charges, given the order in which the entries lie."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise

from .conditions import At, Between, Compare, Condition, Literal
from .paths import Path, project
from .tables import Index, Position, Table, Units, partition_of, position, read_blocks, sort_order, take_page
from .values import Item, Value, item_size


@dataclass(frozen=True)
class SortCondition:
    """What a query asks of the sort key: a sign with one value, BETWEEN with two, or begins_with."""

    sign: str
    values: tuple[Value, ...]

    def holds(self, name: str, item: Item) -> bool:
        first = self.values[0]
        if self.sign == "begins_with":
            prefix = item[name][1]
            return bool(prefix.startswith(first[1]))
        if self.sign == "BETWEEN":
            return Between(At((name,)), Literal(first), Literal(self.values[1])).holds(item)
        return Compare(self.sign, At((name,)), Literal(first)).holds(item)


@dataclass(frozen=True)
class Read:
    """A query or a scan. `paths` is a projection; `whole` asks a local index for attributes it does not hold."""

    table: Table
    index: Index | None
    limit: int | None = None
    filter: Condition | None = None
    paths: list[Path] | None = None
    whole: bool = False
    consistent: bool = False


@dataclass
class Page:
    items: list[Item]
    scanned: int
    last_key: Item | None
    units: Units


def pages(read: Read, order: list[Position]) -> list[Page]:
    """Every page of a read, over entries that lie in this order."""
    rest, found = list(order), []
    while True:
        page, more = _page(read, rest)
        found.append(page)
        rest = rest[page.scanned :]
        if not more:
            return found


def _page(read: Read, order: list[Position]) -> tuple[Page, bool]:
    table, index = read.table, read.index
    known = table.entries(index)
    entries = {place: known[place] for place in order}
    sized = table.items if read.whole else entries
    taken, more = take_page(((entry, sized[place]) for place, entry in entries.items()), read.limit)
    kept = [entry for entry in taken if read.filter is None or read.filter.holds(entry)]
    shown = [table.items[position(table.key_of(entry))] for entry in kept] if read.whole else kept
    if read.paths is not None:
        shown = [project(item, read.paths) for item in shown]
    last = {name: taken[-1][name] for name in key_names(table, index)} if more else None
    return Page(shown, len(taken), last, _units(read, taken, kept)), more


def _units(read: Read, taken: list[Item], kept: list[Item]) -> Units:
    rate = 1.0 if read.consistent else 0.5
    blocks = max(1, math.ceil(sum(map(item_size, taken)) / 4096)) * rate
    if read.index is None:
        return Units(blocks)
    table = read.table
    fetched = kept if read.whole else []
    reached = sum(read_blocks(item_size(table.items[position(table.key_of(entry))])) for entry in fetched)
    return Units(reached * rate, {read.index.name: blocks})


def key_names(table: Table, index: Index | None) -> list[str]:
    """The members of a LastEvaluatedKey."""
    names = [name for name, _ in (index.key if index else ())] + [name for name, _ in table.key]
    return list(dict.fromkeys(names))


def matching(table: Table, index: Index | None, partition: Value, condition: SortCondition | None) -> set[Position]:
    """The entries that a key condition means."""
    key = index.key if index else table.key
    return {
        place
        for place, entry in table.entries(index).items()
        if entry[key[0][0]] == partition and (condition is None or condition.holds(key[1][0], entry))
    }


def assert_order(table: Table, index: Index | None, order: list[Position]) -> None:
    """Any complete order will do in which collections lie together, sorted by their sort keys."""
    key = index.key if index else table.key
    entries = table.entries(index)
    assert len(set(order)) == len(order), "an entry was returned twice"
    assert set(order) == set(entries), "entries are missing, or should not be there"
    partitions = [partition_of(key, entries[place]) for place in order]
    changes = sum(1 for left, right in pairwise(partitions) if left != right)
    assert changes == max(0, len(set(partitions)) - 1), "an item collection is torn apart"
    for one, two in pairwise(order):
        if partition_of(key, entries[one]) == partition_of(key, entries[two]):
            assert sort_order(key, entries[one]) <= sort_order(key, entries[two]), "not in sort key order"
