"""Pages: whatever the Limit, the direction, the index or the segment, the pages together are the whole, once."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dynamometer.base.limits import MIB
from tests.unit.protocol import Body, Protocol, Refused, item

SORT_KEYS = {
    "S": [{"S": text} for text in ("", "a", "a\x00", "a\x00b", "ab", "b", "z", "é", "ÿ", "\uffff", "\U0001f600")][1:],
    "N": [{"N": text} for text in ("-1000000000000", "-10", "-2.5", "-1", "-0.001", "0", "0.5", "2", "10", "1e20")],
    "B": [{"B": text} for text in ("AA==", "AAA=", "AQ==", "fw==", "gA==", "/w==", "//8=")],
}
"""In the service's order: UTF-8 bytes, value, unsigned bytes."""


@pytest.fixture(scope="module")
def protocol() -> Protocol:
    made = Protocol()
    for kind, sort_keys in SORT_KEYS.items():
        made.create(kind * 3, f"p:S c:{kind}", {"global1": (f"g:S c:{kind}", "KEYS_ONLY")})
        for partition in "pq":
            for number, sort_key in enumerate(sort_keys):
                stored = item(p=partition, c=sort_key, g="g", number=number)
                made.call("PutItem", TableName=kind * 3, Item=stored)
    return made


def pages(protocol: Protocol, operation: str, **body: Any) -> list[Body]:
    """Every item of every page."""
    found: list[Body] = []
    start: Body = {}
    while True:
        answer = protocol.call(operation, **body, **start)
        found += answer["Items"]
        if "LastEvaluatedKey" not in answer:
            return found
        assert "Limit" not in body or answer["ScannedCount"] == body["Limit"]
        start = {"ExclusiveStartKey": answer["LastEvaluatedKey"]}


@pytest.mark.parametrize("kind", SORT_KEYS)
@pytest.mark.parametrize("limit", [1, 2, 3, 100])
@pytest.mark.parametrize("forward", [True, False])
def test_a_collection_in_the_order_of_its_sort_keys(protocol: Protocol, kind: str, limit: int, forward: bool) -> None:
    found = pages(
        protocol,
        "Query",
        TableName=kind * 3,
        KeyConditionExpression="p = :p",
        ExpressionAttributeValues={":p": {"S": "p"}},
        Limit=limit,
        ScanIndexForward=forward,
    )
    numbers = [int(each["number"]["N"]) for each in found]
    assert numbers == sorted(range(len(SORT_KEYS[kind])), reverse=not forward)


@settings(max_examples=60, deadline=None)
@given(
    kind=st.sampled_from(sorted(SORT_KEYS)),
    low=st.integers(0, 9),
    high=st.integers(0, 9),
    operator=st.sampled_from(["<", "<=", ">", ">=", "=", "BETWEEN"]),
    limit=st.integers(1, 5),
    forward=st.booleans(),
)
def test_every_range_of_a_collection(
    protocol: Protocol, kind: str, low: int, high: int, operator: str, limit: int, forward: bool
) -> None:
    keys = SORT_KEYS[kind]
    low, high = sorted((low % len(keys), high % len(keys)))
    values = {":p": {"S": "q"}, ":a": keys[low]}
    condition = f"p = :p AND c {operator} :a"
    if operator == "BETWEEN":
        condition, values[":b"] = "p = :p AND c BETWEEN :a AND :b", keys[high]
    found = pages(
        protocol,
        "Query",
        TableName=kind * 3,
        KeyConditionExpression=condition,
        ExpressionAttributeValues=values,
        Limit=limit,
        ScanIndexForward=forward,
    )
    expected = {
        "<": range(low),
        "<=": range(low + 1),
        ">": range(low + 1, len(keys)),
        ">=": range(low, len(keys)),
        "=": range(low, low + 1),
        "BETWEEN": range(low, high + 1),
    }[operator]
    assert [int(each["number"]["N"]) for each in found] == sorted(expected, reverse=not forward)


def test_a_prefix_is_taken_by_its_bytes(protocol: Protocol) -> None:
    found = pages(
        protocol,
        "Query",
        TableName="SSS",
        KeyConditionExpression="p = :p AND begins_with(c, :a)",
        ExpressionAttributeValues={":p": {"S": "p"}, ":a": {"S": "a\x00"}},
    )
    assert [each["c"]["S"] for each in found] == ["a\x00", "a\x00b"]


@pytest.mark.parametrize("index", [None, "global1"])
@pytest.mark.parametrize("limit", [1, 3, 100])
@pytest.mark.parametrize("segments", [1, 2, 7])
def test_segments_and_their_pages_are_the_whole(
    protocol: Protocol, index: str | None, limit: int, segments: int
) -> None:
    found = []
    for segment in range(segments):
        body: Body = {"TableName": "NNN", "Limit": limit}
        if index is not None:
            body["IndexName"] = index
        if segments > 1:
            body |= {"Segment": segment, "TotalSegments": segments}
        found += pages(protocol, "Scan", **body)
    places = sorted((each["p"]["S"], float(each["c"]["N"])) for each in found)
    assert places == sorted((partition, float(key["N"])) for partition in "pq" for key in SORT_KEYS["N"])


