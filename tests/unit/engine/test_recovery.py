"""Point-in-time recovery: any second of the window comes back exactly, also when the restore is cut off."""

from __future__ import annotations

import random
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dynamometer.engine import keyspace
from tests.unit.engine.past import COUNT, DAY, Items, Past, in_memory, item, name_of, on_disk
from tests.unit.engine.tables import ACCOUNT, INVALID, REGION, Body, index, units

LAG = 300
"""Seconds between the latest restorable moment and now."""


@pytest.fixture
def kept(past: Past) -> Past:
    """A table with items whose past is kept."""
    past.make()
    past.fill()
    past.keep()
    return past


def change(past: Past, seed: int, count: int = COUNT) -> None:
    """Many changes of items: new ones, other ones, deleted ones, and the same ones again and again."""
    chance = random.Random(seed)
    for _ in range(count):
        number = chance.randrange(COUNT + 100) if chance.random() < 0.8 else chance.randrange(3)
        key = {"p": {"S": f"p{number % 7}"}, "s": {"N": str(number)}}
        if chance.random() < 0.4:
            past.call("DeleteItem", TableName="abc", Key=key)
        else:
            places = {name: {"S": chance.choice("abc")} for name in "lg" if chance.random() < 0.7}
            past.put(**key, **places, text={"S": "y" * chance.randrange(30)})


def entries(past: Past) -> int:
    """How many changes the table's log has."""
    prefix = keyspace.log_prefix(past.world.tables["abc"].number)
    return sum(1 for _ in past.store.range(prefix, keyspace.successor(prefix)))


def test_continuous_backups_are_on_and_the_past_is_not_kept(past: Past) -> None:
    past.create()
    assert past.call("DescribeContinuousBackups", TableName="abc") == {
        "ContinuousBackupsDescription": {
            "ContinuousBackupsStatus": "ENABLED",
            "PointInTimeRecoveryDescription": {"PointInTimeRecoveryStatus": "DISABLED"},
        }
    }
    past.put(p={"S": "a"})
    assert entries(past) == 0
    assert past.refused(
        "RestoreTableToPointInTime", SourceTableName="abc", TargetTableName="target", UseLatestRestorableTime=True
    ) == ("PointInTimeRecoveryUnavailableException", "Point in time recovery is not enabled for table 'abc'")


def test_the_window(past: Past) -> None:
    past.create()
    past.clock.advance(0.25)
    enabled = past.clock.now()
    assert past.keep() == {
        "PointInTimeRecoveryStatus": "ENABLED",
        "RecoveryPeriodInDays": 35,
        "EarliestRestorableDateTime": enabled + 0.75,
        "LatestRestorableDateTime": enabled + 0.75,
    }
    past.clock.advance(LAG + 9.25)
    assert past.window() == (enabled + 0.75, enabled + 9.25 - 0.5)
    past.clock.advance(40 * DAY)
    past.restart()
    earliest, latest = past.window()
    assert past.clock.now() - 35 * DAY <= earliest < past.clock.now() - 35 * DAY + 1
    assert latest == past.clock.now() - LAG - 0.5


def test_a_shorter_period_gives_up_the_past_and_a_longer_one_wins_it_day_by_day(past: Past) -> None:
    past.create()
    past.keep()
    past.clock.advance(20 * DAY)
    now = past.clock.now()
    assert past.keep(RecoveryPeriodInDays=5)["EarliestRestorableDateTime"] == now - 5 * DAY
    assert past.keep(RecoveryPeriodInDays=10)["EarliestRestorableDateTime"] == now - 5 * DAY
    past.clock.advance(3 * DAY)
    assert past.window()[0] == now - 5 * DAY
    past.clock.advance(3 * DAY)
    assert past.window()[0] == past.clock.now() - 10 * DAY
    assert past.keep()["RecoveryPeriodInDays"] == 35
    past.clock.advance(DAY)
    assert past.window()[0] == past.clock.now() - 11 * DAY


def test_switching_off_and_on_again_begins_a_new_window(past: Past) -> None:
    past.make()
    past.keep()
    past.put(**item(1))
    past.clock.advance(1000)
    before = past.clock.now()
    assert past.forget() == {"PointInTimeRecoveryStatus": "DISABLED"}
    past.put(**item(2))
    past.clock.advance(1)
    past.keep()
    assert past.window()[0] == past.clock.now()
    refused = past.refused(
        "RestoreTableToPointInTime", SourceTableName="abc", TargetTableName="target", RestoreDateTime=before
    )
    assert refused[0] == "InvalidRestoreTimeException"
    now = past.clock.now()
    past.clock.advance(1)
    past.put(**item(3))
    past.clock.advance(LAG)
    assert past.restored(now).keys() == {name_of(1), name_of(2)}


