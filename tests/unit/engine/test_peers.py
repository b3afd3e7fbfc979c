"""Messages between servers that have replicas of one global table: who may send them, and which are refused."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

import orjson
import pytest

from dynamometer.base.config import Settings, SettingsError, peers_of
from dynamometer.engine.operations import load
from dynamometer.engine.replication.peers import AHEAD_SECONDS_MAX
from dynamometer.peering import SECRET_HEADER, TARGET
from dynamometer.wire.service import Service
from tests.sim.regions import ACCOUNT, REGIONS
from tests.sim.servers import SECRET, Servers

OPERATIONS = load()
US, EU = REGIONS[:2]


@pytest.fixture
def servers() -> Iterator[Servers]:
    made = Servers(1)
    yield made
    made.settle()
    assert made.findings() == []


def refusal(servers: Servers, **message: Any) -> str:
    whole = {"kind": "changes", "account": ACCOUNT, "table": "tab", "from": US, "to": EU, "items": [], "following": 1}
    answer, _ = servers.engine_of(EU).replication.messages.receive(SECRET, orjson.dumps(whole | message))
    return str(answer.get("error"))


def put(servers: Servers, region: str, key: str) -> None:
    servers.call("PutItem", region, TableName="tab", Item={"p": {"S": key}})


def test_a_message_needs_the_secret(servers: Servers) -> None:
    with pytest.raises(PermissionError):
        servers.engine_of(EU).replication.messages.receive("wrong", b"{}")


def test_the_wire_passes_messages_on(servers: Servers) -> None:
    service = Service(servers.engine_of(EU))
    headers = {b"x-amz-target": TARGET.encode(), SECRET_HEADER.encode(): b"wrong"}
    assert service.handle("POST", "/", headers, b"{}").status == 400
    headers[SECRET_HEADER.encode()] = SECRET.encode()
    message = {"kind": "changes", "account": ACCOUNT, "table": "none", "from": US, "to": EU}
    answer = service.handle("POST", "/", headers, orjson.dumps(message))
    assert (answer.status, orjson.loads(answer.body)["error"]) == (200, "there is no such replica")


def test_messages_that_are_refused(servers: Servers) -> None:
    assert refusal(servers, table="other") == "there is no such replica"
    assert refusal(servers, to=US) == f"region {US} is not on this server"
    latest = int((servers.clock.now() + 100 + AHEAD_SECONDS_MAX) * 1e9)
    item = ["", [latest, US, {US: latest}, [0, ""]], None]
    assert refusal(servers, items=[item]) == "the clocks of the servers differ by more than ten minutes"
    servers.engine_of(EU).replication.cut(US)
    assert refusal(servers) == "the region is cut off"


def test_a_table_of_the_same_name_is_left_alone(servers: Servers, caplog: pytest.LogCaptureFixture) -> None:
    definition = {
        "TableName": "new",
        "KeySchema": [{"AttributeName": "p", "KeyType": "HASH"}],
        "AttributeDefinitions": [{"AttributeName": "p", "AttributeType": "S"}],
        "BillingMode": "PAY_PER_REQUEST",
    }
    for region in (US, EU):
        servers.call("CreateTable", region, **definition)
        servers.call("DescribeTable", region, TableName="new")
    servers.call("UpdateTable", US, TableName="new", ReplicaUpdates=[{"Create": {"RegionName": EU}}])
    with caplog.at_level(logging.WARNING):
        for _ in range(50):
            servers.catch_up()
            servers.clock.advance(1)
    assert "has another table named new" in caplog.text
    described = servers.call("DescribeTable", US, TableName="new")["Table"]
    assert (described["TableStatus"], described["Replicas"][0]["ReplicaStatus"]) == ("ACTIVE", "CREATION_FAILED")
    assert "Replicas" not in servers.call("DescribeTable", EU, TableName="new")["Table"]
    servers.call("UpdateTable", US, TableName="new", ReplicaUpdates=[{"Delete": {"RegionName": EU}}])
    settle(servers)
    assert "Replicas" not in servers.call("DescribeTable", US, TableName="new")["Table"]
    assert "new" in servers.world(EU).tables


def test_a_replica_on_a_server_that_is_down_can_be_given_up(servers: Servers) -> None:
    definition = {
        "TableName": "new",
        "KeySchema": [{"AttributeName": "p", "KeyType": "HASH"}],
        "AttributeDefinitions": [{"AttributeName": "p", "AttributeType": "S"}],
        "BillingMode": "PAY_PER_REQUEST",
    }
    servers.call("CreateTable", US, **definition)
    servers.call("DescribeTable", US, TableName="new")
    servers.engine_of(EU).replication.cut(US)
    servers.call("UpdateTable", US, TableName="new", ReplicaUpdates=[{"Create": {"RegionName": EU}}])
    settle(servers)
    assert servers.call("DescribeTable", US, TableName="new")["Table"]["TableStatus"] == "UPDATING"
    servers.call("UpdateTable", US, TableName="new", ReplicaUpdates=[{"Delete": {"RegionName": EU}}])
    settle(servers)
    described = servers.call("DescribeTable", US, TableName="new")["Table"]
    assert (described["TableStatus"], "Replicas" in described) == ("ACTIVE", False)


def test_indexes_and_deletions_of_replicas_reach_the_other_server(servers: Servers) -> None:
    servers.call(
        "UpdateTable",
        EU,
        TableName="tab",
        AttributeDefinitions=[{"AttributeName": "w", "AttributeType": "N"}],
        GlobalSecondaryIndexUpdates=[
            {
                "Create": {
                    "IndexName": "ByW",
                    "KeySchema": [{"AttributeName": "w", "KeyType": "HASH"}],
                    "Projection": {"ProjectionType": "ALL"},
                }
            }
        ],
    )
    servers.run(100)
    servers.settle()
    settle(servers)
    [index] = servers.call("DescribeTable", US, TableName="tab")["Table"]["GlobalSecondaryIndexes"]
    assert (index["IndexName"], index["IndexStatus"]) == ("ByW", "ACTIVE")
    servers.call("UpdateTable", US, TableName="tab", ReplicaUpdates=[{"Delete": {"RegionName": EU}}])
    settle(servers)
    assert "tab" not in servers.world(EU).tables
    assert "Replicas" not in servers.call("DescribeTable", US, TableName="tab")["Table"]


def test_a_table_that_is_deleted_says_farewell(servers: Servers) -> None:
    put(servers, US, "a")
    settle(servers)
    servers.call("DeleteTable", EU, TableName="tab")
    settle(servers)
    assert "Replicas" not in servers.call("DescribeTable", US, TableName="tab")["Table"]


def test_a_replica_leaves_with_everything(servers: Servers) -> None:
    servers.call("UpdateTable", EU, TableName="tab", DisassociationProtectionEnabled=False)
    put(servers, US, "a")
    put(servers, EU, "b")
    leave = {"RegionName": EU, "DisassociationMode": "WAIT_FOR_REPLICATION"}
    servers.call("UpdateTable", EU, TableName="tab", ReplicaUpdates=[{"Disassociate": leave}])
    for _ in range(10):
        settle(servers, 20)
    for region in (US, EU):
        assert "Replicas" not in servers.call("DescribeTable", region, TableName="tab")["Table"]
    assert servers.contents(US) == servers.contents(EU)


def settle(servers: Servers, seconds: float = 1.0) -> None:
    """Let messages go both ways, as often as some are lost."""
    for _ in range(40):
        servers.catch_up()
        servers.clock.advance(seconds)


def test_peers_are_regions_and_urls() -> None:
    assert peers_of("a=http://x:1, b=https://y") == {"a": "http://x:1", "b": "https://y"}
    for wrong in ("a", "a=x", "=http://x"):
        with pytest.raises(SettingsError, match="must be region=URL"):
            peers_of(wrong)
    with pytest.raises(SettingsError, match="replication_secret is not"):
        Settings(peers="a=http://x")
