"""Global tables of version 2017.11.29."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.unit.engine.replicas import AP, EU, US, Replicas, number

STREAM = {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"}


@pytest.fixture
def replicas() -> Iterator[Replicas]:
    made = Replicas()
    for region in (US, EU, AP):
        made.create_in(region, StreamSpecification=STREAM)
    yield made
    assert made.findings() == []
    made.db.close()


def join(replicas: Replicas, *regions: str) -> dict[str, Any]:
    group = [{"RegionName": region} for region in regions]
    answer = replicas.at[US].create_global_table(GlobalTableName="tab", ReplicationGroup=group)
    return dict(answer["GlobalTableDescription"])


def described(replicas: Replicas, region: str = US) -> dict[str, Any]:
    answer = replicas.at[region].describe_global_table(GlobalTableName="tab")
    return dict(answer["GlobalTableDescription"])


def regions_of(description: dict[str, Any]) -> list[str]:
    return [replica["RegionName"] for replica in description["ReplicationGroup"]]


def test_empty_tables_are_joined(replicas: Replicas) -> None:
    assert join(replicas, US, EU)["GlobalTableStatus"] == "CREATING"
    description = described(replicas, EU)
    assert description["GlobalTableStatus"] == "ACTIVE"
    assert description["GlobalTableArn"] == "arn:aws:dynamodb::000000000000:global-table/tab"
    assert regions_of(description) == [US, EU]
    shown = replicas.describe(US)
    assert (shown["GlobalTableVersion"], "Replicas" in shown) == ("2017.11.29", False)


def test_writes_are_replicated(replicas: Replicas) -> None:
    join(replicas, US, EU)
    replicas.put(EU, "a", v=number(1))
    replicas.put(AP, "b")
    replicas.replicate()
    assert (replicas.items(US), replicas.items(AP)) == ({"a": {"v": number(1)}}, {"b": {}})


def test_tables_that_can_not_be_joined(replicas: Replicas) -> None:
    group = [{"RegionName": US}, {"RegionName": "sa-east-1"}]
    create = replicas.at[US].create_global_table
    assert replicas.refused(create, GlobalTableName="tab", ReplicationGroup=group)[0] == "TableNotFoundException"
    replicas.put(EU, "a")
    group = [{"RegionName": US}, {"RegionName": EU}]
    code, message = replicas.refused(create, GlobalTableName="tab", ReplicationGroup=group)
    assert (code, "must be empty" in message) == ("ValidationException", True)
    join(replicas, US, AP)
    assert replicas.refused(create, GlobalTableName="tab", ReplicationGroup=[{"RegionName": EU}])[0] == (
        "GlobalTableAlreadyExistsException"
    )


def test_replicas_come_and_go(replicas: Replicas) -> None:
    join(replicas, US)
    update = replicas.at[US].update_global_table
    replicas.put(US, "old")
    update(GlobalTableName="tab", ReplicaUpdates=[{"Create": {"RegionName": EU}}])
    replicas.put(US, "new")
    replicas.replicate()
    assert replicas.items(EU) == {"new": {}}
    again = [{"Create": {"RegionName": EU}}]
    assert replicas.refused(update, GlobalTableName="tab", ReplicaUpdates=again)[0] == "ReplicaAlreadyExistsException"
    update(GlobalTableName="tab", ReplicaUpdates=[{"Delete": {"RegionName": EU}}])
    gone = [{"Delete": {"RegionName": EU}}]
    assert replicas.refused(update, GlobalTableName="tab", ReplicaUpdates=gone)[0] == "ReplicaNotFoundException"
    assert regions_of(described(replicas)) == [US]
    assert replicas.items(EU) == {"new": {}}


def test_what_is_not_there(replicas: Replicas) -> None:
    assert replicas.refused(replicas.at[US].describe_global_table, GlobalTableName="tab") == (
        "GlobalTableNotFoundException",
        "Global table not found: Global table with name: 'tab' does not exist.",
    )


def test_the_list(replicas: Replicas) -> None:
    join(replicas, US, EU)
    for name in ("one", "two"):
        replicas.at[US].create_table(
            TableName=name,
            KeySchema=[{"AttributeName": "p", "KeyType": "HASH"}],
            AttributeDefinitions=[{"AttributeName": "p", "AttributeType": "S"}],
            BillingMode="PAY_PER_REQUEST",
            StreamSpecification=STREAM,
        )
        replicas.at[US].describe_table(TableName=name)
        replicas.at[US].create_global_table(GlobalTableName=name, ReplicationGroup=[{"RegionName": US}])
    first = replicas.at[US].list_global_tables(Limit=2)
    assert [each["GlobalTableName"] for each in first["GlobalTables"]] == ["one", "tab"]
    rest = replicas.at[US].list_global_tables(ExclusiveStartGlobalTableName=first["LastEvaluatedGlobalTableName"])
    assert [each["GlobalTableName"] for each in rest["GlobalTables"]] == ["two"]
    there = replicas.at[US].list_global_tables(RegionName=EU)["GlobalTables"]
    assert there == [{"GlobalTableName": "tab", "ReplicationGroup": [{"RegionName": US}, {"RegionName": EU}]}]


def test_settings(replicas: Replicas) -> None:
    join(replicas, US, EU)
    client = replicas.at[US]
    client.update_global_table_settings(
        GlobalTableName="tab",
        GlobalTableBillingMode="PROVISIONED",
        GlobalTableProvisionedWriteCapacityUnits=7,
        ReplicaSettingsUpdate=[{"RegionName": EU, "ReplicaProvisionedReadCapacityUnits": 3}],
    )
    assert replicas.describe(US)["TableStatus"] == replicas.describe(EU)["TableStatus"] == "ACTIVE"
    settings = client.describe_global_table_settings(GlobalTableName="tab")["ReplicaSettings"]
    units = {
        each["RegionName"]: (
            each["ReplicaProvisionedReadCapacityUnits"],
            each["ReplicaProvisionedWriteCapacityUnits"],
        )
        for each in settings
    }
    assert units == {US: (1, 7), EU: (3, 7)}
    assert (
        replicas.refused(
            client.update_global_table_settings,
            GlobalTableName="tab",
            ReplicaSettingsUpdate=[{"RegionName": AP, "ReplicaProvisionedReadCapacityUnits": 3}],
        )[0]
        == "ReplicaNotFoundException"
    )
