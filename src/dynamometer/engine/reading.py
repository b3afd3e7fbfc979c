"""Query and Scan below their parameters: one range of one index, read a page at a time.

A page ends at the item that fills 1 MB or the Limit, counted before the filter; its LastEvaluatedKey is that item's
key, even when nothing follows (the service does not look ahead). Without a filter or a projection the page's items
are spliced from the bytes at rest.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import orjson

from dynamometer.base import limits
from dynamometer.base.errors import ValidationException
from dynamometer.capacity import units
from dynamometer.engine import stored
from dynamometer.engine.catalog import Index, Table
from dynamometer.engine.codec import KEY_HEAD, PARTITION_TOO_LONG, SORT_TOO_LONG, Item, empty_key
from dynamometer.engine.keyspace import successor
from dynamometer.engine.requests import Body, read_capacity
from dynamometer.expressions import Bound, match_key_schema
from dynamometer.model import keys
from dynamometer.model.schema import KeySchema
from dynamometer.storage.interface import Pair, View

_FETCH_CHUNK = 64


@dataclass(slots=True)
class PageRequest:
    """What to read and what to make of it. `limit` 0: none. `whole_items`: fetch what a local index lacks."""

    table: Table
    index: Index | None
    start: bytes
    end: bytes
    reverse: bool
    limit: int
    consistent: bool
    filter: Any
    values: dict[str, Any]
    projection: Any
    count_only: bool
    whole_items: bool
    partitions: int = 0
    """How many partitions a Scan's table or index has; 0 for a Query, which searches one."""


@dataclass(slots=True)
class Page:
    """What was read: items as JSON, how many passed the filter and were read, and what that costs.

    `last`: the key and value that end the page, when it ended before its range did.
    """

    items: list[bytes]
    count: int
    scanned: int
    index_units: float
    base_units: float
    last: Pair | None


def read_page(view: View, request: PageRequest) -> Page:
    """One page from `request.start` on."""
    page = _read_page(view, request)
    if request.partitions:
        searched = _partitions_searched(request, page)
        page.index_units = max(page.index_units, units.read_units(0, request.consistent, searched))
    return page


def _partitions_searched(request: PageRequest, page: Page) -> int:
    """Over how many partitions a Scan's page went: equal parts of the hash space, empty ones included."""
    start = _hash_at(request.start)
    if page.last is None:
        end = _hash_at(request.end) - 1 if len(request.end) >= KEY_HEAD else (1 << 64) - 1
    else:
        end = _hash_at(page.last[0])
    first, last = (start * request.partitions) >> 64, (end * request.partitions) >> 64
    return last - first + 1


def _hash_at(key: bytes) -> int:
    return int.from_bytes(key[KEY_HEAD - 8 : KEY_HEAD].ljust(8, b"\x00"), "big")


def _read_page(view: View, request: PageRequest) -> Page:
    if request.whole_items:
        return _read_fetching(view, request)
    pairs = view.range(request.start, request.end, request.reverse, request.limit)
    if request.filter is None and request.projection is None:
        return _read_spliced(pairs, request)
    return _read_decoded(pairs, request)


def _read_spliced(pairs: Iterator[Pair], request: PageRequest) -> Page:
    limit, page_bytes, body = request.limit, limits.PAGE_BYTES, stored.BODY
    items: list[bytes] = []
    append = items.append
    from_bytes = int.from_bytes
    size, scanned = 0, 0
    last = None
    for key, value in pairs:
        size += from_bytes(value[1:body], "big")
        append(value[body:])
        scanned += 1
        if scanned == limit or size >= page_bytes:
            last = key, value
            break
    return Page(items, scanned, scanned, units.read_units(size, request.consistent), 0.0, last)


def _read_decoded(pairs: Iterator[Pair], request: PageRequest) -> Page:
    items: list[bytes] = []
    size, scanned, count = 0, 0, 0
    last = None
    for key, value in pairs:
        size += stored.size_of(value)
        scanned += 1
        count += _take(value, request, items)
        if scanned == request.limit or size >= limits.PAGE_BYTES:
            last = key, value
            break
    return Page(items, count, scanned, units.read_units(size, request.consistent), 0.0, last)


def _take(value: bytes, request: PageRequest, items: list[bytes]) -> bool:
    """Add an item to the page unless the filter leaves it out."""
    item = stored.decode(value)
    if request.filter is not None and not request.filter.test(item, request.values):
        return False
    if request.count_only:
        return True
    if request.projection is not None:
        items.append(orjson.dumps(request.projection.project(item)))
    else:
        items.append(value[stored.BODY :])
    return True


def _read_fetching(view: View, request: PageRequest) -> Page:
    """A local index that lacks wanted attributes: each entry's item is fetched from the table, and charged too."""
    pairs = view.range(request.start, request.end, request.reverse, request.limit)
    items: list[bytes] = []
    item_sizes: list[int] = []
    entry_size, page_size, scanned, count = 0, 0, 0, 0
    last = None
    for (key, entry), whole in _with_items(view, request.table, pairs):
        entry_size += stored.size_of(entry)
        item_sizes.append(stored.size_of(whole))
        page_size += item_sizes[-1]
        scanned += 1
        count += _take(whole, request, items)
        if scanned == request.limit or page_size >= limits.PAGE_BYTES:
            last = key, whole
            break
    index_units, base_units = units.reach_back_units(entry_size, item_sizes, request.consistent)
    return Page(items, count, scanned, index_units, base_units, last)


