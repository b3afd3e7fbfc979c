"""Contributor insights: states, lists, and the keys that they find."""

from __future__ import annotations

import random
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynamometer.engine.insights import Contributors
from dynamometer.engine.sketch import Sketch
from tests.unit.engine.tables import Body, Tables, index, key, types

ALL = "ACCESSED_AND_THROTTLED_KEYS"
THROTTLED = "THROTTLED_KEYS"


@pytest.fixture
def tables() -> Tables:
    tables = Tables()
    tables.create(
        KeySchema=key("p", "s"),
        AttributeDefinitions=types(p="S", s="N", q="S"),
        GlobalSecondaryIndexes=[index("gsi", "q")],
        LocalSecondaryIndexes=[index("lsi", "p", "q")],
    )
    return tables


def switch(tables: Tables, action: str, **more: str) -> Body:
    return tables.call("UpdateContributorInsights", TableName="abc", ContributorInsightsAction=action, **more)


def described(tables: Tables, **more: str) -> Body:
    return tables.call("DescribeContributorInsights", TableName="abc", **more)


def listed(tables: Tables, **more: object) -> list[Body]:
    summaries: list[Body] = tables.call("ListContributorInsights", **more)["ContributorInsightsSummaries"]
    return summaries


def counted(tables: Tables, name: str | None = None) -> dict[str, dict[tuple[str, ...], int]]:
    table = tables.world.tables["abc"]
    found = table.insights if name is None else table.indexes[name].insights
    assert found is not None
    return {kind: {each.key: each.count for each in keys} for kind, keys in found.report().items()}


# --- States ------------------------------------------------------------------------------------------------------


def test_table_that_was_never_asked_has_none(tables: Tables) -> None:
    assert described(tables) == {"TableName": "abc", "ContributorInsightsStatus": "DISABLED"}
    assert switch(tables, "DISABLE") == {"TableName": "abc", "ContributorInsightsStatus": "DISABLED"}
    assert listed(tables) == []


def test_switched_on_and_off(tables: Tables) -> None:
    now, moment = tables.clock.now(), int(tables.clock.now() * 1000)
    on = {"TableName": "abc", "ContributorInsightsStatus": "ENABLING", "ContributorInsightsMode": ALL}
    assert switch(tables, "ENABLE") == on
    assert described(tables) == on | {
        "ContributorInsightsStatus": "ENABLED",
        "LastUpdateDateTime": now,
        "ContributorInsightsRuleList": [
            f"DynamoDBContributorInsights-{kind}-abc-{moment}" for kind in ("PKC", "PKT", "SKC", "SKT")
        ],
    }
    assert switch(tables, "ENABLE")["ContributorInsightsStatus"] == "ENABLED"
    tables.clock.advance(1)
    assert switch(tables, "ENABLE", ContributorInsightsMode=THROTTLED)["ContributorInsightsStatus"] == "ENABLING"
    assert described(tables)["ContributorInsightsRuleList"] == [
        f"DynamoDBContributorInsights-{kind}-abc-{moment}" for kind in ("PKT", "SKT")
    ]
    assert switch(tables, "DISABLE")["ContributorInsightsStatus"] == "DISABLING"
    assert described(tables) == {
        "TableName": "abc",
        "ContributorInsightsStatus": "DISABLED",
        "ContributorInsightsMode": THROTTLED,
        "LastUpdateDateTime": now + 1,
    }


def test_change_takes_time_and_survives_a_restart() -> None:
    tables = Tables(transition_seconds=5)
    tables.create()
    assert tables.refused("UpdateContributorInsights", TableName="abc", ContributorInsightsAction="ENABLE") == (
        "ValidationException",
        "Table or Index is not in a valid state to update Key Access Insights: TableStatus must be ACTIVE to enable "
        "ContributorInsights.",
    )
    tables.clock.advance(5)
    switch(tables, "ENABLE")
    tables.open()
    assert described(tables)["ContributorInsightsStatus"] == "ENABLING"
    assert "ContributorInsightsRuleList" not in described(tables)
    tables.clock.advance(5)
    assert described(tables)["ContributorInsightsStatus"] == "ENABLED"
    tables.put(p={"S": "a"})
    assert counted(tables) == {"PKC": {("a",): 1}, "PKT": {}}
    switch(tables, "DISABLE")
    assert listed(tables)[0]["ContributorInsightsStatus"] == "DISABLING"


@pytest.mark.parametrize("name", ["lsi", "nope"])
def test_only_tables_and_global_indexes_have_insights(tables: Tables, name: str) -> None:
    error = ("ResourceNotFoundException", f"Requested resource not found: Index: {name} not found for table: abc")
    assert tables.refused("DescribeContributorInsights", TableName="abc", IndexName=name) == error
    assert (
        tables.refused("UpdateContributorInsights", TableName="abc", IndexName=name, ContributorInsightsAction="ENABLE")
        == error
    )
    missing = ("ResourceNotFoundException", "Requested resource not found: Table: xyz not found")
    for operation in ("DescribeContributorInsights", "ListContributorInsights"):
        assert tables.refused(operation, TableName="xyz") == missing


