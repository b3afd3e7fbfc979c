"""Global tables with strong consistency: a write is in all regions or in none."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from dynamometer.engine.log import REPLICATED
from tests.unit.engine.replicas import AP, EU, US, Replicas, number

INVALID = "One or more parameter values were invalid: "
NUMBER = (
    f"{INVALID}A global table with strong consistency has exactly three Regions: three replicas, or two replicas and a "
    "witness"
)


@pytest.fixture
def replicas() -> Iterator[Replicas]:
    made = Replicas()
    yield made
    assert made.findings() == []
    made.db.close()


def test_a_write_is_everywhere_at_once(replicas: Replicas) -> None:
    replicas.create_strong()
    replicas.put(EU, "a", v=number(1))
    assert [replicas.get(region, "a") for region in (US, EU, AP)] == [{"v": number(1)}] * 3
    replicas.put(US, "a", v=number(2))
    replicas.delete(AP, "a")
    assert [replicas.items(region) for region in (US, EU, AP)] == [{}] * 3
    replicas.replicate()
    assert replicas.db.engine.replication.conflicts() == []


def test_conditions_hold_in_all_regions(replicas: Replicas) -> None:
    replicas.create_strong()
    replicas.put(US, "once")
    code, _ = replicas.refused(
        replicas.at[EU].put_item,
        TableName="tab",
        Item={"p": {"S": "once"}},
        ConditionExpression="attribute_not_exists(p)",
    )
    assert code == "ConditionalCheckFailedException"


def test_indexes_and_counts_follow(replicas: Replicas) -> None:
    replicas.create_strong()
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
    replicas.put(EU, "a", v=number(1))
    replicas.put(EU, "a", v=number(2))
    for region in (US, EU, AP):
        assert replicas.at[region].scan(TableName="tab", IndexName="ByV")["Count"] == 1
        assert replicas.describe(region)["ItemCount"] == 1


def test_a_witness_is_described_and_has_no_table(replicas: Replicas) -> None:
    replicas.create_strong(witness=True)
    description = replicas.describe(US)
    assert description["GlobalTableWitnesses"] == [{"RegionName": AP, "WitnessStatus": "ACTIVE"}]
    assert [each["RegionName"] for each in description["Replicas"]] == [EU]
    assert (description["MultiRegionConsistency"], "StreamSpecification" in description) == ("STRONG", False)
    assert replicas.tables(AP) == []


def test_what_it_is_made_of(replicas: Replicas) -> None:
    replicas.create()
    strong = {"TableName": "tab", "MultiRegionConsistency": "STRONG"}
    update = replicas.at[US].update_table
    one, two = [{"Create": {"RegionName": EU}}], [{"Create": {"RegionName": EU}}, {"Create": {"RegionName": AP}}]
    assert replicas.refused(update, **strong, ReplicaUpdates=one) == ("ValidationException", NUMBER)
    elsewhere = [{"Create": {"RegionName": EU}}, {"Create": {"RegionName": "sa-east-1"}}]
    assert "not available in Region sa-east-1" in replicas.refused(update, **strong, ReplicaUpdates=elsewhere)[1]
    replicas.put(US, "a")
    assert "must be empty" in replicas.refused(update, **strong, ReplicaUpdates=two)[1]


def test_what_it_does_not_have(replicas: Replicas) -> None:
    replicas.create_strong()
    client = replicas.at[EU]
    put = {"Put": {"TableName": "tab", "Item": {"p": {"S": "a"}}}}
    get = {"Get": {"TableName": "tab", "Key": {"p": {"S": "a"}}}}
    ttl = {"Enabled": True, "AttributeName": "ttl"}
    assert "Transactions" in replicas.refused(client.transact_write_items, TransactItems=[put])[1]
    assert "Transactions" in replicas.refused(client.transact_get_items, TransactItems=[get])[1]
    statement = {"Statement": "INSERT INTO tab VALUE {'p': 'a'}"}
    assert "Transactions" in replicas.refused(client.execute_transaction, TransactStatements=[statement])[1]
    assert (
        "Time to live" in replicas.refused(client.update_time_to_live, TableName="tab", TimeToLiveSpecification=ttl)[1]
    )
    assert "cannot be deleted by itself" in replicas.refused(client.delete_table, TableName="tab")[1]
    more = [{"Create": {"RegionName": "us-west-2"}}]
    assert "cannot be added" in replicas.refused(client.update_table, TableName="tab", ReplicaUpdates=more)[1]


def test_it_is_given_up_by_two_deletions(replicas: Replicas) -> None:
    replicas.create_strong()
    replicas.put(EU, "a")
    one, two = [{"Delete": {"RegionName": EU}}], [{"Delete": {"RegionName": EU}}, {"Delete": {"RegionName": AP}}]
    assert replicas.refused(replicas.at[US].update_table, TableName="tab", ReplicaUpdates=one)[0] == (
        "ValidationException"
    )
    replicas.update(US, ReplicaUpdates=two)
    replicas.db.catch_up()
    assert (replicas.tables(EU), replicas.tables(AP)) == ([], [])
    assert "Replicas" not in replicas.describe(US)
    assert replicas.items(US) == {"a": {}}


def test_a_region_that_is_cut_off_takes_no_writes_and_catches_up(replicas: Replicas) -> None:
    replicas.create_strong()
    replicas.put(US, "a", v=number(1))
    replicas.cut(AP)
    replicas.put(EU, "a", v=number(2))
    replicas.delete(US, "a")
    replicas.put(US, "b")
    response = replicas.at[AP].meta.client if hasattr(replicas.at[AP].meta, "client") else replicas.at[AP]
    assert replicas.refused(response.put_item, TableName="tab", Item={"p": {"S": "c"}})[0] == "InternalServerError"
    assert replicas.items(AP) == {"a": {"v": number(1)}}
    replicas.heal(AP)
    assert replicas.items(AP) == replicas.items(US) == {"b": {}}
    replicas.put(AP, "c")
    assert replicas.items(EU) == {"b": {}, "c": {}}


def test_items_that_another_region_is_changing() -> None:
    """With a window, as wide as a write would take between regions."""
    replicas = Replicas(replicated_conflict_seconds=0.2)
    replicas.create_strong()
    replicas.put(US, "a", v=number(1))
    replicas.put(US, "a", v=number(2))
    code, _ = replicas.refused(replicas.at[EU].put_item, TableName="tab", Item={"p": {"S": "a"}})
    assert code == "ReplicatedWriteConflictException"
    replicas.put(EU, "b")
    replicas.clock.advance(0.2)
    replicas.put(EU, "a", v=number(3))
    assert replicas.get(US, "a") == {"v": number(3)}
    assert replicas.findings() == []


def test_the_others_log_a_write_as_replicated(replicas: Replicas) -> None:
    replicas.create_strong()
    replicas.put(EU, "a")
    engine = replicas.db.engine
    flags = {
        table.record.region: [change.flags for change in engine.log.read(engine.store, table.number, 0)]
        for table in engine.catalog.tables()
    }
    assert flags == {US: [REPLICATED], EU: [0], AP: [REPLICATED]}