def test_items_that_share_an_index_key_are_neither_lost_nor_repeated() -> None:
    protocol = Protocol()
    protocol.create("abc", "p:S", {"global1": ("g:S h:N", "ALL")})
    for number in range(20):
        protocol.call("PutItem", TableName="abc", Item=item(p=str(number), g="g", h=number // 10))
    found = pages(
        protocol,
        "Query",
        TableName="abc",
        IndexName="global1",
        KeyConditionExpression="g = :g",
        ExpressionAttributeValues={":g": {"S": "g"}},
        Limit=3,
    )
    assert len(found) == 20
    assert {each["p"]["S"] for each in found} == {str(number) for number in range(20)}
    assert [each["h"]["N"] for each in found] == ["0"] * 10 + ["1"] * 10


def test_the_key_condition_of_several_attributes_pages_too() -> None:
    protocol = Protocol()
    protocol.create("abc", "p:S", {"global1": ("a:S+ b:N+ c:S d:N", "ALL")})
    for number in range(12):
        stored = item(p=str(number), a="x", b=1, c="mn"[number % 2], d=number)
        protocol.call("PutItem", TableName="abc", Item=stored)
    protocol.call("PutItem", TableName="abc", Item=item(p="sparse", a="x", b=1, c="m"))
    body: Body = {
        "TableName": "abc",
        "IndexName": "global1",
        "KeyConditionExpression": "a = :a AND b = :b AND c = :c AND d >= :d",
        "ExpressionAttributeValues": {":a": {"S": "x"}, ":b": {"N": "1"}, ":c": {"S": "n"}, ":d": {"N": "3"}},
    }
    for limit in (1, 2, 50):
        found = pages(protocol, "Query", **body, Limit=limit)
        assert [each["d"]["N"] for each in found] == ["3", "5", "7", "9", "11"]
    with pytest.raises(Refused, match=r"Query condition missed key schema element|HASH key attributes"):
        protocol.call(
            "Query",
            **body
            | {
                "KeyConditionExpression": "a = :a AND c = :c AND d >= :d",
                "ExpressionAttributeValues": {":a": {"S": "x"}, ":c": {"S": "n"}, ":d": {"N": "3"}},
            },
        )


def test_a_filter_hides_items_but_not_from_the_limit(protocol: Protocol) -> None:
    answer = protocol.call(
        "Query",
        TableName="NNN",
        KeyConditionExpression="p = :p",
        FilterExpression="#n = :n",
        ExpressionAttributeNames={"#n": "number"},
        ExpressionAttributeValues={":p": {"S": "p"}, ":n": {"N": "4"}},
        Limit=5,
    )
    assert (answer["Count"], answer["ScannedCount"]) == (1, 5)
    assert answer["LastEvaluatedKey"] == item(p="p", c={"N": "-0.001"})


def test_a_page_that_ends_exactly_names_its_last_item(protocol: Protocol) -> None:
    body: Body = {
        "TableName": "NNN",
        "KeyConditionExpression": "p = :p",
        "ExpressionAttributeValues": {":p": {"S": "p"}},
        "Limit": len(SORT_KEYS["N"]),
    }
    answer = protocol.call("Query", **body)
    assert "LastEvaluatedKey" in answer
    rest = protocol.call("Query", **body, ExclusiveStartKey=answer["LastEvaluatedKey"])
    assert (rest["Count"], rest["Items"], "LastEvaluatedKey" in rest) == (0, [], False)


def test_a_page_ends_with_the_item_that_fills_a_megabyte() -> None:
    protocol = Protocol()
    protocol.create("abc", "p:S c:N")
    for number in range(12):
        protocol.call("PutItem", TableName="abc", Item=item(p="p", c=number, text="x" * 99_995))
    size = 100_005
    body: Body = {
        "TableName": "abc",
        "KeyConditionExpression": "p = :p",
        "ExpressionAttributeValues": {":p": {"S": "p"}},
        "ReturnConsumedCapacity": "TOTAL",
    }
    answer = protocol.call("Query", **body)
    assert answer["Count"] == -(-MIB // size) == 11
    assert answer["ConsumedCapacity"]["CapacityUnits"] == -(-11 * size // 4096) / 2
    rest = protocol.call("Query", **body, ExclusiveStartKey=answer["LastEvaluatedKey"])
    assert rest["Count"] == 1
    counted = protocol.call("Query", **body, Select="COUNT")
    assert (counted["Count"], "Items" in counted, "LastEvaluatedKey" in counted) == (11, False, True)
