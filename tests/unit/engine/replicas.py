"""A global table in an engine of this process, on a manual clock: one client for each region."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError

import dynamometer
from dynamometer.base.clock import ManualClock
from dynamometer.engine.check import check

US, EU, AP = "us-east-1", "eu-west-1", "ap-northeast-1"
HOUR = 3600
Item = dict[str, Any]


class Replicas:
    """One engine, its clients by region, and the table "tab" once `create` made it in us-east-1."""

    def __init__(self, folder: Path | None = None, **settings: Any) -> None:
        self.clock = ManualClock()
        self._folder = folder
        self._settings = settings
        self.open()

    def open(self) -> None:
        self.db = dynamometer.local(self._folder, clock=self.clock, seed=1, **self._settings)
        self.at = {region: self.db.client("dynamodb", region_name=region) for region in (US, EU, AP)}

    def reopen(self) -> None:
        """Stop in good order and start again on the same folder."""
        self.db.close()
        self.open()

    # The table.

    def create(self, *regions: str, **more: Any) -> None:
        """The table in us-east-1, and replicas of it."""
        self.create_in(US, **more)
        for region in regions:
            self.add(region)

    def create_in(self, region: str, **more: Any) -> None:
        defaults: dict[str, Any] = {
            "KeySchema": [{"AttributeName": "p", "KeyType": "HASH"}],
            "AttributeDefinitions": [{"AttributeName": "p", "AttributeType": "S"}],
        }
        if "ProvisionedThroughput" not in more:
            defaults["BillingMode"] = "PAY_PER_REQUEST"
        self.at[region].create_table(TableName="tab", **defaults | more)
        self.describe(region)

    def add(self, region: str, source: str = US, **more: Any) -> dict[str, Any]:
        answer = self.update(source, ReplicaUpdates=[{"Create": {"RegionName": region, **more}}])
        self.db.catch_up()
        self.db.catch_up()
        return answer

    def create_strong(self, witness: bool = False) -> None:
        """A global table with strong consistency in all three regions, or in two and with a witness."""
        self.create_in(US)
        updates: dict[str, Any] = {
            "ReplicaUpdates": [{"Create": {"RegionName": region}} for region in ((EU,) if witness else (EU, AP))],
            "MultiRegionConsistency": "STRONG",
        }
        if witness:
            updates["GlobalTableWitnessUpdates"] = [{"Create": {"RegionName": AP}}]
        self.update(US, **updates)
        self.db.catch_up()
        self.db.catch_up()

    def update(self, region: str, **more: Any) -> dict[str, Any]:
        description: dict[str, Any] = self.at[region].update_table(TableName="tab", **more)["TableDescription"]
        return description

    def describe(self, region: str) -> dict[str, Any]:
        description: dict[str, Any] = self.at[region].describe_table(TableName="tab")["Table"]
        return description

    def tables(self, region: str) -> list[str]:
        return list(self.at[region].list_tables()["TableNames"])

    # Items.

    def put(self, region: str, key: str, **attributes: Any) -> None:
        self.at[region].put_item(TableName="tab", Item={"p": {"S": key}} | attributes)

    def delete(self, region: str, key: str) -> None:
        self.at[region].delete_item(TableName="tab", Key={"p": {"S": key}})

    def get(self, region: str, key: str) -> Item | None:
        """The item without its key."""
        item: Item | None = self.at[region].get_item(TableName="tab", Key={"p": {"S": key}}).get("Item")
        return None if item is None else {name: value for name, value in item.items() if name != "p"}

    def items(self, region: str) -> dict[str, Item]:
        found = self.at[region].scan(TableName="tab")["Items"]
        return {item.pop("p")["S"]: item for item in found}

    # Time.

    def replicate(self, seconds: float = 1.1) -> None:
        """Let time pass, and everything arrive."""
        self.clock.advance(seconds)
        self.db.catch_up()

    def cut(self, region: str) -> None:
        self.db.engine.replication.cut(region)

    def heal(self, region: str) -> None:
        self.db.engine.replication.heal(region)

    def records(self, region: str) -> list[dict[str, Any]]:
        """What the stream of a replica has."""
        streams = self.db.client("dynamodbstreams", region_name=region)
        arn = self.describe(region)["LatestStreamArn"]
        found = []
        for shard in streams.describe_stream(StreamArn=arn)["StreamDescription"]["Shards"]:
            iterator = streams.get_shard_iterator(
                StreamArn=arn, ShardId=shard["ShardId"], ShardIteratorType="TRIM_HORIZON"
            )["ShardIterator"]
            found += streams.get_records(ShardIterator=iterator)["Records"]
        return found

    def refused(self, call: Callable[..., Any], **body: Any) -> tuple[str, str]:
        """The error's name and message of a request that must fail."""
        with pytest.raises(ClientError) as raised:
            call(**body)
        error = raised.value.response["Error"]
        return error["Code"], error["Message"]

    def findings(self) -> list[str]:
        return [str(finding) for finding in check(self.db.engine.store)]


def number(value: int) -> dict[str, str]:
    return {"N": str(value)}
