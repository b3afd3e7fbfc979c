"""Global tables of version 2019.11.21: how replicas come and go, and what reaches them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.unit.engine.replicas import AP, EU, HOUR, US, Replicas, number

INVALID = "One or more parameter values were invalid: "
TTL = {"Enabled": True, "AttributeName": "ttl"}


@pytest.fixture
def replicas() -> Iterator[Replicas]:
    made = Replicas()
    yield made
    assert made.findings() == []
    made.db.close()


# --- Replicas come ---


def test_a_new_replica_gets_all_items(replicas: Replicas) -> None:
    replicas.create()
    for key in range(250):
        replicas.put(US, str(key), v=number(key))
    replicas.add(EU)
    assert replicas.items(EU) == replicas.items(US)
    assert replicas.describe(EU)["ItemCount"] == 250


def test_each_region_describes_the_others(replicas: Replicas) -> None:
    replicas.create(EU, AP)
    for region, others in ((US, [EU, AP]), (EU, [US, AP]), (AP, [US, EU])):
        description = replicas.describe(region)
        assert [each["RegionName"] for each in description["Replicas"]] == others
        assert {each["ReplicaStatus"] for each in description["Replicas"]} == {"ACTIVE"}
        assert description["GlobalTableVersion"] == "2019.11.21"
        assert description["MultiRegionConsistency"] == "EVENTUAL"
        assert description["DisassociationProtectionEnabled"] is True
        assert description["StreamSpecification"] == {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"}


def test_a_table_is_updating_while_it_fills_a_replica(replicas: Replicas) -> None:
    replicas.create()
    answer = replicas.update(US, ReplicaUpdates=[{"Create": {"RegionName": EU}}])
    assert (answer["TableStatus"], answer["Replicas"][0]["ReplicaStatus"]) == ("UPDATING", "CREATING")
    replicas.db.catch_up()
    assert replicas.describe(US)["TableStatus"] == "ACTIVE"


def test_a_replica_can_not_be_used_before_it_is_filled(replicas: Replicas) -> None:
    replicas.create()
    for key in range(1000):
        replicas.put(US, str(key))
    replicas.cut(AP)
    replicas.update(US, ReplicaUpdates=[{"Create": {"RegionName": EU}}])
    assert replicas.refused(replicas.at[EU].get_item, TableName="tab", Key={"p": {"S": "1"}}) == (
        "ResourceNotFoundException",
        "Requested resource not found",
    )
    replicas.db.catch_up()
    assert replicas.get(EU, "1") == {}


def test_writes_while_a_replica_is_filled_reach_it(replicas: Replicas) -> None:
    replicas.create()
    for key in range(300):
        replicas.put(US, str(key), v=number(1))
    replicas.update(US, ReplicaUpdates=[{"Create": {"RegionName": EU}}])
    replicas.put(US, "7", v=number(2))
    replicas.delete(US, "8")
    replicas.put(US, "new")
    replicas.db.catch_up()
    replicas.replicate()
    assert replicas.items(EU) == replicas.items(US)
    assert replicas.db.engine.replication.conflicts() == []


def test_a_third_region_misses_nothing_that_was_on_its_way(replicas: Replicas) -> None:
    """What eu-west-1 wrote and us-east-1 had not got, when it filled ap-northeast-1."""
    replicas.create(EU)
    replicas.put(EU, "late", v=number(1))
    replicas.add(AP)
    assert replicas.get(AP, "late") is None
    replicas.replicate()
    assert replicas.get(AP, "late") == {"v": number(1)}


def test_a_new_replica_knows_of_deletions(replicas: Replicas) -> None:
    """Or an older write of a third region, that was on its way, would bring the item back there."""
    replicas.create(EU)
    replicas.cut(EU)
    replicas.put(EU, "a", v=number(1))
    replicas.clock.advance(1)
    replicas.put(US, "a", v=number(2))
    replicas.delete(US, "a")
    replicas.add(AP)
    replicas.heal(EU)
    replicas.replicate()
    assert replicas.items(US) == replicas.items(EU) == replicas.items(AP) == {}


def test_the_last_writes_of_a_replica_that_goes_reach_all_others(replicas: Replicas) -> None:
    replicas.create(EU, AP)
    replicas.put(AP, "a")
    replicas.cut(EU)
    replicas.update(US, ReplicaUpdates=[{"Delete": {"RegionName": AP}}])
    replicas.replicate()
    assert replicas.items(US) == {"a": {}}
    assert replicas.describe(AP)["TableStatus"] == "DELETING"
    assert (
        replicas.refused(replicas.at[AP].put_item, TableName="tab", Item={"p": {"S": "b"}})[0]
        == "ResourceNotFoundException"
    )
    replicas.heal(EU)
    replicas.replicate()
    assert replicas.items(EU) == {"a": {}}
    assert replicas.tables(AP) == []


def test_a_filled_replica_has_no_stream_records_of_that(replicas: Replicas) -> None:
    replicas.create()
    replicas.put(US, "a")
    replicas.add(EU)
    replicas.put(US, "b")
    replicas.replicate()
    assert [record["dynamodb"]["Keys"]["p"]["S"] for record in replicas.records(EU)] == ["b"]


@pytest.mark.parametrize(
    ("updates", "message"),
    [
        (
            [{"Create": {"RegionName": US}}],
            "Cannot add, delete, or update the local region through ReplicaUpdates. "
            "Use CreateTable, DeleteTable, or UpdateTable as required.",
        ),
        (
            [{"Delete": {"RegionName": AP}}],
            "Replica specified in the Replica Update or Replica Delete action of the request was not found.",
        ),
        (
            [{"Create": {"RegionName": EU}}],
            "Failed to create a the new replica of table with name: 'tab' because one or more replicas already "
            "existed as tables.",
        ),
        (
            [{"Create": {"RegionName": AP}}, {"Create": {"RegionName": "eu-west-2"}}],
            f"{INVALID}Only one replica can be created or deleted in a request",
        ),
    ],
)
def test_replica_updates_that_can_not_be(replicas: Replicas, updates: list[Any], message: str) -> None:
    replicas.create(EU)
    answer = replicas.refused(replicas.at[US].update_table, TableName="tab", ReplicaUpdates=updates)
    assert answer == ("ValidationException", message)


def test_a_table_of_the_name_in_the_region_stays_what_it_is(replicas: Replicas) -> None:
    replicas.create()
    replicas.create_in(EU)
    code, message = replicas.refused(
        replicas.at[US].update_table, TableName="tab", ReplicaUpdates=[{"Create": {"RegionName": EU}}]
    )
    assert code == "ValidationException"
    assert "already existed as tables" in message


# --- Replicas go ---


def test_a_replica_is_deleted(replicas: Replicas) -> None:
    replicas.create(EU)
    answer = replicas.update(US, ReplicaUpdates=[{"Delete": {"RegionName": EU}}])
    assert answer["Replicas"][0]["ReplicaStatus"] == "DELETING"
    replicas.db.catch_up()
    assert replicas.tables(EU) == []
    description = replicas.describe(US)
    assert ("Replicas" in description, description["TableStatus"]) == (False, "ACTIVE")


def test_one_of_two_replicas_is_deleted(replicas: Replicas) -> None:
    replicas.create(EU, AP)
    replicas.update(US, ReplicaUpdates=[{"Delete": {"RegionName": EU}}])
    replicas.db.catch_up()
    for region, other in ((US, AP), (AP, US)):
        description = replicas.describe(region)
        assert [each["RegionName"] for each in description["Replicas"]] == [other]
        assert description["TableStatus"] == "ACTIVE"
    assert replicas.tables(EU) == []


def test_changes_take_time_where_that_is_set() -> None:
    replicas = Replicas(table_transition_seconds=10)
    replicas.create_in(US)
    replicas.clock.advance(10)
    replicas.update(US, ReplicaUpdates=[{"Create": {"RegionName": EU}}])
    replicas.replicate(5)
    assert replicas.describe(US)["Replicas"][0]["ReplicaStatus"] == "CREATING"
    replicas.replicate(6)
    assert (replicas.describe(US)["TableStatus"], replicas.describe(EU)["TableStatus"]) == ("ACTIVE", "ACTIVE")
    replicas.update(US, ReplicaUpdates=[{"Delete": {"RegionName": EU}}])
    replicas.replicate(5)
    assert replicas.describe(US)["Replicas"][0]["ReplicaStatus"] == "DELETING"
    replicas.replicate(6)
    assert (replicas.tables(EU), "Replicas" in replicas.describe(US)) == ([], False)
    assert replicas.findings() == []


def test_a_deleted_table_leaves_the_global_table(replicas: Replicas) -> None:
    replicas.create(EU, AP)
    replicas.at[EU].delete_table(TableName="tab")
    assert [each["RegionName"] for each in replicas.describe(US)["Replicas"]] == [AP]
    assert [each["RegionName"] for each in replicas.describe(AP)["Replicas"]] == [US]
    replicas.put(US, "a")
    replicas.replicate()
    assert replicas.items(AP) == {"a": {}}


def test_the_source_of_a_replica_is_kept_for_a_day(replicas: Replicas) -> None:
    replicas.create(EU)
    assert replicas.refused(replicas.at[US].delete_table, TableName="tab") == (
        "ValidationException",
        "Replica cannot be deleted because it has acted as a source region for new replica(s) being added to the "
        "table in the last 24 hours.",
    )
    replicas.replicate(24 * HOUR)
    replicas.at[US].delete_table(TableName="tab")
    assert (replicas.tables(US), replicas.tables(EU)) == ([], ["tab"])


def test_a_replica_that_leaves_waits_for_what_is_on_its_way(replicas: Replicas) -> None:
    replicas.create(EU)
    leave = {"RegionName": EU, "DisassociationMode": "WAIT_FOR_REPLICATION"}
    code, message = replicas.refused(
        replicas.at[EU].update_table, TableName="tab", ReplicaUpdates=[{"Disassociate": leave}]
    )
    assert (code, "protected" in message) == ("ValidationException", True)
    replicas.update(EU, DisassociationProtectionEnabled=False)
    assert replicas.describe(US)["DisassociationProtectionEnabled"] is True
    replicas.put(US, "a")
    replicas.put(EU, "b")
    replicas.update(EU, ReplicaUpdates=[{"Disassociate": leave}])
    assert replicas.describe(EU)["TableStatus"] == "UPDATING"
    replicas.replicate()
    replicas.replicate()
    assert "Replicas" not in replicas.describe(EU)
    assert "Replicas" not in replicas.describe(US)
    assert replicas.items(EU) == replicas.items(US) == {"a": {}, "b": {}}
    replicas.put(US, "c")
    replicas.replicate()
    assert "c" not in replicas.items(EU)


# --- What reaches the others ---


def test_writes_arrive_after_the_lag(replicas: Replicas) -> None:
    replicas.create(EU)
    replicas.put(US, "a", v=number(1))
    replicas.replicate(0.5)
    assert replicas.get(EU, "a") is None
    replicas.replicate(0.6)
    assert replicas.get(EU, "a") == {"v": number(1)}


def test_deletions_arrive(replicas: Replicas) -> None:
    replicas.create(EU)
    replicas.put(US, "a")
    replicas.replicate()
    replicas.delete(EU, "a")
    replicas.replicate()
    assert replicas.items(US) == {}


def test_the_last_writer_wins_the_whole_item(replicas: Replicas) -> None:
    replicas.create(EU)
    replicas.put(US, "a", x=number(1))
    replicas.put(EU, "a", y=number(2))
    replicas.replicate()
    assert replicas.get(US, "a") == replicas.get(EU, "a") == {"y": number(2)}


def test_an_update_beats_an_older_deletion(replicas: Replicas) -> None:
    replicas.create(EU)
    replicas.put(US, "a", v=number(1))
    replicas.replicate()
    replicas.delete(US, "a")
    replicas.put(EU, "a", v=number(2))
    replicas.replicate()
    assert replicas.items(US) == replicas.items(EU) == {"a": {"v": number(2)}}


def test_a_lost_update_is_noted_once(replicas: Replicas) -> None:
    replicas.create(EU)
    replicas.put(US, "a", v=number(1))
    replicas.clock.advance(0.25)
    replicas.put(EU, "a", v=number(2))
    replicas.replicate()
    [conflict] = replicas.db.engine.replication.conflicts()
    assert (conflict.table, conflict.key) == ("tab", {"p": {"S": "a"}})
    assert (conflict.lost_region, conflict.winning_region) == (US, EU)
    assert conflict.winning_at - conflict.lost_at == pytest.approx(0.25)
    assert conflict.lost_item == {"p": {"S": "a"}, "v": number(1)}


def test_a_write_that_saw_the_other_has_no_conflict(replicas: Replicas) -> None:
    replicas.create(EU)
    replicas.put(US, "a", v=number(1))
    replicas.replicate()
    replicas.put(EU, "a", v=number(2))
    replicas.put(EU, "a", v=number(3))
    replicas.replicate()
    assert replicas.get(US, "a") == {"v": number(3)}
    assert replicas.db.engine.replication.conflicts() == []


def test_conditions_see_the_local_replica(replicas: Replicas) -> None:
    """So a key that is taken elsewhere looks free: idempotency keys hold in one region only."""
    replicas.create(EU)
    for region in (US, EU):
        replicas.at[region].put_item(
            TableName="tab",
            Item={"p": {"S": "once"}, "by": {"S": region}},
            ConditionExpression="attribute_not_exists(p)",
        )
    replicas.replicate()
    assert replicas.get(US, "once") == replicas.get(EU, "once") == {"by": {"S": EU}}


def test_a_region_that_was_cut_off_catches_up(replicas: Replicas) -> None:
    replicas.create(EU, AP)
    replicas.cut(EU)
    for key in range(300):
        replicas.put(US, str(key))
    replicas.put(EU, "own")
    replicas.replicate()
    assert (len(replicas.items(EU)), len(replicas.items(AP))) == (1, 300)
    replicas.heal(EU)
    replicas.replicate()
    assert replicas.items(EU) == replicas.items(US) == replicas.items(AP)
    assert len(replicas.items(US)) == 301


def test_an_old_deletion_is_forgotten_once_nothing_older_can_arrive(replicas: Replicas) -> None:
    replicas.create(EU)
    replicas.put(US, "a", v=number(1))
    replicas.cut(EU)
    replicas.put(EU, "a", v=number(0))
    replicas.delete(US, "a")
    replicas.replicate(30 * HOUR)
    replicas.heal(EU)
    replicas.replicate()
    assert replicas.items(US) == replicas.items(EU) == {}
    replicas.replicate(30 * HOUR)
    replicas.replicate()
    tables = replicas.db.engine.catalog.tables()
    assert [list(replicas.db.engine.store.range(b"v", b"x")) for _ in tables[:1]] == [[]]


def test_every_replica_has_stream_records(replicas: Replicas) -> None:
    replicas.create(EU)
    replicas.put(US, "a", v=number(1))
    replicas.replicate()
    replicas.put(EU, "a", v=number(2))
    replicas.replicate()
    for region in (US, EU):
        records = replicas.records(region)
        assert [record["eventName"] for record in records] == ["INSERT", "MODIFY"]
        assert records[1]["dynamodb"]["OldImage"]["v"] == number(1)
        assert {record["awsRegion"] for record in records} == {region}


def test_time_to_live_deletes_in_one_region_and_that_is_replicated(replicas: Replicas) -> None:
    replicas.create(EU)
    replicas.at[EU].update_time_to_live(TableName="tab", TimeToLiveSpecification=TTL)
    status = replicas.at[US].describe_time_to_live(TableName="tab")["TimeToLiveDescription"]
    assert status == {"TimeToLiveStatus": "ENABLED", "AttributeName": "ttl"}
    replicas.put(EU, "a", ttl=number(int(replicas.clock.now()) + 10))
    replicas.replicate()
    replicas.replicate(300)
    replicas.replicate()
    assert replicas.items(US) == replicas.items(EU) == {}
    removals = {region: replicas.records(region)[-1] for region in (US, EU)}
    assert {each["eventName"] for each in removals.values()} == {"REMOVE"}
    assert removals[US]["userIdentity"]["Type"] == "Service"
    assert "userIdentity" not in removals[EU]
    assert replicas.db.engine.replication.conflicts() == []


# --- Settings ---


def test_an_index_is_made_and_filled_everywhere(replicas: Replicas) -> None:
    replicas.create(EU)
    replicas.put(EU, "a", v=number(1))
    replicas.replicate()
    replicas.update(
        US,
        AttributeDefinitions=[{"AttributeName": "v", "AttributeType": "N"}],
        GlobalSecondaryIndexUpdates=[
            {
                "Create": {
                    "IndexName": "ByV",
                    "KeySchema": [{"AttributeName": "v", "KeyType": "HASH"}],
                    "Projection": {"ProjectionType": "ALL"},
                }
            }
        ],
    )
    replicas.db.catch_up()
    replicas.put(EU, "b", v=number(1))
    replicas.replicate()
    for region in (US, EU):
        assert replicas.describe(region)["GlobalSecondaryIndexes"][0]["IndexStatus"] == "ACTIVE"
        found = replicas.at[region].scan(TableName="tab", IndexName="ByV")["Items"]
        assert sorted(item["p"]["S"] for item in found) == ["a", "b"]
    replicas.update(EU, GlobalSecondaryIndexUpdates=[{"Delete": {"IndexName": "ByV"}}])
    replicas.db.catch_up()
    assert all("GlobalSecondaryIndexes" not in replicas.describe(region) for region in (US, EU))


def test_billing_and_write_capacity_are_equal_everywhere(replicas: Replicas) -> None:
    replicas.create(EU)
    units = {"ReadCapacityUnits": 5, "WriteCapacityUnits": 7}
    replicas.update(US, BillingMode="PROVISIONED", ProvisionedThroughput=units)
    for region in (US, EU):
        shown = replicas.describe(region)["ProvisionedThroughput"]
        assert (shown["ReadCapacityUnits"], shown["WriteCapacityUnits"]) == (5, 7)


def test_read_capacity_can_be_a_replicas_own(replicas: Replicas) -> None:
    replicas.create(ProvisionedThroughput={"ReadCapacityUnits": 5, "WriteCapacityUnits": 7})
    replicas.add(EU, ProvisionedThroughputOverride={"ReadCapacityUnits": 2})
    replicas.add(AP)
    reads = [replicas.describe(region)["ProvisionedThroughput"]["ReadCapacityUnits"] for region in (US, EU, AP)]
    assert reads == [5, 2, 5]
    assert replicas.describe(AP)["Replicas"][1]["ProvisionedThroughputOverride"] == {"ReadCapacityUnits": 2}
    update = {"RegionName": AP, "ProvisionedThroughputOverride": {"ReadCapacityUnits": 3}}
    replicas.update(US, ReplicaUpdates=[{"Update": update}])
    replicas.db.catch_up()
    assert replicas.describe(AP)["ProvisionedThroughput"]["ReadCapacityUnits"] == 3
    # a value that is set for a table counts for all replicas
    replicas.update(EU, ProvisionedThroughput={"ReadCapacityUnits": 9, "WriteCapacityUnits": 7})
    reads = [replicas.describe(region)["ProvisionedThroughput"]["ReadCapacityUnits"] for region in (US, EU, AP)]
    assert reads == [9, 9, 9]


def test_protection_and_tags_are_a_replicas_own(replicas: Replicas) -> None:
    replicas.create(EU)
    replicas.update(US, DeletionProtectionEnabled=True)
    assert replicas.describe(EU)["DeletionProtectionEnabled"] is False
    replicas.update(EU, DeletionProtectionEnabled=True)
    code, message = replicas.refused(
        replicas.at[US].update_table, TableName="tab", ReplicaUpdates=[{"Delete": {"RegionName": EU}}]
    )
    assert (code, "protected against deletion" in message) == ("ValidationException", True)


def test_the_stream_of_a_replica_stays(replicas: Replicas) -> None:
    replicas.create(EU)
    code, _ = replicas.refused(
        replicas.at[US].update_table, TableName="tab", StreamSpecification={"StreamEnabled": False}
    )
    assert code == "ValidationException"


def test_one_world_has_no_replicas() -> None:
    replicas = Replicas(shared_world=True)
    replicas.create()
    code, message = replicas.refused(
        replicas.at[US].update_table, TableName="tab", ReplicaUpdates=[{"Create": {"RegionName": EU}}]
    )
    assert (code, "shared_world" in message) == ("ValidationException", True)


# --- Restarts ---


def test_a_global_table_survives_a_restart(tmp_path: Path) -> None:
    replicas = Replicas(tmp_path / "data")
    replicas.create(EU)
    replicas.put(US, "a", v=number(1))
    replicas.put(EU, "a", v=number(2))
    replicas.reopen()
    replicas.replicate()
    assert replicas.get(US, "a") == replicas.get(EU, "a") == {"v": number(2)}
    replicas.reopen()
    assert len(replicas.db.engine.replication.conflicts()) == 1
    assert replicas.findings() == []
    replicas.db.close()


def test_the_filling_of_a_replica_goes_on_after_a_restart(tmp_path: Path) -> None:
    replicas = Replicas(tmp_path / "data")
    replicas.create()
    for key in range(500):
        replicas.put(US, str(key))
    replicas.update(US, ReplicaUpdates=[{"Create": {"RegionName": EU}}])
    replicas.db.engine.replication.work()
    replicas.reopen()
    assert replicas.describe(US)["TableStatus"] == "UPDATING"
    replicas.db.catch_up()
    replicas.db.catch_up()
    assert replicas.items(EU) == replicas.items(US)
    assert replicas.findings() == []
    replicas.db.close()
