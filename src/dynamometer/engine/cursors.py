"""A cursor: how far the changes of one table have been delivered to one Kinesis data stream, and the next delivery.

Deliveries are made one at a time and hold at most one record of each item. So whatever is refused can be sent again
without overtaking a later change of its item, and a process that ends before it has noted a delivery repeats that one
only: every change arrives at least once, and those of an item arrive in order.

A delivery only takes changes that survive a crash. A position is noted, and is durable, before the next one is made.
"""

from __future__ import annotations

import logging
import uuid
from dataclasses import dataclass
from typing import Any

import orjson
import xxhash

from dynamometer.base.limits import MIB
from dynamometer.engine import keyspace, stored
from dynamometer.engine.log import SERVICE, Change, decode, entries
from dynamometer.engine.sinks import NoSuchStream, Outcome, Sink, SinkError, SinkRecord
from dynamometer.model import values
from dynamometer.storage.interface import Store

log = logging.getLogger(__name__)

BATCH_RECORDS_MAX = 500
BATCH_BYTES_MAX = 4 * MIB
"""Of one PutRecords request, with room for the keys."""
RECORD_BYTES_MAX = MIB
"""Larger records are skipped and counted (developer guide: Kinesis metrics)."""
SCANNED_MAX = 5000
BACKOFF_SECONDS = 1.0
BACKOFF_SECONDS_MAX = 60.0
GIVE_UP_SECONDS = 168 * 3600
"""For how long the service tries (developer guide: Kinesis metrics)."""
MILLISECOND = "MILLISECOND"
_SERVICE_IDENTITY = {"type": "Service", "principalId": "dynamodb.amazonaws.com"}


@dataclass(slots=True)
class Cursor:
    """What is kept of one destination from when it was enabled until all of it is delivered."""

    region: str
    table_name: str
    table_number: int
    stream_arn: str
    key_names: list[str]
    start: int
    position: int
    """The sequence number before which everything is delivered."""
    precisions: list[tuple[int, str]]
    """From which sequence number on times have which precision."""
    end: int | None = None
    """Where it was disabled."""
    is_found: bool = False
    """Whether the stream has been seen to exist."""
    skipped: int = 0
    """Records that were too large."""

    @property
    def key(self) -> bytes:
        return keyspace.cursor_key(self.table_number, self.start)

    def precision_at(self, sequence: int) -> str:
        return next(precision for start, precision in reversed(self.precisions) if start <= sequence)


