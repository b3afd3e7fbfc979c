"""A table with a stream in an engine of this process, on a manual clock, and a reader of its shards."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from botocore.config import Config
from botocore.exceptions import ClientError

import dynamometer
from dynamometer.base.clock import ManualClock
from dynamometer.engine.check import check

HOUR = 3600
Record = dict[str, Any]


class Streaming:
    """One engine, its clients, and the table "tab" once `create` made it."""

    def __init__(self, folder: Path | None = None, **settings: Any) -> None:
        self.clock = ManualClock()
        self._folder = folder
        self._settings = settings
        self.open()

    def open(self) -> None:
        self.db = dynamometer.local(self._folder, clock=self.clock, seed=1, **self._settings)
        once = Config(retries={"total_max_attempts": 1})
        self.client = self.db.client("dynamodb", config=once)
        self.streams = self.db.client("dynamodbstreams", config=once)

    def reopen(self) -> None:
        """Stop in good order and start again on the same folder."""
        self.db.close()
        self.open()

    # The table.

    def create(self, view_type: str | None = "NEW_AND_OLD_IMAGES", **more: Any) -> str:
        """The table; the ARN of its stream, or nothing without a view type."""
        stream = {"StreamSpecification": {"StreamEnabled": True, "StreamViewType": view_type}} if view_type else {}
        defaults: dict[str, Any] = {
            "KeySchema": [{"AttributeName": "p", "KeyType": "HASH"}],
            "AttributeDefinitions": [{"AttributeName": "p", "AttributeType": "S"}],
        }
        if "ProvisionedThroughput" not in more:
            defaults["BillingMode"] = "PAY_PER_REQUEST"
        described = self.client.create_table(TableName="tab", **defaults | stream | more)["TableDescription"]
        self.client.describe_table(TableName="tab")
        return str(described.get("LatestStreamArn", ""))

    def set_stream(self, view_type: str | None) -> str:
        """Enable the stream with a view type, or disable it; its ARN."""
        specification: dict[str, Any] = {"StreamEnabled": view_type is not None}
        if view_type is not None:
            specification["StreamViewType"] = view_type
        answer = self.client.update_table(TableName="tab", StreamSpecification=specification)
        self.client.describe_table(TableName="tab")
        return str(answer["TableDescription"]["LatestStreamArn"])

    def put(self, key: str, **attributes: Any) -> None:
        self.client.put_item(TableName="tab", Item={"p": {"S": key}} | attributes)

    def delete(self, key: str) -> None:
        self.client.delete_item(TableName="tab", Key={"p": {"S": key}})

    def update(self, key: str, expression: str, names: dict[str, str] | None = None, **values: Any) -> None:
        more: dict[str, Any] = {"ExpressionAttributeNames": names} if names else {}
        if values:
            more["ExpressionAttributeValues"] = {f":{name}": value for name, value in values.items()}
        self.client.update_item(TableName="tab", Key={"p": {"S": key}}, UpdateExpression=expression, **more)

    def keys(self) -> list[str]:
        return sorted(item["p"]["S"] for item in self.client.scan(TableName="tab")["Items"])

    # The stream.

    def describe(self, arn: str, **more: Any) -> dict[str, Any]:
        description: dict[str, Any] = self.streams.describe_stream(StreamArn=arn, **more)["StreamDescription"]
        return description

    def shards(self, arn: str) -> list[dict[str, Any]]:
        shards: list[dict[str, Any]] = self.describe(arn)["Shards"]
        return shards

    def iterator(self, arn: str, shard_id: str, kind: str = "TRIM_HORIZON", **more: Any) -> str:
        answer = self.streams.get_shard_iterator(StreamArn=arn, ShardId=shard_id, ShardIteratorType=kind, **more)
        return str(answer["ShardIterator"])

    def get(self, iterator: str, **more: Any) -> dict[str, Any]:
        answer: dict[str, Any] = self.streams.get_records(ShardIterator=iterator, **more)
        return answer

    def read_shard(self, arn: str, shard_id: str, limit: int = 1000) -> list[Record]:
        """All records of a shard that are there now."""
        records: list[Record] = []
        iterator: str | None = self.iterator(arn, shard_id)
        while iterator is not None:
            answer = self.get(iterator, Limit=limit)
            records += answer["Records"]
            iterator = answer.get("NextShardIterator") if answer["Records"] else None
        return records

    def read(self, arn: str, limit: int = 1000) -> list[Record]:
        """All records of a stream that are there now, shard by shard, parents first."""
        seen: set[str] = set()
        records = []
        for shard in self.shards(arn):
            listed = {each["ShardId"] for each in self.shards(arn)}
            assert shard.get("ParentShardId") not in listed - seen, "a parent is listed before its children"
            seen.add(shard["ShardId"])
            records += self.read_shard(arn, shard["ShardId"], limit)
        return records

    def refused(self, call: Callable[..., Any], **body: Any) -> tuple[str, str]:
        """The error's name and message of a request that must fail."""
        with pytest.raises(ClientError) as raised:
            call(**body)
        error = raised.value.response["Error"]
        return error["Code"], error["Message"]

    def assert_consistent(self) -> None:
        assert [str(finding) for finding in check(self.db.engine.store)] == []


def brief(records: list[Record]) -> list[tuple[str, str]]:
    """Event names with the keys, such as ("INSERT", "a")."""
    return [(record["eventName"], record["dynamodb"]["Keys"]["p"]["S"]) for record in records]


def replayed(records: list[Record]) -> dict[str, Any]:
    """The items that a table has after these changes, by key. Every record must fit what was there before it."""
    items: dict[str, Any] = {}
    for record in records:
        change = record["dynamodb"]
        key = repr(sorted(change["Keys"].items()))
        assert items.get(key) == change.get("OldImage"), "a record tells of another item than the one before"
        if record["eventName"] == "REMOVE":
            del items[key]
        else:
            assert (record["eventName"] == "INSERT") == (key not in items)
            items[key] = change["NewImage"]
    return items
