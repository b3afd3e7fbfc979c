"""Shard iterators, and the records that are read with them.

An iterator names a place: stream, shard, and the next sequence number, or `TRIM_HORIZON` for the oldest record that
is left when it is used. It is opaque to the reader and good for 15 minutes. A read looks at the shard's rectangle of
the change log and makes stream records of what it finds.
"""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error as Base64Error
from typing import Any

import orjson
import xxhash

from dynamometer.base.errors import (
    ExpiredIteratorException,
    ResourceNotFoundException,
    TrimmedDataAccessException,
    ValidationException,
)
from dynamometer.base.limits import MIB
from dynamometer.engine import stored
from dynamometer.engine.catalog import World
from dynamometer.engine.engine import Engine
from dynamometer.engine.log import SERVICE, Change, decode, entries, partition_hash, sequence_at
from dynamometer.engine.shards import Shard
from dynamometer.engine.streams import Stream, sequence_text
from dynamometer.model import values

ITERATOR_SECONDS = 15 * 60
RECORDS_MAX = 1000
READ_BYTES_MAX = MIB
SCANNED_MAX = 20_000
"""Changes of other shards that one read passes over at the most."""
INVALID_ITERATOR = "Invalid ShardIterator"
TRIM_HORIZON = 0
_TRIMMED = "The data you are trying to access has been trimmed."
_VERSION = "1"
_SEQUENCE_MAX = 1 << 63

Body = dict[str, Any]


def find_shard(engine: Engine, stream: Stream, shard_id: str) -> Shard:
    """The shard of a stream. Raises ResourceNotFoundException."""
    for shard in engine.streams.shards(stream):
        if shard.shard_id == shard_id:
            return shard
    raise ResourceNotFoundException(
        f"Requested resource not found: Shard does not exist: ShardId: {shard_id}, StreamArn: {stream.arn}"
    )


def position_of(engine: Engine, shard: Shard, body: Body) -> int:
    """The sequence number at which a GetShardIterator request wants to begin. Raises the service's errors."""
    kind = body["ShardIteratorType"]
    if "SequenceNumber" in body and "SEQUENCE" not in kind:
        raise ValidationException(f"SequenceNumber must not be specified when ShardIteratorType is {kind}")
    if kind == "TRIM_HORIZON":
        return TRIM_HORIZON
    if kind == "LATEST":
        return shard.end if shard.end is not None else engine.log.following()
    if kind == "AT_TIMESTAMP":
        return _at_timestamp(engine, shard, body.get("Timestamp"))
    return _at_sequence(engine, shard, kind, body.get("SequenceNumber"))


def _at_timestamp(engine: Engine, shard: Shard, timestamp: float | None) -> int:
    if timestamp is None:
        raise ValidationException("Timestamp must be specified when ShardIteratorType is AT_TIMESTAMP")
    if timestamp > engine.clock.now():
        raise ValidationException("Timestamp must not be in the future")
    position = sequence_at(timestamp)
    if position <= max(shard.start, engine.streams.horizon()):
        return TRIM_HORIZON
    return position if shard.end is None else min(position, shard.end)


def _at_sequence(engine: Engine, shard: Shard, kind: str, text: str | None) -> int:
    if text is None:
        raise ValidationException(f"SequenceNumber must be specified when ShardIteratorType is {kind}")
    if not (text.isascii() and text.isdigit()):
        raise ValidationException(f"Invalid SequenceNumber: {text}")
    sequence = int(text) - 10**20
    if sequence == shard.start and kind == "AT_SEQUENCE_NUMBER":
        # the number that a shard begins with always means its oldest record (measured on the service)
        return TRIM_HORIZON
    if sequence < engine.streams.horizon():
        raise TrimmedDataAccessException(_TRIMMED)
    if sequence < shard.start or sequence >= (shard.end or engine.log.following()):
        raise ValidationException(
            f"Invalid SequenceNumber: {text} is outside the sequence number range of shard {shard.shard_id}"
        )
    return sequence + (kind == "AFTER_SEQUENCE_NUMBER")