def test_lists_have_tables_before_their_indexes_page_by_page(tables: Tables) -> None:
    tables.create("xyz")
    switch(tables, "ENABLE", IndexName="gsi")
    switch(tables, "ENABLE")
    tables.call("UpdateContributorInsights", TableName="xyz", ContributorInsightsAction="ENABLE")
    assert [(each["TableName"], each.get("IndexName")) for each in listed(tables)] == [
        ("abc", None),
        ("abc", "gsi"),
        ("xyz", None),
    ]
    assert listed(tables, TableName="abc") == listed(tables)[:2]
    pages, token = [], {}
    while True:
        page = tables.call("ListContributorInsights", MaxResults=1, **token)
        pages += page["ContributorInsightsSummaries"]
        if "NextToken" not in page:
            break
        token = {"NextToken": page["NextToken"]}
    assert pages == listed(tables)
    assert tables.refused("ListContributorInsights", NextToken="x") == ("ValidationException", "Invalid NextToken")
    switch(tables, "DISABLE")
    assert [each.get("IndexName") for each in listed(tables, TableName="abc")] == ["gsi"]


# --- Keys --------------------------------------------------------------------------------------------------------


def test_reads_and_writes_are_counted_by_key(tables: Tables) -> None:
    switch(tables, "ENABLE")
    item = {"p": {"S": "a"}, "s": {"N": "1"}}
    tables.put(**item)
    for _ in range(3):
        tables.call("GetItem", TableName="abc", Key=item)
    tables.call("BatchGetItem", RequestItems={"abc": {"Keys": [item, item | {"s": {"N": "2"}}]}})
    tables.call("DeleteItem", TableName="abc", Key={"p": {"S": "b"}, "s": {"N": "1.0"}})
    tables.call(
        "Query",
        TableName="abc",
        KeyConditionExpression="p = :p",
        ExpressionAttributeValues={":p": {"S": "b"}},
    )
    tables.call("Scan", TableName="abc")
    assert counted(tables) == {
        "PKC": {("a",): 6, ("b",): 2},
        "SKC": {("a", "1"): 5, ("a", "2"): 1, ("b", "1"): 1},
        "PKT": {},
        "SKT": {},
    }


def test_index_counts_its_own_keys(tables: Tables) -> None:
    switch(tables, "ENABLE", IndexName="gsi")
    item = {"p": {"S": "a"}, "s": {"N": "1"}}
    tables.put(**item)
    tables.put(**item, q={"S": "x"})
    tables.put(**item, q={"S": "y"})
    tables.call(
        "Query",
        TableName="abc",
        IndexName="gsi",
        KeyConditionExpression="q = :q",
        ExpressionAttributeValues={":q": {"S": "y"}},
    )
    assert counted(tables, "gsi") == {"PKC": {("x",): 2, ("y",): 2}, "PKT": {}}
    assert tables.world.tables["abc"].insights is None


def test_throttled_mode_counts_no_accesses(tables: Tables) -> None:
    switch(tables, "ENABLE", ContributorInsightsMode=THROTTLED)
    item = {"p": {"S": "a"}, "s": {"N": "1"}}
    tables.put(**item)
    found = tables.world.tables["abc"].insights
    assert isinstance(found, Contributors)
    found.throttled(item)
    assert counted(tables) == {"PKT": {("a",): 1}, "SKT": {("a", "1"): 1}}


def test_other_changes_of_the_table_keep_the_counts(tables: Tables) -> None:
    switch(tables, "ENABLE")
    tables.put(p={"S": "a"}, s={"N": "1"})
    tables.update(DeletionProtectionEnabled=True)
    assert counted(tables)["PKC"] == {("a",): 1}
    switch(tables, "DISABLE")
    assert tables.world.tables["abc"].insights is None


def test_deleted_index_takes_its_insights_with_it(tables: Tables) -> None:
    switch(tables, "ENABLE", IndexName="gsi")
    tables.update(GlobalSecondaryIndexUpdates=[{"Delete": {"IndexName": "gsi"}}])
    tables.describe()
    assert listed(tables) == []


# --- The sketch --------------------------------------------------------------------------------------------------


@given(st.lists(st.integers(0, 30), max_size=300), st.integers(1, 12))
def test_counts_are_never_too_low_and_no_more_than_their_error_too_high(keys: list[int], capacity: int) -> None:
    sketch: Sketch[int] = Sketch(capacity)
    for each in keys:
        sketch.add(each)
    exact, kept = Counter(keys), sketch.top(capacity)
    assert sketch.total == len(keys)
    assert len(kept) == min(capacity, len(exact))
    for each in kept:
        assert each.count - each.error <= exact[each.key] <= each.count
    frequent = {each for each, count in exact.items() if count > len(keys) / capacity}
    assert frequent <= {each.key for each in kept}
    assert [each.count for each in kept] == sorted((each.count for each in kept), reverse=True)


def test_hot_key_is_found_among_very_many() -> None:
    sketch: Sketch[int] = Sketch(100)
    chance = random.Random(1)
    for _ in range(20_000):
        sketch.add(7 if chance.random() < 0.05 else chance.randrange(1_000_000))
    assert sketch.top(1)[0].key == 7
