"""`dyno check` of global tables: versions, graves, positions and lost updates.

versions    belong to a replica, and one without an item has its grave
graves      have a version
positions   are a replica's, for regions that its global table has
conflicts   can be read
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import orjson

from dynamometer.engine import keyspace, versions
from dynamometer.engine.catalog import Table
from dynamometer.engine.codec import UNUSUAL
from dynamometer.engine.replication import conflicts, positions
from dynamometer.storage.interface import View

_HEAD = len(keyspace.version_prefix(0))
_REGION = len(keyspace.position_key(0, positions.SENT, ""))


def problems(view: View, tables: list[Table], count: Callable[[], None]) -> Iterator[tuple[str, str]]:
    """Where, and what does not agree. What a table has left that is no replica any more goes at the next start."""
    former = {table.number for table in tables if table.record.replication is None or table.is_going}
    replicas = {table.number: table for table in tables if table.number not in former}
    yield from _versions(view, replicas, former, count)
    yield from _graves(view, replicas, former)
    yield from _positions(view, replicas, former)
    try:
        for _ in conflicts.read(view):
            count()
    except UNUSUAL:
        yield "conflicts", "what is kept of a lost update can't be read"
    for key, value in view.range(*keyspace.farewell_range()):
        try:
            orjson.loads(value)
        except UNUSUAL:
            yield f"farewell {key.decode(errors='replace')}", "it can't be read"


def _versions(
    view: View, replicas: dict[int, Table], former: set[int], count: Callable[[], None]
) -> Iterator[tuple[str, str]]:
    for key, value in view.range(*keyspace.version_range()):
        count()
        number, place = keyspace.log_table(key), key[_HEAD:]
        table = replicas.get(number)
        where = f"table {table.name if table is not None else number}, version {place.hex()}"
        if number in former:
            continue
        if table is None:
            yield where, "it belongs to no replica"
            continue
        try:
            version = versions.decode(value)
        except UNUSUAL:
            yield where, "it can't be read"
            continue
        if version.seen.get(version.region) != version.sequence:
            yield where, "it has not seen its own write"
        grave = keyspace.grave_key(number, version.sequence, place)
        if view.get(table.prefix + place) is None and view.get(grave) is None:
            yield where, "its item is deleted, but nothing would ever clear it away"


def _graves(view: View, replicas: dict[int, Table], former: set[int]) -> Iterator[tuple[str, str]]:
    for key, _ in view.range(*keyspace.grave_range()):
        number = keyspace.log_table(key)
        _, place = keyspace.grave_parts(key)
        if number in former:
            continue
        if number not in replicas:
            yield f"table {number}, grave {place.hex()}", "it belongs to no replica"
        elif view.get(keyspace.version_prefix(number) + place) is None:
            yield f"table {replicas[number].name}, grave {place.hex()}", "it has no version"


def _positions(view: View, replicas: dict[int, Table], former: set[int]) -> Iterator[tuple[str, str]]:
    for key, value in view.range(*keyspace.position_range()):
        number, region = keyspace.log_table(key), key[_REGION:].decode(errors="replace")
        table = replicas.get(number)
        where = f"table {table.name if table is not None else number}, position of {region}"
        if number in former:
            continue
        if table is None or table.record.replication is None or table.record.replication.member(region) is None:
            yield where, "the region has no replica of the table"
        try:
            orjson.loads(value)
        except UNUSUAL:
            yield where, "it can't be read"
