"""Time to live: what expires, when it is deleted, and what a deletion leaves behind."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dynamometer.engine.reaper import STEP_ITEMS
from tests.unit.engine.streaming import HOUR, Streaming, brief

YEAR = 365 * 24 * HOUR
LAG = 120


def number(value: float) -> dict[str, str]:
    return {"N": f"{value:f}"}


def set_ttl(at: Streaming, enabled: bool = True, attribute: str = "ttl") -> None:
    at.client.update_time_to_live(
        TableName="tab", TimeToLiveSpecification={"Enabled": enabled, "AttributeName": attribute}
    )


def status(at: Streaming) -> dict[str, Any]:
    answer: dict[str, Any] = at.client.describe_time_to_live(TableName="tab")["TimeToLiveDescription"]
    return answer


def pass_time(at: Streaming, seconds: float) -> None:
    at.clock.advance(seconds)
    at.db.catch_up()


@pytest.fixture
def at() -> Iterator[Streaming]:
    made = Streaming()
    yield made
    made.db.close()


@pytest.fixture
def expiring(at: Streaming) -> Streaming:
    at.create()
    set_ttl(at)
    return at


def test_an_expired_item_is_there_until_the_lag_has_passed(expiring: Streaming) -> None:
    at = expiring
    at.put("a", ttl=number(at.clock.now() + 10))
    at.put("b")
    pass_time(at, 10 + LAG)
    assert at.keys() == ["a", "b"]
    pass_time(at, 1)
    assert at.keys() == ["b"]
    at.assert_consistent()


def test_the_lag_is_a_setting() -> None:
    at = Streaming(ttl_lag_seconds=0)
    at.create()
    set_ttl(at)
    at.put("a", ttl=number(at.clock.now() + 10))
    pass_time(at, 10)
    assert at.keys() == ["a"], "an item has expired when its time is past, not when it is now"
    pass_time(at, 1)
    assert at.keys() == []


def test_a_deletion_is_done_beside_the_next_request_too(expiring: Streaming) -> None:
    at = expiring
    at.put("a", ttl=number(at.clock.now()))
    at.clock.advance(LAG + 1)
    at.keys()
    assert at.keys() == []


@pytest.mark.parametrize(
    "value",
    [
        {"S": "1600000000"},
        {"N": "0"},
        {"N": "-5"},
        {"N": "1" + "0" * 30},
        {"N": "1000"},
        {"NS": ["1600000000"]},
        {"M": {"ttl": {"N": "1600000000"}}},
        {"NULL": True},
    ],
)
def test_what_is_no_moment_of_the_last_five_years_never_expires(expiring: Streaming, value: Any) -> None:
    at = expiring
    at.put("a", ttl=value)
    pass_time(at, 10 * HOUR)
    assert at.keys() == ["a"]
    at.assert_consistent()


def test_what_expired_over_five_years_ago_stays(expiring: Streaming) -> None:
    at = expiring
    at.put("old", ttl=number(at.clock.now() - 5 * YEAR - 1))
    at.put("young", ttl=number(at.clock.now() - 5 * YEAR + 60))
    pass_time(at, 1)
    assert at.keys() == ["old"]


@pytest.mark.parametrize("value", ["1700000010.9", "1.7000000109e9"])
def test_fractions_and_exponents_count_as_their_value(value: str) -> None:
    at = Streaming(ttl_lag_seconds=0)
    at.create()
    set_ttl(at)
    at.put("a", ttl={"N": value})
    pass_time(at, 10.95)
    assert at.keys() == ["a"]
    pass_time(at, 0.05)
    assert at.keys() == []
    at.assert_consistent()


@pytest.mark.parametrize("way", ["later", "removed", "another type", "put"])
def test_whoever_changes_the_value_in_time_saves_the_item(expiring: Streaming, way: str) -> None:
    at = expiring
    at.put("a", ttl=number(at.clock.now()))
    at.clock.advance(LAG - 1)
    if way == "later":
        at.update("a", "SET #t = :t", names={"#t": "ttl"}, t=number(at.clock.now() + HOUR))
    elif way == "removed":
        at.update("a", "REMOVE #t", names={"#t": "ttl"})
    elif way == "another type":
        at.update("a", "SET #t = :t", names={"#t": "ttl"}, t={"S": "never"})
    else:
        at.put("a")
    pass_time(at, HOUR // 2)
    assert at.keys() == ["a"]
    pass_time(at, HOUR)
    assert at.keys() == ([] if way == "later" else ["a"])
    at.assert_consistent()


def test_a_key_may_be_the_moment(at: Streaming) -> None:
    at.create(
        KeySchema=[{"AttributeName": "p", "KeyType": "HASH"}, {"AttributeName": "ttl", "KeyType": "RANGE"}],
        AttributeDefinitions=[
            {"AttributeName": "p", "AttributeType": "S"},
            {"AttributeName": "ttl", "AttributeType": "N"},
        ],
    )
    set_ttl(at)
    at.put("a", ttl=number(at.clock.now()))
    pass_time(at, LAG + 1)
    assert at.keys() == []


def test_a_deletion_is_marked_in_the_stream_and_costs_no_units(at: Streaming) -> None:
    arn = at.create()
    set_ttl(at)
    at.put("a", ttl=number(at.clock.now()), v={"S": "x"})
    at.put("b", ttl=number(at.clock.now()))
    at.delete("b")
    pass_time(at, LAG + 1)
    records = at.read(arn)
    assert sorted(brief(records)) == [("INSERT", "a"), ("INSERT", "b"), ("REMOVE", "a"), ("REMOVE", "b")]
    removals = {record["dynamodb"]["Keys"]["p"]["S"]: record for record in records if record["eventName"] == "REMOVE"}
    assert removals["a"]["userIdentity"] == {"PrincipalId": "dynamodb.amazonaws.com", "Type": "Service"}
    assert "userIdentity" not in removals["b"]
    assert removals["a"]["dynamodb"]["OldImage"]["v"] == {"S": "x"}


def test_entries_of_all_indexes_go_with_the_item(at: Streaming) -> None:
    names = ("p", "s", "l", "g")
    projection = {"ProjectionType": "ALL"}
    at.create(
        KeySchema=[{"AttributeName": "p", "KeyType": "HASH"}, {"AttributeName": "s", "KeyType": "RANGE"}],
        AttributeDefinitions=[{"AttributeName": name, "AttributeType": "S"} for name in names],
        LocalSecondaryIndexes=[
            {
                "IndexName": "local",
                "KeySchema": [{"AttributeName": "p", "KeyType": "HASH"}, {"AttributeName": "l", "KeyType": "RANGE"}],
                "Projection": projection,
            }
        ],
        GlobalSecondaryIndexes=[
            {"IndexName": "global", "KeySchema": [{"AttributeName": "g", "KeyType": "HASH"}], "Projection": projection}
        ],
    )
    set_ttl(at)
    text = {name: {"S": name} for name in names[1:]}
    at.put("a", ttl=number(at.clock.now()), **text)
    at.put("b", **text)
    pass_time(at, LAG + 1)
    for index in ("local", "global"):
        found = at.client.scan(TableName="tab", IndexName=index)["Items"]
        assert [item["p"]["S"] for item in found] == ["b"]
    at.assert_consistent()


def test_many_items_are_deleted_in_one_go(expiring: Streaming) -> None:
    at = expiring
    for key in range(STEP_ITEMS * 2 + 3):
        at.put(f"{key}", ttl=number(at.clock.now()))
    pass_time(at, LAG + 1)
    assert at.keys() == []


# --- Turning it on and off ---


def test_items_that_were_there_before_expire_too(at: Streaming) -> None:
    at.create(None)
    for key in range(STEP_ITEMS + 5):
        at.put(f"{key:04}", ttl=number(at.clock.now()))
    at.put("stays")
    set_ttl(at)
    pass_time(at, LAG + 1)
    assert at.keys() == ["stays"]
    at.assert_consistent()


def test_an_interrupted_backfill_is_resumed(tmp_path: Path) -> None:
    at = Streaming(tmp_path)
    at.create(None)
    for key in range(STEP_ITEMS * 3):
        at.put(f"{key:04}", ttl=number(at.clock.now()))
    set_ttl(at)
    assert at.db.engine.jobs, "it is not done yet"
    at.reopen()
    assert at.db.engine.jobs
    pass_time(at, LAG + 1)
    assert at.keys() == []
    at.reopen()
    assert not at.db.engine.jobs
    at.assert_consistent()
    at.db.close()


def test_nothing_expires_once_it_is_disabled(expiring: Streaming) -> None:
    at = expiring
    at.put("a", ttl=number(at.clock.now()))
    set_ttl(at, enabled=False)
    assert status(at) == {"TimeToLiveStatus": "DISABLED"}
    pass_time(at, HOUR)
    assert at.keys() == ["a"]
    set_ttl(at, attribute="other")
    at.put("b", other=number(at.clock.now()))
    pass_time(at, LAG + 1)
    assert at.keys() == ["a"]
    at.assert_consistent()


def test_a_crash_while_it_is_disabled_leaves_no_entries_behind(tmp_path: Path) -> None:
    at = Streaming(tmp_path)
    at.create(None)
    set_ttl(at)
    at.put("a", ttl=number(at.clock.now()))
    kept = list(at.db.engine.store.range(b"x", b"y"))
    set_ttl(at, enabled=False)
    transaction = at.db.engine.store.begin()
    for key, value in kept:
        transaction.put(key, value)
    transaction.commit()
    at.reopen()
    at.assert_consistent()
    assert len(kept) == 1 and not list(at.db.engine.store.range(b"x", b"y"))
    at.db.close()


def test_states_take_their_time_and_changes_at_once_are_refused() -> None:
    at = Streaming(table_transition_seconds=10.0)
    at.create(None)
    at.clock.advance(10)
    assert status(at) == {"TimeToLiveStatus": "DISABLED"}
    set_ttl(at)
    assert status(at) == {"TimeToLiveStatus": "ENABLING", "AttributeName": "ttl"}
    specification = {"Enabled": False, "AttributeName": "ttl"}
    body: dict[str, Any] = {"TableName": "tab", "TimeToLiveSpecification": specification}
    assert at.refused(at.client.update_time_to_live, **body) == (
        "ValidationException",
        "Time to live has been modified multiple times within a fixed interval",
    )
    at.clock.advance(10)
    assert status(at) == {"TimeToLiveStatus": "ENABLED", "AttributeName": "ttl"}
    set_ttl(at, enabled=False)
    assert status(at) == {"TimeToLiveStatus": "DISABLING", "AttributeName": "ttl"}


def test_refusals(at: Streaming) -> None:
    at.create(None)

    def refusal(enabled: bool, attribute: str, table: str = "tab") -> tuple[str, str]:
        specification = {"Enabled": enabled, "AttributeName": attribute}
        return at.refused(at.client.update_time_to_live, TableName=table, TimeToLiveSpecification=specification)

    assert refusal(False, "ttl") == ("ValidationException", "TimeToLive is already disabled")
    set_ttl(at)
    assert refusal(True, "ttl") == ("ValidationException", "TimeToLive is already enabled")
    different = "TimeToLive is active on a different AttributeName: current AttributeName is ttl"
    assert refusal(True, "other") == ("ValidationException", different)
    assert refusal(False, "other") == ("ValidationException", different)
    missing = ("ResourceNotFoundException", "Requested resource not found: Table: none not found")
    assert refusal(True, "ttl", "none") == missing
    assert at.refused(at.client.describe_time_to_live, TableName="none") == missing


def test_a_deleted_table_leaves_no_entries(expiring: Streaming) -> None:
    at = expiring
    at.put("a", ttl=number(at.clock.now()))
    at.client.delete_table(TableName="tab")
    assert not list(at.db.engine.store.range(b"x", b"y"))
    at.assert_consistent()