def iterator_of(engine: Engine, stream: Stream, shard: Shard, position: int) -> str:
    """The iterator that names a place."""
    place = orjson.dumps([shard.shard_id, position, engine.clock.now()])
    return f"{stream.arn}|{_VERSION}|{urlsafe_b64encode(place).decode()}"


def read_records(engine: Engine, world: World, body: Body) -> Body:
    """The answer of GetRecords. Raises ExpiredIteratorException, TrimmedDataAccessException, ValidationException."""
    stream, shard, position = _place_of(engine, world, body["ShardIterator"])
    horizon = engine.streams.horizon()
    if position == TRIM_HORIZON:
        position = max(shard.start, horizon)
    elif position < horizon:
        raise TrimmedDataAccessException(_TRIMMED)
    following = engine.log.following()
    records, position, is_at_end = _read(engine, stream, shard, position, body.get("Limit", RECORDS_MAX))
    answer: Body = {"Records": records}
    if is_at_end:
        if shard.end is not None:
            return answer
        position = following
    answer["NextShardIterator"] = iterator_of(engine, stream, shard, position)
    return answer


def _read(engine: Engine, stream: Stream, shard: Shard, position: int, limit: int) -> tuple[list[Body], int, bool]:
    """Records of a shard, the position after them, and whether no more are left."""
    records: list[Body] = []
    size, low, high = 0, shard.low, shard.high
    changes = entries(engine.store, stream.table_number, position, shard.end)
    for scanned, (sequence, value) in enumerate(changes):
        if len(records) == limit or scanned == SCANNED_MAX:
            return records, position, False
        if low <= partition_hash(value) < high:
            record = record_of(stream, decode(sequence, value))
            size += record["dynamodb"]["SizeBytes"]
            if records and size > READ_BYTES_MAX:
                return records, position, False
            records.append(record)
        position = sequence + 1
    return records, position, True


def _place_of(engine: Engine, world: World, text: str) -> tuple[Stream, Shard, int]:
    try:
        arn, version, place = text.split("|")
        shard_id, position, made_at = orjson.loads(urlsafe_b64decode(place))
        if version != _VERSION or type(shard_id) is not str or type(position) is not int:
            raise ValueError
        if not 0 <= position < _SEQUENCE_MAX:
            raise ValueError
        age_seconds = engine.clock.now() - made_at
    except (ValueError, TypeError, Base64Error):
        raise ValidationException(INVALID_ITERATOR) from None
    stream = engine.streams.find(world, arn)
    if age_seconds > ITERATOR_SECONDS:
        raise ExpiredIteratorException("The provided iterator exceeds the maximum age allowed.")
    for shard in engine.streams.shards(stream):
        if shard.shard_id == shard_id:
            return stream, shard, position
    raise TrimmedDataAccessException(_TRIMMED)


def record_of(stream: Stream, change: Change) -> Body:
    """A change as a stream record, with the images that the stream's view type has."""
    whole = change.after or change.before
    assert whole is not None, "a change has an image"
    item = stored.decode(whole)
    keys = {name: item[name] for name in stream.key_names}
    size = values.item_size(keys)
    data: Body = {
        "ApproximateCreationDateTime": int(change.seconds),
        "Keys": keys,
        "SequenceNumber": sequence_text(change.sequence),
        "StreamViewType": stream.view_type,
    }
    if change.after is not None and stream.view_type in ("NEW_IMAGE", "NEW_AND_OLD_IMAGES"):
        data["NewImage"] = orjson.Fragment(change.after[stored.BODY :])
        size += stored.size_of(change.after)
    if change.before is not None and stream.view_type in ("OLD_IMAGE", "NEW_AND_OLD_IMAGES"):
        data["OldImage"] = orjson.Fragment(change.before[stored.BODY :])
        size += stored.size_of(change.before)
    data["SizeBytes"] = size
    record: Body = {
        "eventID": xxhash.xxh3_128_hexdigest(f"{stream.arn}/{change.sequence}".encode()),
        "eventName": change.event_name,
        "eventVersion": "1.1",
        "eventSource": "aws:dynamodb",
        "awsRegion": stream.region,
        "dynamodb": data,
    }
    if change.flags & SERVICE:
        record["userIdentity"] = {"PrincipalId": "dynamodb.amazonaws.com", "Type": "Service"}
    return record
