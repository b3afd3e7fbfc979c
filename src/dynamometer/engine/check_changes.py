"""`dyno check` of what is kept of changes: when items expire, and the change log.

due        every item of a table with a time to live is under its second, and every such entry has its item
log        entries are readable, and the newest entry of an item that a stream has followed says what the item is
streams    their records are readable, and those of deliveries to Kinesis
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import orjson
import xxhash

from dynamometer.base.errors import StoreCorrupt
from dynamometer.engine import keyspace, log, stored
from dynamometer.engine.catalog import Table
from dynamometer.engine.codec import UNUSUAL, Item
from dynamometer.engine.commit import PREFIX_LENGTH, expiry_of
from dynamometer.engine.cursors import Cursor
from dynamometer.engine.streams import Stream
from dynamometer.storage.interface import View


def missing_due(view: View, table: Table, key: bytes, item: Item) -> str | None:
    """What is wrong with an item's expiry: nothing would ever delete it."""
    if table.ttl_attribute is None or table.record.ttl is None or table.record.ttl.backfilling:
        return None
    expiry = expiry_of(item, table.ttl_attribute)
    if expiry is None or view.get(keyspace.due_key(table.number, expiry, key[PREFIX_LENGTH:])) is not None:
        return None
    return f"it expires at {expiry}, but nothing would delete it then"


def problems(view: View, tables: list[Table], count: Callable[[], None]) -> Iterator[tuple[str, str]]:
    """Where, and what does not agree."""
    by_number = {table.number: table for table in tables}
    yield from _due(view, by_number, count)
    followed: dict[int, int] = {}
    for _, raw in view.range(*keyspace.stream_range()):
        try:
            stream = Stream(**orjson.loads(raw))
        except UNUSUAL:
            yield "streams", "a stream's record can't be read"
            continue
        if stream.end is None:
            followed[stream.table_number] = stream.start
    for _, raw in view.range(*keyspace.cursor_range()):
        try:
            Cursor(**orjson.loads(raw))
        except UNUSUAL:
            yield "deliveries", "what is kept of a delivery to Kinesis can't be read"
    for number in log.tables_of(view):
        yield from _log(view, number, by_number.get(number), followed.get(number), count)


def _due(view: View, tables: dict[int, Table], count: Callable[[], None]) -> Iterator[tuple[str, str]]:
    head = len(keyspace.due_key(0, 0, b""))
    for key, _ in view.range(*keyspace.due_range()):
        count()
        table = tables.get(keyspace.log_table(key))
        where = f"table {table.name if table is not None else keyspace.log_table(key)}, expiry {key[head:].hex()}"
        if table is None or table.record.ttl is None:
            yield where, "the table has no time to live"
        if table is None or table.ttl_attribute is None or table.is_going:
            continue  # what a time to live that was disabled left is removed at the next start
        value = view.get(table.prefix + key[head:])
        try:
            expiry = None if value is None else expiry_of(stored.decode(value), table.ttl_attribute)
        except (StoreCorrupt, *UNUSUAL):
            continue  # that the item can't be read is found elsewhere
        if expiry is None or key != keyspace.due_key(table.number, expiry, key[head:]):
            yield where, "its item does not exist, or expires at another time"


def _log(
    view: View, number: int, table: Table | None, start: int | None, count: Callable[[], None]
) -> Iterator[tuple[str, str]]:
    """Entries of one table, newest first, so that the first one of an item is what the item must be."""
    seen: set[bytes] = set()
    name = table.name if table is not None else str(number)
    for sequence, value in log.entries(view, number, 0, reverse=True):
        count()
        where = f"table {name}, change {sequence}"
        try:
            change = log.decode(sequence, value)
            images = [None if image is None else stored.decode(image) for image in (change.before, change.after)]
        except (StoreCorrupt, *UNUSUAL) as error:
            yield where, f"it can't be read: {error}"
            continue
        if images == [None, None]:
            yield where, "it has no image"
        if table is None or start is None or sequence < start:
            continue
        digest = xxhash.xxh3_128_digest(change.place)
        if digest not in seen:
            seen.add(digest)
            now = view.get(table.prefix + change.place)
            if now != change.after and (now is None or change.after is None or stored.decode(now) != images[1]):
                yield where, "it is the newest change of its item, but the item is another one"