def test_the_log_is_kept_as_long_as_the_window(past: Past) -> None:
    past.make()
    past.keep(RecoveryPeriodInDays=1)
    past.put(**item(1))
    past.clock.advance(DAY - 1)
    past.put(**item(2))
    past.finish()
    assert entries(past) == 2
    past.clock.advance(2)
    past.finish()
    past.clock.advance(61)
    past.finish()
    assert entries(past) == 1
    past.forget()
    past.clock.advance(61)
    past.finish()
    assert entries(past) == 0


def test_every_moment_comes_back(kept: Past) -> None:
    states: dict[float, Items] = {kept.clock.now(): kept.items()}
    for seed in range(3):
        kept.clock.advance(60)
        change(kept, seed)
        states[kept.clock.now()] = kept.items()
    kept.clock.advance(LAG + 59)
    for number, (at, state) in enumerate(states.items()):
        assert kept.restored(at, f"target{number}") == state
        assert kept.restored(at + 59, f"later{number}") == state
    assert kept.describe("target0")["RestoreSummary"] == {
        "SourceTableArn": kept.describe()["TableArn"],
        "RestoreDateTime": min(states),
        "RestoreInProgress": False,
    }


def test_the_latest_moment(kept: Past) -> None:
    kept.clock.advance(1000)
    before = kept.items()
    kept.clock.advance(1)
    kept.put(**item(9999))
    kept.clock.advance(LAG - 1)
    kept.call(
        "RestoreTableToPointInTime",
        SourceTableArn=kept.describe()["TableArn"],
        TargetTableName="target",
        UseLatestRestorableTime=True,
    )
    kept.finish()
    assert kept.checked("target") == before


def test_writes_during_a_restore_are_not_in_it(kept: Past) -> None:
    kept.clock.advance(60)
    at, state = kept.clock.now(), kept.items()
    kept.clock.advance(1)
    change(kept, 1)
    kept.clock.advance(LAG)
    kept.call("RestoreTableToPointInTime", SourceTableName="abc", TargetTableName="target", RestoreDateTime=at)
    seed = 100
    while kept.engine.run_jobs():
        change(kept, seed, 20)
        seed += 1
    assert seed > 103
    assert kept.checked("target") == state


@pytest.mark.parametrize("steps", range(0, 8, 1))
def test_a_restore_that_a_restart_cut_off_begins_again(kept: Past, steps: int) -> None:
    kept.clock.advance(60)
    at, state = kept.clock.now(), kept.items()
    kept.clock.advance(1)
    change(kept, 1)
    kept.clock.advance(LAG)
    kept.call("RestoreTableToPointInTime", SourceTableName="abc", TargetTableName="target", RestoreDateTime=at)
    kept.engine.run_jobs(steps)
    kept.restart()
    kept.check()
    change(kept, 2, 50)
    kept.finish()
    assert kept.checked("target") == state


def test_what_a_running_restore_holds(kept: Past) -> None:
    kept.clock.advance(60)
    at, state = kept.clock.now(), kept.items()
    kept.keep(RecoveryPeriodInDays=1)
    kept.clock.advance(1)
    change(kept, 1)
    kept.clock.advance(DAY - 2)
    kept.finish()
    kept.call("RestoreTableToPointInTime", SourceTableName="abc", TargetTableName="target", RestoreDateTime=at)
    assert kept.refused("DeleteTable", TableName="abc")[0] == "ResourceInUseException"
    assert (
        kept.refused(
            "UpdateContinuousBackups",
            TableName="abc",
            PointInTimeRecoverySpecification={"PointInTimeRecoveryEnabled": False},
        )[0]
        == "ContinuousBackupsUnavailableException"
    )
    kept.clock.advance(DAY)
    kept.engine.log.trim()
    kept.restart()
    kept.engine.log.trim()
    kept.finish()
    assert kept.checked("target") == state
    kept.delete()


