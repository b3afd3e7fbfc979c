"""Filling a new index while its table serves."""

from __future__ import annotations

import random

import pytest

from dynamometer.engine.backfill import STEP_ITEMS, Backfill
from dynamometer.engine.check import check
from tests.unit.engine.tables import Body, Tables, index, types

COUNT = STEP_ITEMS * 2 + 7


def create_index(tables: Tables) -> None:
    tables.update(AttributeDefinitions=types(x="S"), GlobalSecondaryIndexUpdates=[{"Create": index("gsi", "x")}])


def value(tables: Tables, answer: Body) -> list[str]:
    """The partition keys of all that an index scan gives."""
    import orjson

    items = orjson.loads(orjson.dumps(answer["Items"]))
    return sorted(item["p"]["S"] for item in items)


def keys_in_index(tables: Tables) -> list[str]:
    return value(tables, tables.call("Scan", TableName="abc", IndexName="gsi"))


@pytest.fixture
def tables() -> Tables:
    tables = Tables()
    tables.create()
    for number in range(COUNT):
        tables.put(p={"S": f"{number:04}"}, x={"S": "same"})
    return tables


def assert_consistent(tables: Tables) -> None:
    assert [str(finding) for finding in check(tables.store, tables.engine.catalog.tables())] == []


def test_an_index_is_filled_piece_by_piece_and_then_read(tables: Tables) -> None:
    create_index(tables)
    for _ in range(2):
        assert tables.engine.run_jobs()
        described = tables.global_index("gsi")
        assert (described["IndexStatus"], described["Backfilling"]) == ("CREATING", True)
        assert tables.describe()["TableStatus"] == "ACTIVE"
        assert tables.refused("Scan", TableName="abc", IndexName="gsi") == (
            "ValidationException",
            "Cannot read from backfilling global secondary index: gsi",
        )
    assert not tables.engine.run_jobs()
    described = tables.global_index("gsi")
    assert described["IndexStatus"] == "ACTIVE"
    assert "Backfilling" not in described
    assert described["ItemCount"] == COUNT
    assert keys_in_index(tables) == [f"{number:04}" for number in range(COUNT)]
    assert_consistent(tables)


def test_an_empty_table_is_done_at_once() -> None:
    tables = Tables()
    tables.create()
    create_index(tables)
    assert not tables.engine.run_jobs()
    assert tables.global_index("gsi")["IndexStatus"] == "ACTIVE"


def test_writes_in_between_are_in_the_index_once(tables: Tables) -> None:
    create_index(tables)
    chance = random.Random(7)
    while True:
        for _ in range(40):
            partition = {"S": f"{chance.randrange(COUNT + 100):04}"}
            what = chance.randrange(4)
            if what == 0:
                tables.call("DeleteItem", TableName="abc", Key={"p": partition})
            elif what == 1:
                tables.put(p=partition)
            else:
                tables.put(p=partition, x={"S": chance.choice("abc")}, more={"S": "m" * chance.randrange(9)})
        if not tables.engine.run_jobs():
            break
    assert_consistent(tables)
    tables.put(p={"S": "after"}, x={"S": "a"})
    assert "after" in keys_in_index(tables)


def test_what_can_not_be_a_key_is_left_out() -> None:
    tables = Tables()
    tables.create()
    tables.put(p={"S": "good"}, x={"S": "x" * 2048})
    tables.put(p={"S": "none"})
    tables.put(p={"S": "type"}, x={"N": "1"})
    tables.put(p={"S": "empty"}, x={"S": ""})
    tables.put(p={"S": "long"}, x={"S": "x" * 2049})
    create_index(tables)
    job = tables.engine.jobs[0]
    assert isinstance(job, Backfill)
    assert not tables.engine.run_jobs()
    assert job.skipped == 3
    assert keys_in_index(tables) == ["good"]
    assert_consistent(tables)


def test_a_restart_begins_again_and_counts_right(tables: Tables) -> None:
    create_index(tables)
    tables.engine.run_jobs()
    tables.put(p={"S": "0001"}, x={"S": "other"})
    tables.open()
    assert tables.global_index("gsi")["Backfilling"]
    tables.engine.run_jobs(10)
    assert tables.global_index("gsi")["ItemCount"] == COUNT
    assert_consistent(tables)


def test_deleting_the_index_ends_its_filling(tables: Tables) -> None:
    create_index(tables)
    tables.engine.run_jobs()
    tables.update(GlobalSecondaryIndexUpdates=[{"Delete": {"IndexName": "gsi"}}])
    assert "GlobalSecondaryIndexes" not in tables.describe()
    assert not tables.engine.run_jobs()
    assert_consistent(tables)


def test_an_index_of_the_same_name_is_a_new_one(tables: Tables) -> None:
    create_index(tables)
    tables.engine.run_jobs(10)
    tables.update(GlobalSecondaryIndexUpdates=[{"Delete": {"IndexName": "gsi"}}])
    tables.describe()
    create_index(tables)
    tables.engine.run_jobs(10)
    assert tables.global_index("gsi")["ItemCount"] == COUNT
    assert_consistent(tables)


def test_the_index_waits_for_its_time_even_when_it_is_full() -> None:
    tables = Tables(transition_seconds=10)
    tables.create()
    tables.clock.advance(10)
    create_index(tables)
    assert not tables.engine.run_jobs()
    assert tables.describe()["TableStatus"] == "UPDATING"
    assert tables.global_index("gsi")["IndexStatus"] == "CREATING"
    assert tables.refused("Scan", TableName="abc", IndexName="gsi")[0] == "ValidationException"
    tables.clock.advance(10)
    assert keys_in_index(tables) == []
    assert tables.global_index("gsi")["IndexStatus"] == "ACTIVE"
