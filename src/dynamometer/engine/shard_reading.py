"""Shard iterators, and the records that are read with them.

An iterator names a place: stream, shard, and the next sequence number. It is opaque to the reader and good for 15
minutes. A read looks at the shard's rectangle of the change log and makes stream records of what it finds.
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
from dynamometer.engine.log import SERVICE, Change, sequence_at
from dynamometer.engine.streams import Shard, Stream, sequence_text
from dynamometer.model import values

ITERATOR_SECONDS = 15 * 60
RECORDS_MAX = 1000
READ_BYTES_MAX = MIB
SCANNED_MAX = 20_000
"""Changes of other shards that one read passes over at the most."""
INVALID_ITERATOR = "Invalid ShardIterator"
_VERSION = "1"

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
    horizon = engine.streams.horizon()
    oldest = max(shard.start, horizon)
    if "SequenceNumber" in body and "SEQUENCE" not in kind:
        raise ValidationException(f"SequenceNumber must not be specified when ShardIteratorType is {kind}")
    if kind == "TRIM_HORIZON":
        return oldest
    if kind == "LATEST":
        return max(oldest, engine.log.last_sequence + 1)
    if kind == "AT_TIMESTAMP":
        timestamp = body.get("Timestamp")
        if timestamp is None:
            raise ValidationException("Timestamp must be specified when ShardIteratorType is AT_TIMESTAMP")
        if timestamp > engine.clock.now():
            raise ValidationException("Timestamp must not be in the future")
        return max(oldest, sequence_at(timestamp))
    return _at_sequence(shard, horizon, kind, body.get("SequenceNumber"))


def _at_sequence(shard: Shard, horizon: int, kind: str, text: str | None) -> int:
    if text is None:
        raise ValidationException(f"SequenceNumber must be specified when ShardIteratorType is {kind}")
    if not text.isdigit():
        raise ValidationException(f"Invalid SequenceNumber: {text}")
    sequence = int(text) - 10**20
    if sequence < horizon and sequence != shard.start:
        raise TrimmedDataAccessException("The data you are trying to access has been trimmed.")
    if sequence < shard.start or (shard.end is not None and sequence > shard.end):
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
    if position < engine.streams.horizon() and position != shard.start:
        raise TrimmedDataAccessException("The data you are trying to access has been trimmed.")
    limit = body.get("Limit", RECORDS_MAX)
    records: list[Body] = []
    size = 0
    is_at_end = True
    for scanned, change in enumerate(engine.log.read(engine.store, stream.table_number, position, shard.end), 1):
        position = change.sequence + 1
        if shard.low <= change.partition_hash < shard.high:
            record = record_of(stream, change)
            records.append(record)
            size += record["dynamodb"]["SizeBytes"]
        if len(records) == limit or size >= READ_BYTES_MAX or scanned == SCANNED_MAX:
            is_at_end = False
            break
    answer: Body = {"Records": records}
    if is_at_end and shard.end is not None:
        return answer
    if is_at_end:
        position = max(position, engine.log.last_sequence + 1)
    answer["NextShardIterator"] = iterator_of(engine, stream, shard, position)
    return answer


def _place_of(engine: Engine, world: World, text: str) -> tuple[Stream, Shard, int]:
    try:
        arn, version, place = text.split("|")
        shard_id, position, made_at = orjson.loads(urlsafe_b64decode(place))
        if version != _VERSION or type(shard_id) is not str or type(position) is not int:
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
    raise TrimmedDataAccessException("The data you are trying to access has been trimmed.")


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
        "eventName": _event_name(change),
        "eventVersion": "1.1",
        "eventSource": "aws:dynamodb",
        "awsRegion": stream.region,
        "dynamodb": data,
    }
    if change.flags & SERVICE:
        record["userIdentity"] = {"PrincipalId": "dynamodb.amazonaws.com", "Type": "Service"}
    return record


def _event_name(change: Change) -> str:
    if change.before is None:
        return "INSERT"
    return "REMOVE" if change.after is None else "MODIFY"