def _with_items(view: View, table: Table, pairs: Iterator[Pair]) -> Iterator[tuple[Pair, bytes]]:
    """Entries with the items they point at, fetched a chunk at a time."""
    chunk: list[Pair] = []
    for pair in pairs:
        chunk.append(pair)
        if len(chunk) == _FETCH_CHUNK:
            yield from _fetch(view, table, chunk)
            chunk = []
    yield from _fetch(view, table, chunk)


def _fetch(view: View, table: Table, entries: list[Pair]) -> Iterator[tuple[Pair, bytes]]:
    base_keys = [table.encode_key(stored.decode(value)) for _, value in entries]
    for entry, whole in zip(entries, view.multi_get(base_keys), strict=True):
        if whole is not None:
            yield entry, whole


def page_answer(view: View, request: PageRequest, body: Body) -> tuple[Body, int]:
    """The answer with one page in it, and what has to be durable before it may go out."""
    page = read_page(view, request)
    answer: Body = {"Count": page.count, "ScannedCount": page.scanned}
    if not request.count_only:
        answer["Items"] = orjson.Fragment(b"[" + b",".join(page.items) + b"]")
    if page.last is not None:
        answer["LastEvaluatedKey"] = last_evaluated_key(request.table, request.index, stored.decode(page.last[1]))
    capacity = read_capacity(body, page.index_units, request.index, page.base_units)
    if capacity is not None:
        answer["ConsumedCapacity"] = capacity
    return answer, request.table.last_sequence


def last_evaluated_key(table: Table, index: Index | None, item: Item) -> Item:
    """The key attributes that a following page starts behind."""
    names = table.key.names if index is None else (*index.schema.key.names, *table.key.names)
    return {name: item[name] for name in names}


def key_range(prefix: bytes, schema: KeySchema, bound: Bound, legacy: bool = False) -> tuple[list[Any], bytes, bytes]:
    """What a key condition selects of the index that has `prefix`: the partition key's payloads, start and end.

    Raises ValidationException: the condition doesn't match the schema, a value is empty or too long.
    """
    assert bound.key_condition is not None
    partition, leading, last = match_key_schema(bound.key_condition.resolve(bound.values), schema, legacy)
    types = [attribute.type for attribute in schema.partition]
    payloads: list[Any] = [value[key_type] for value, key_type in zip(partition, types, strict=True)]
    sort_types = [attribute.type for attribute in schema.sort]
    sort_payloads: list[Any] = [value[key_type] for value, key_type in zip(leading, sort_types, strict=False)]
    operands: list[Any] = [] if last is None else [operand[last[1]] for operand in last[2]]
    given = payloads + sort_payloads + operands
    if "" in given:
        # no key is empty, so asking for one is refused too (measured; for an index assumed)
        raise empty_key(schema.attributes[min(given.index(""), len(payloads) + len(sort_payloads))])
    prefix = collection_prefix(prefix, types, payloads)
    try:
        if sort_payloads:
            prefix += keys.sort_key_bytes(sort_types[: len(sort_payloads)], sort_payloads)
        start, end = (prefix, successor(prefix)) if last is None else sort_bounds(prefix, last[0], last[1], operands)
    except keys.KeyTooLong:
        raise ValidationException(SORT_TOO_LONG) from None
    return payloads, start, end


def collection_prefix(prefix: bytes, types: list[str], payloads: list[Any]) -> bytes:
    """What every entry of one item collection begins with. Raises ValidationException for a key beyond the limit."""
    raws = [keys.ENCODERS[key_type](payload) for key_type, payload in zip(types, payloads, strict=True)]
    if sum(map(len, raws)) > limits.PARTITION_KEY_BYTES_MAX:
        raise ValidationException(PARTITION_TOO_LONG)
    return prefix + keys.partition_bytes(raws)


def sort_bounds(prefix: bytes, operator: str, key_type: str, payloads: list[Any]) -> tuple[bytes, bytes]:
    """The range of the sort keys below `prefix` that meet one condition. Raises keys.KeyTooLong."""
    if operator == "begins_with":
        low = prefix + keys.open_ended(keys.ENCODERS[key_type](payloads[0]))
        return low, successor(low)
    at = prefix + keys.sort_bytes(key_type, payloads[0])
    if operator == "=":
        return at, successor(at)
    if operator == "<":
        return prefix, at
    if operator == "<=":
        return prefix, successor(at)
    if operator == ">":
        return successor(at), successor(prefix)
    if operator == ">=":
        return at, successor(prefix)
    return at, successor(prefix + keys.sort_bytes(key_type, payloads[1]))


def segment_bounds(prefix: bytes, segment: int, total_segments: int) -> tuple[bytes, bytes]:
    """The range of hashes that one segment of a parallel scan reads."""
    low = (segment << 64) // total_segments
    high = ((segment + 1) << 64) // total_segments
    start = prefix + low.to_bytes(8, "big")
    return start, successor(prefix) if segment + 1 == total_segments else prefix + high.to_bytes(8, "big")


def collection_length(key: bytes) -> int:
    """How long the beginning of a data key is that names its item collection."""
    return KEY_HEAD + 2 + int.from_bytes(key[KEY_HEAD : KEY_HEAD + 2], "big")
