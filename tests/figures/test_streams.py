"""D30, D31, S08: expiry, the order and the life of stream records, and what a consumer has to make of them."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
from botocore.exceptions import ClientError

from dynamometer import Local
from dynamometer.base.clock import ManualClock
from tests.figures.tables import make_table

HOUR = 3600
LAG_SECONDS = 120
STREAM = {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"}


@pytest.fixture
def sessions(dynamometer_clock: ManualClock, dynamodb_client: Any, dynamodb_resource: Any) -> Any:
    """Sessions that expire, with a stream."""
    table = dynamodb_resource.Table(make_table(dynamodb_client, "Sessions", sk=None))
    dynamodb_client.update_table(TableName=table.name, StreamSpecification=STREAM)
    dynamodb_client.update_time_to_live(
        TableName=table.name, TimeToLiveSpecification={"Enabled": True, "AttributeName": "expiresAt"}
    )
    return table


def shard_ids(db: Local, table: Any) -> list[str]:
    description = db.client("dynamodbstreams").describe_stream(StreamArn=arn_of(table))["StreamDescription"]
    return [shard["ShardId"] for shard in description["Shards"]]


def arn_of(table: Any) -> str:
    table.reload()
    return str(table.latest_stream_arn)


def read(db: Local, table: Any, after: dict[str, str] | None = None, limit: int = 1000) -> list[dict[str, Any]]:
    """The records of all shards, each from behind the sequence number that `after` has for it, if any."""
    streams = db.client("dynamodbstreams")
    records = []
    for shard_id in shard_ids(db, table):
        start: Any = {"ShardIteratorType": "TRIM_HORIZON"}
        if after and shard_id in after:
            start = {"ShardIteratorType": "AFTER_SEQUENCE_NUMBER", "SequenceNumber": after[shard_id]}
        answer = streams.get_shard_iterator(StreamArn=arn_of(table), ShardId=shard_id, **start)
        iterator = answer["ShardIterator"]
        while iterator:
            answer = streams.get_records(ShardIterator=iterator, Limit=limit)
            records += [record | {"shard": shard_id} for record in answer["Records"]]
            iterator = answer.get("NextShardIterator") if answer["Records"] else None
    return records


def names(records: list[dict[str, Any]]) -> list[tuple[str, str]]:
    return [(record["eventName"], record["dynamodb"]["Keys"]["PK"]["S"]) for record in records]


# --- D30 ---


def test_d30_an_item_outlives_its_expiry_and_goes_free_of_charge(
    dynamometer: Local, dynamometer_clock: ManualClock, sessions: Any
) -> None:
    now = int(dynamometer_clock.now())
    sessions.put_item(Item={"PK": "SESSION#1", "expiresAt": now + 60})
    sessions.put_item(Item={"PK": "SESSION#2", "expiresAt": "in an hour"})
    sessions.put_item(Item={"PK": "SESSION#3"})
    dynamometer_clock.advance(61)
    dynamometer.catch_up()
    seen = sessions.get_item(Key={"PK": "SESSION#1"}, ReturnConsumedCapacity="TOTAL")
    assert seen["Item"]["expiresAt"] == now + 60, "expired, and still there: readers have to look at the time"
    dynamometer_clock.advance(LAG_SECONDS)
    dynamometer.catch_up()
    assert "Item" not in sessions.get_item(Key={"PK": "SESSION#1"})
    dynamometer_clock.advance(10 * 24 * HOUR)
    dynamometer.catch_up()
    assert sessions.scan(Select="COUNT")["Count"] == 2


def test_d30_the_stream_tells_a_deletion_of_the_service_from_one_of_a_client(
    dynamometer: Local, dynamometer_clock: ManualClock, sessions: Any
) -> None:
    for number in (1, 2):
        sessions.put_item(Item={"PK": f"SESSION#{number}", "expiresAt": int(dynamometer_clock.now())})
    sessions.delete_item(Key={"PK": "SESSION#2"})
    dynamometer_clock.advance(LAG_SECONDS + 1)
    dynamometer.catch_up()
    removals = [record for record in read(dynamometer, sessions) if record["eventName"] == "REMOVE"]
    by_service = {
        record["dynamodb"]["Keys"]["PK"]["S"]: record.get("userIdentity", {}).get("PrincipalId") for record in removals
    }
    assert by_service == {"SESSION#1": "dynamodb.amazonaws.com", "SESSION#2": None}


# --- D31 ---


def test_d31_records_of_an_item_are_in_order_and_kept_for_a_day(
    dynamometer: Local, dynamometer_clock: ManualClock, sessions: Any
) -> None:
    for version in range(1, 11):
        for number in range(5):
            sessions.put_item(Item={"PK": f"SESSION#{number}", "version": version})
    versions: dict[str, list[int]] = {}
    for record in read(dynamometer, sessions, limit=7):
        image = record["dynamodb"]["NewImage"]
        versions.setdefault(image["PK"]["S"], []).append(int(image["version"]["N"]))
    assert versions == {f"SESSION#{number}": list(range(1, 11)) for number in range(5)}
    dynamometer_clock.advance(24 * HOUR - 1)
    assert len(read(dynamometer, sessions)) == 50
    first = min(record["dynamodb"]["SequenceNumber"] for record in read(dynamometer, sessions))
    shard_id = next(r["shard"] for r in read(dynamometer, sessions) if r["dynamodb"]["SequenceNumber"] == first)
    dynamometer_clock.advance(2)
    assert read(dynamometer, sessions) == []
    with pytest.raises(ClientError, match=r"TrimmedDataAccessException|ResourceNotFoundException"):
        dynamometer.client("dynamodbstreams").get_shard_iterator(
            StreamArn=arn_of(sessions),
            ShardId=shard_id,
            ShardIteratorType="AT_SEQUENCE_NUMBER",
            SequenceNumber=first,
        )


# --- S08 ---


def test_s08_a_consumer_is_told_of_each_kind_of_change(dynamometer: Local, sessions: Any) -> None:
    sessions.put_item(Item={"PK": "SESSION#1", "state": "OPEN"})
    sessions.put_item(Item={"PK": "SESSION#1", "state": "CLOSED"})
    sessions.put_item(Item={"PK": "SESSION#1", "state": "CLOSED"})
    sessions.delete_item(Key={"PK": "SESSION#1"})
    records = read(dynamometer, sessions)
    assert [event for event, _ in names(records)] == ["INSERT", "MODIFY", "REMOVE"]
    assert records[1]["dynamodb"]["OldImage"]["state"] == {"S": "OPEN"}
    assert records[1]["dynamodb"]["NewImage"]["state"] == {"S": "CLOSED"}


def test_s08_a_consumer_that_writes_to_its_own_table_hears_of_itself(dynamometer: Local, sessions: Any) -> None:
    """So it has to know its own writes; a write that changes nothing ends the circle."""
    sessions.put_item(Item={"PK": "SESSION#1", "state": "OPEN"})
    heard = []
    checkpoints: dict[str, str] = {}
    for _ in range(5):
        for record in read(dynamometer, sessions, checkpoints):
            heard.append(record["eventName"])
            checkpoints[record["shard"]] = record["dynamodb"]["SequenceNumber"]
            sessions.update_item(
                Key={"PK": "SESSION#1"},
                UpdateExpression="SET audited = :yes",
                ExpressionAttributeValues={":yes": True},
            )
    assert heard == ["INSERT", "MODIFY"]


def test_s08_nothing_is_lost_and_nothing_applied_twice(
    dynamometer: Local, dynamodb_client: Any, dynamodb_resource: Any, sessions: Any
) -> None:
    """A poison record is put aside after three tries; a batch that failed comes again; the ledger applies each once."""
    ledger = dynamodb_resource.Table(make_table(dynamodb_client, "Ledger", sk=None))
    for number in range(30):
        sessions.put_item(Item={"PK": f"SESSION#{number}"})
    checkpoints: dict[str, str] = {}
    tries: dict[str, int] = {}
    set_aside = []
    for _ in range(20):
        for shard_id in shard_ids(dynamometer, sessions):
            batch = [r for r in read(dynamometer, sessions, checkpoints) if r["shard"] == shard_id][:10]
            for record in batch:
                key, event = record["dynamodb"]["Keys"]["PK"]["S"], record["eventID"]
                tries[event] = tries.get(event, 0) + 1
                if key == "SESSION#7" and tries[event] < 3:
                    break  # the rest of the batch is read again
                if key == "SESSION#7":
                    set_aside.append(key)
                else:
                    apply_once(ledger, event)
                if tries[event] > 1 or number_of(key) % 4:
                    checkpoints[shard_id] = record["dynamodb"]["SequenceNumber"]
                else:
                    break  # applied, but the process ends before its checkpoint: it comes again
    assert set_aside == ["SESSION#7"]
    counts = {item["PK"]: int(item["applied"]) for item in ledger.scan()["Items"]}
    assert len(counts) == 29 and set(counts.values()) == {1}
    assert read(dynamometer, sessions, checkpoints) == []


def number_of(key: str) -> int:
    return int(key.partition("#")[2])


def apply_once(ledger: Any, event_id: str) -> None:
    with suppress(ledger.meta.client.exceptions.ConditionalCheckFailedException):
        ledger.update_item(
            Key={"PK": event_id},
            UpdateExpression="ADD applied :one",
            ConditionExpression="attribute_not_exists(PK)",
            ExpressionAttributeValues={":one": 1},
        )