def test_a_restore_whose_source_is_gone_after_a_restart_ends(kept: Past) -> None:
    kept.call(
        "RestoreTableToPointInTime", SourceTableName="abc", TargetTableName="target", UseLatestRestorableTime=True
    )
    kept.engine.run_jobs()
    kept.engine.catalog.remove(kept.world, kept.world.tables["abc"])
    kept.restart()
    kept.finish()
    assert kept.call("ListTables")["TableNames"] == []
    kept.check()


def test_settings_are_those_of_now(past: Past) -> None:
    past.create(BillingMode="PROVISIONED", ProvisionedThroughput=units(1, 1))
    past.keep()
    past.clock.advance(600)
    past.update(ProvisionedThroughput=units(3, 4))
    past.call(
        "RestoreTableToPointInTime", SourceTableName="abc", TargetTableName="target", RestoreDateTime=past.window()[0]
    )
    past.finish()
    assert past.describe("target")["ProvisionedThroughput"]["WriteCapacityUnits"] == 4


def test_an_index_that_is_newer_than_the_moment_is_filled(past: Past) -> None:
    past.make()
    past.put(**item(1))
    past.keep()
    past.clock.advance(60)
    past.put(**item(2) | {"late": {"S": "z"}})
    past.update(
        AttributeDefinitions=[{"AttributeName": "late", "AttributeType": "S"}],
        GlobalSecondaryIndexUpdates=[{"Create": index("late", "late")}],
    )
    past.finish()
    past.call("DeleteItem", TableName="abc", Key={"p": {"S": "p2"}, "s": {"N": "2"}})
    past.clock.advance(LAG)
    found = past.restored(past.window()[1])
    assert found.keys() == {name_of(1)}
    assert past.items("target", "late") == {}


def test_a_table_of_another_region_is_restored(kept: Past) -> None:
    state, arn = kept.items(), kept.describe()["TableArn"]
    kept.clock.advance(LAG)
    kept.world = kept.engine.world(ACCOUNT, "eu-west-1")
    kept.call("RestoreTableToPointInTime", SourceTableArn=arn, TargetTableName="abc", UseLatestRestorableTime=True)
    kept.finish()
    assert kept.checked("abc") == state
    kept.world = kept.engine.world("999999999999", REGION)
    refused = kept.refused(
        "RestoreTableToPointInTime", SourceTableArn=arn, TargetTableName="abc", UseLatestRestorableTime=True
    )
    assert refused == ("TableNotFoundException", f"Table not found: {arn}")


def refused_restore(past: Past, **body: Any) -> tuple[str, str | None]:
    return past.refused("RestoreTableToPointInTime", TargetTableName=body.pop("TargetTableName", "target"), **body)


def test_requests_that_are_refused() -> None:
    past = in_memory()
    past.make()
    past.keep()
    now = past.clock.now()
    past.clock.advance(1000)
    arn = past.describe()["TableArn"]
    one = {"SourceTableName": "abc", "RestoreDateTime": now}
    assert refused_restore(past, RestoreDateTime=now)[0] == "ValidationException"
    assert refused_restore(past, **one, SourceTableArn=arn)[0] == "ValidationException"
    assert refused_restore(past, SourceTableName="abc")[0] == "ValidationException"
    assert refused_restore(past, **one, UseLatestRestorableTime=True)[0] == "ValidationException"
    assert refused_restore(past, SourceTableName="none", RestoreDateTime=now) == (
        "TableNotFoundException",
        "Table not found: none",
    )
    assert refused_restore(past, **one, TargetTableName="abc")[0] == "TableAlreadyExistsException"
    for at in (now - 1, now + 1000 - LAG + 1, now + 5000):
        assert refused_restore(past, SourceTableName="abc", RestoreDateTime=at)[0] == "InvalidRestoreTimeException"
    warm = index(
        "global", "g", Projection={"ProjectionType": "KEYS_ONLY"}, WarmThroughput={"ReadUnitsPerSecond": 20000}
    )
    assert refused_restore(past, **one, GlobalSecondaryIndexOverride=[warm]) == (
        "ValidationException",
        f"{INVALID}WarmThroughput is not supported for index: global",
    )


def test_a_new_table_has_no_past_yet() -> None:
    past = in_memory(transition_seconds=5.0)
    past.create()
    specification = {"PointInTimeRecoveryEnabled": True}
    assert past.refused("UpdateContinuousBackups", TableName="abc", PointInTimeRecoverySpecification=specification) == (
        "ContinuousBackupsUnavailableException",
        "Backups are being enabled for the table: abc. Please retry later",
    )