class Feeder:
    """Takes one cursor forward."""

    def __init__(self, store: Store, sink: Sink, cursor: Cursor) -> None:
        self.cursor = cursor
        self.error: str | None = None
        """Why the last try failed."""
        self.is_missing = False
        """There is no such stream, and never was one while this cursor was there."""
        self._store = store
        self._sink = sink
        self._outcome: Outcome | None = None
        self._records: list[SinkRecord] = []
        self._first = cursor.position
        self._next = cursor.position
        self._skipped = 0
        self._due = 0.0
        self._backoff_seconds = BACKOFF_SECONDS
        self._durable_with = 0

    @property
    def oldest(self) -> int:
        """The sequence number of the oldest change that is being delivered, or the place of the next one."""
        return self._first if self._records else self.cursor.position

    def step(self, now: float, safe: int) -> bool:
        """Do one piece; whether there is more to do at once. Changes from `safe` on may not be told of yet."""
        if self._outcome is not None:
            return self._settle(now, self._outcome)
        if now < self._due:
            return False
        cursor = self.cursor
        if not cursor.is_found:
            self._outcome = self._sink.find(cursor.stream_arn)
            return True
        if not self._records:
            if self._store.durable_sequence < self._durable_with:
                return self._store.failure is None
            self._collect(safe)
            if not self._records:
                return self._pass() and self._next < safe
        self._outcome = self._sink.send(cursor.stream_arn, self._records)
        return True

    def _pass(self) -> bool:
        """Nothing of what was looked at is to be delivered; whether that was something."""
        is_moved = self._next > self.cursor.position
        if self._skipped:
            self._note()
        self.cursor.position = self._next
        return is_moved

    def _settle(self, now: float, outcome: Outcome) -> bool:
        """Look what became of the request that is under way."""
        try:
            refused = outcome()
        except NoSuchStream as error:
            self.is_missing = not self.cursor.is_found
            return self._fail(now, str(error))
        except SinkError as error:
            return self._fail(now, str(error))
        if refused is None:
            return True
        self._outcome = None
        if refused:
            self._records = [self._records[number] for number in refused]
            return self._fail(now, f"{len(refused)} records were refused")
        self.error = None
        self._backoff_seconds = BACKOFF_SECONDS
        if self.cursor.is_found:
            self._records = []
        self.cursor.is_found = True
        self._note()
        return True

    def _fail(self, now: float, error: str) -> bool:
        if self.error is None:
            log.warning("delivery to %s failed, it is tried again: %s", self.cursor.stream_arn, error)
        self._outcome = None
        self.error = error
        self._due = now + self._backoff_seconds
        self._backoff_seconds = min(BACKOFF_SECONDS_MAX, self._backoff_seconds * 2)
        return False

    def _note(self) -> None:
        """Keep how far it is."""
        cursor = self.cursor
        cursor.position = self._next
        cursor.skipped += self._skipped
        self._skipped = 0
        transaction = self._store.begin()
        transaction.put(cursor.key, orjson.dumps(cursor))
        self._durable_with = transaction.commit()

    def _collect(self, safe: int) -> None:
        """The records of the next delivery: as many as fit, and of each item one."""
        cursor = self.cursor
        end = safe if cursor.end is None else min(safe, cursor.end)
        places: set[bytes] = set()
        size, position = 0, cursor.position
        changes = entries(self._store, cursor.table_number, position, end)
        for scanned, (sequence, value) in enumerate(changes):
            change = decode(sequence, value)
            if change.place in places or len(places) == BATCH_RECORDS_MAX or scanned == SCANNED_MAX:
                break
            record = record_of(cursor, change)
            if len(record.data) + len(record.partition_key) > RECORD_BYTES_MAX:
                self._skipped += 1
            else:
                size += len(record.data)
                if self._records and size > BATCH_BYTES_MAX:
                    break
                if not self._records:
                    self._first = sequence
                self._records.append(record)
                places.add(change.place)
            position = sequence + 1
        else:
            position = max(position, end)
        self._next = position


def record_of(cursor: Cursor, change: Change) -> SinkRecord:
    """A change as the service writes it to Kinesis: both images, whatever a stream's view type is."""
    whole = change.after or change.before
    assert whole is not None, "a change has an image"
    item = stored.decode(whole)
    keys = {name: item[name] for name in cursor.key_names}
    precision = cursor.precision_at(change.sequence)
    size = values.item_size(keys)
    data: dict[str, Any] = {
        "ApproximateCreationDateTime": change.sequence // (1_000_000 if precision == MILLISECOND else 1000),
        "ApproximateCreationDateTimePrecision": precision,
        "Keys": keys,
    }
    for name, image in (("NewImage", change.after), ("OldImage", change.before)):
        if image is not None:
            data[name] = orjson.Fragment(image[stored.BODY :])
            size += stored.size_of(image)
    data["SizeBytes"] = size
    event_id = xxhash.xxh3_128_intdigest(f"{cursor.stream_arn}/{cursor.key.hex()}/{change.sequence}".encode())
    body = {
        "awsRegion": cursor.region,
        "eventID": str(uuid.UUID(int=event_id, version=4)),
        "eventName": change.event_name,
        # assumed to be as in a stream's record; the documentation shows null for everything else
        "userIdentity": _SERVICE_IDENTITY if change.flags & SERVICE else None,
        "recordFormat": "application/json",
        "tableName": cursor.table_name,
        "dynamodb": data,
        "eventSource": "aws:dynamodb",
    }
    # that the partition key comes from the item's key is known, how is not public
    return SinkRecord(orjson.dumps(body), xxhash.xxh3_128_hexdigest(change.place))
