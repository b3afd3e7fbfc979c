"""Kinesis streaming destinations: every change of a table, delivered to a Kinesis data stream.

A table's record says which destination it has and in which state. A cursor (`cursors`) is what is left to do: it is
made when a destination is enabled, and stays, past the disabling and the table's deletion, until all changes of that
time are delivered, or could not be for a week. Changes come from the change log, which keeps what a cursor still needs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import orjson

from dynamometer.base.clock import Clock
from dynamometer.engine import keyspace, records
from dynamometer.engine.catalog import Catalog, Table, World
from dynamometer.engine.cursors import GIVE_UP_SECONDS, MILLISECOND, Cursor, Feeder
from dynamometer.engine.log import ChangeLog, entries, sequence_at
from dynamometer.engine.records import Destination
from dynamometer.engine.sinks import Sink
from dynamometer.storage.interface import Store

NOT_FOUND = "User does not have a permission to use kinesis stream"
"""What the service says of a stream that does not exist (measured)."""
GIVEN_UP = "The records could not be delivered for 168 hours"
NO_SINK = "Neither kinesis_folder nor kinesis_endpoint is set: changes are kept for up to 168 hours until one is"


class Destinations:
    """All destinations of a store."""

    def __init__(self, store: Store, clock: Clock, log: ChangeLog, catalog: Catalog, sink: Sink | None) -> None:
        self._store = store
        self._clock = clock
        self._log = log
        self._catalog = catalog
        self._sink = sink
        self._cursors: dict[bytes, Cursor] = {}
        self._feeders: dict[bytes, Feeder] = {}
        self._open_by_table: dict[int, Cursor] = {}
        self._confirmed: set[bytes] = set()
        self._safe = 0
        self._mark = (0, 0)
        self._load()
        log.holders.append(self._needed)
        catalog.tell(self.follow)

    def _load(self) -> None:
        tables = {table.number for table in self._catalog.tables()}
        for _, raw in list(self._store.range(*keyspace.cursor_range())):
            cursor = Cursor(**orjson.loads(raw))
            self._cursors[cursor.key] = cursor
            self._log.pass_by(max(cursor.start, cursor.position - 1, cursor.end or 0))
            if cursor.end is not None:
                continue
            if cursor.table_number in tables:
                self._open_by_table[cursor.table_number] = cursor
            else:
                self._close(cursor)

    # What happens to tables.

    def follow(self, world: World, table: Table) -> None:
        """Open or close a table's cursor as its record says."""
        wanted = next((each for each in table.record.destinations if each.is_on), None)
        if table.record.status == "DELETING":
            wanted = None
        cursor = self._open_by_table.get(table.number)
        if cursor is not None:
            if wanted is not None and wanted.stream_arn == cursor.stream_arn:
                precision = wanted.precision or MILLISECOND
                if precision != cursor.precisions[-1][1]:
                    cursor.precisions.append((self._log.next_sequence(), precision))
                    self._save(cursor)
                return
            self._close(cursor)
        if wanted is not None:
            self._open(world, table, wanted)

    def _open(self, world: World, table: Table, destination: Destination) -> None:
        start = self._log.next_sequence()
        cursor = Cursor(
            region=world.region,
            table_name=table.name,
            table_number=table.number,
            stream_arn=destination.stream_arn,
            key_names=[attribute.name for attribute in table.key.attributes],
            start=start,
            position=start,
            precisions=[(start, destination.precision or MILLISECOND)],
        )
        self._cursors[cursor.key] = cursor
        self._open_by_table[table.number] = cursor
        self._save(cursor)

    def _close(self, cursor: Cursor) -> None:
        self._open_by_table.pop(cursor.table_number, None)
        cursor.end = self._log.next_sequence()
        self._save(cursor)

    def _save(self, cursor: Cursor) -> None:
        transaction = self._store.begin()
        transaction.put(cursor.key, orjson.dumps(cursor))
        transaction.commit()

    def _forget(self, cursor: Cursor) -> None:
        self._cursors.pop(cursor.key, None)
        self._feeders.pop(cursor.key, None)
        self._confirmed.discard(cursor.key)
        if self._open_by_table.get(cursor.table_number) is cursor:
            del self._open_by_table[cursor.table_number]
        transaction = self._store.begin()
        transaction.delete(cursor.key)
        transaction.commit()

    def _needed(self, table: int) -> int | None:
        positions = [cursor.position for cursor in self._cursors.values() if cursor.table_number == table]
        return min(positions) if positions else None

    # Delivery.

    def deliver(self) -> bool:
        """Take every cursor a piece forward; whether there is more to do at once."""
        more = False
        safe = self._safe_end()
        for cursor in self._heads():
            if self._sink is None:
                self._confirm(cursor)
                self._give_up_if_late(cursor, None)
                continue
            feeder = self._feeders.get(cursor.key)
            if feeder is None:
                feeder = self._feeders[cursor.key] = Feeder(self._store, self._sink, cursor)
            more = feeder.step(self._clock.now(), safe) or more
            if feeder.is_missing:
                self._turn_off(cursor, "ENABLE_FAILED", NOT_FOUND)
                continue
            if cursor.is_found or feeder.error is not None:
                # a stream that can't be asked for may exist: its destination can be used, and disabled
                self._confirm(cursor)
            if feeder.error is not None:
                self._give_up_if_late(cursor, feeder)
            elif cursor.end is not None and cursor.position >= cursor.end:
                self._forget(cursor)
                more = True  # the one that waited for it
        return more

    def _heads(self) -> Iterator[Cursor]:
        """The oldest cursor of each table and stream: a later one waits for it, or it would overtake."""
        seen = set()
        for cursor in sorted(self._cursors.values(), key=lambda cursor: cursor.key):
            if (cursor.table_number, cursor.stream_arn) not in seen:
                seen.add((cursor.table_number, cursor.stream_arn))
                yield cursor

    def _safe_end(self) -> int:
        """The sequence number before which all changes survive a crash."""
        if not self._cursors:
            return 0
        following, commit = self._mark
        if self._store.durable_sequence >= commit:
            self._safe = max(self._safe, following)
            self._mark = self._log.following(), self._store.last_sequence
            if self._store.durable_sequence >= self._store.last_sequence:
                self._safe = self._mark[0]
        return self._safe

    def _give_up_if_late(self, cursor: Cursor, feeder: Feeder | None) -> None:
        """Turn a destination off whose oldest change has waited for too long."""
        if feeder is not None:
            oldest = feeder.oldest
        else:
            first = next(iter(entries(self._store, cursor.table_number, cursor.position, cursor.end, limit=1)), None)
            if first is None:
                if cursor.end is not None:
                    self._forget(cursor)
                return
            oldest = first[0]
        if oldest < sequence_at(self._clock.now() - GIVE_UP_SECONDS):
            self._turn_off(cursor, "DISABLED", GIVEN_UP)

    def _turn_off(self, cursor: Cursor, status: str, description: str) -> None:
        """Deliver no more, and say why in the table's record."""

        def change(destination: Destination) -> None:
            destination.status, destination.until = status, None
            destination.description = description

        is_open = cursor.end is None
        self._forget(cursor)
        if is_open:
            self._change(cursor, change)

    def _confirm(self, cursor: Cursor) -> None:
        """The stream exists: the destination becomes active when its time has come."""

        if cursor.key in self._confirmed:
            return
        self._confirmed.add(cursor.key)

        def change(destination: Destination) -> None:
            destination.is_unconfirmed = False

        if cursor.end is None:
            self._change(cursor, change)

    def _change(self, cursor: Cursor, change: Callable[[Destination], None]) -> None:
        for world in self._catalog.worlds():
            table = world.tables.get(cursor.table_name)
            if table is not None and table.number == cursor.table_number:
                record = records.copy(table.record)
                for destination in record.destinations:
                    if destination.stream_arn == cursor.stream_arn:
                        change(destination)
                if record != table.record:
                    self._catalog.save(world, table, record)

    # What an operation asks.

    @property
    def has_sink(self) -> bool:
        return self._sink is not None

    def close(self) -> None:
        """Let go of the sink. What was under way is sent again after the next start."""
        if self._sink is not None:
            self._sink.close()