def test_no_more_than_fifty_restores_at_once() -> None:
    past = in_memory()
    past.create()
    past.keep()
    for number in range(50):
        past.call(
            "RestoreTableToPointInTime",
            SourceTableName="abc",
            TargetTableName=f"target{number}",
            UseLatestRestorableTime=True,
        )
    assert refused_restore(past, SourceTableName="abc", UseLatestRestorableTime=True)[0] == "LimitExceededException"
    past.finish()
    past.call(
        "RestoreTableToPointInTime", SourceTableName="abc", TargetTableName="target", UseLatestRestorableTime=True
    )


def test_a_piece_of_large_items_is_small(past: Past) -> None:
    past.make()
    for number in range(12):
        past.put(**item(number) | {"text": {"S": "x" * 150_000}})
    past.keep()
    before = past.items()
    past.clock.advance(60)
    for number in range(12):
        past.put(**item(number) | {"text": {"S": "y" * 150_000}})
    past.clock.advance(LAG)
    past.call(
        "RestoreTableToPointInTime", SourceTableName="abc", TargetTableName="target", RestoreDateTime=past.window()[0]
    )
    past.engine.run_jobs()
    assert past.store.counters(past.world.tables["target"].counters_key, 2)[0] == 7
    past.finish()
    assert past.checked("target") == before


# The property: a restore to any second equals a model that remembers every second.

numbers = st.integers(0, 6)
puts = st.tuples(st.just("put"), numbers, st.sampled_from("abc"))
updates = st.tuples(st.just("update"), numbers, st.sampled_from("abc"))
deletes = st.tuples(st.just("delete"), numbers, st.none())
waits = st.tuples(st.just("wait"), st.none(), st.floats(0.001, 5) | st.integers(1, 5))
restarts = st.tuples(st.just("restart"), st.none(), st.none())
histories = st.lists(puts | puts | updates | deletes | waits | waits | restarts, max_size=60)


def play(past: Past, history: list[tuple[str, Any, Any]]) -> list[tuple[float, Items]]:
    """Do what the history says; from when on the table had which items."""
    states = [(past.clock.now(), past.items())]
    for what, number, value in history:
        key: Body = {} if number is None else {"p": {"S": f"p{number % 7}"}, "s": {"N": str(number)}}
        if what == "put":
            past.put(**key, g={"S": value}, text={"S": value * 3})
        elif what == "update":
            past.call(
                "UpdateItem",
                TableName="abc",
                Key=deepcopy(key),
                UpdateExpression="SET l = :v REMOVE g",
                ExpressionAttributeValues={":v": {"S": value}},
            )
        elif what == "delete":
            past.call("DeleteItem", TableName="abc", Key=key)
        elif what == "wait":
            past.clock.advance(value)
        else:
            past.restart()
        states.append((past.clock.now(), past.items()))
    return states


def check_any_second(make: Callable[[], Past], history: list[tuple[str, Any, Any]], data: st.DataObject) -> None:
    past = make()
    try:
        past.make()
        past.put(**item(0))
        past.put(**item(5))
        past.keep()
        states = play(past, history)
        past.clock.advance(LAG + 1)
        earliest, latest = past.window()
        at = data.draw(st.integers(int(earliest), int(latest)), label="at")
        expected = next(state for moment, state in reversed(states) if moment <= at + 0.001)
        cut_off_after = data.draw(st.none() | st.integers(0, 2), label="restart after")
        if cut_off_after is not None:
            past.call("RestoreTableToPointInTime", SourceTableName="abc", TargetTableName="cut", RestoreDateTime=at)
            past.engine.run_jobs(cut_off_after)
            past.restart()
            past.finish()
            assert past.checked("cut") == expected
        assert past.restored(at) == expected
    finally:
        past.engine.close()


QUICK = settings(deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)


@settings(QUICK, max_examples=150)
@given(histories, st.data())
def test_restoring_to_any_second_equals_the_model_at_that_second(
    history: list[tuple[str, Any, Any]], data: st.DataObject
) -> None:
    check_any_second(in_memory, history, data)


@pytest.mark.slow
@settings(QUICK, max_examples=15)
@given(history=histories, data=st.data())
def test_restoring_to_any_second_on_disk(
    tmp_path: Path, history: list[tuple[str, Any, Any]], data: st.DataObject
) -> None:
    check_any_second(lambda: on_disk(tmp_path / str(uuid4())), history, data)
