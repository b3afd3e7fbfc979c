"""Key attributes in requests: values that no key can have, paths that go into one, starting keys outside a range."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.protocol import Body, Protocol, Refused, item

EMPTY = (
    "One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an empty {} "
    "value. Key: {}"
)
PARTITION_TOO_LONG = (
    "One or more parameter values were invalid: Size of hashkey has exceeded the maximum size limit of2048 bytes"
)
SORT_TOO_LONG = (
    "One or more parameter values were invalid: Aggregated size of all range keys has exceeded the size limit of "
    "1024 bytes"
)
SCALARS = "Key attributes must be scalars; list random access '[]' and map lookup '.' are not allowed: "


@pytest.fixture(scope="module")
def protocol() -> Protocol:
    made = Protocol()
    made.create(
        "abc",
        "p:S c:S",
        {"local1": ("p:S l:S", "ALL"), "one": ("g:S", "ALL"), "several": ("m1:S+ m2:S+ n1:S n2:S", "ALL")},
    )
    made.create("binary", "p:B")
    for c in "123":
        made.call("PutItem", TableName="abc", Item=item(p="a", c=c))
    return made


def refused(protocol: Protocol, operation: str, **body: Any) -> str:
    with pytest.raises(Refused) as caught:
        protocol.call(operation, **body)
    assert caught.value.code == "ValidationException"
    return str(caught.value.message)


def query(condition: str, **values: str) -> Body:
    return {
        "TableName": "abc",
        "KeyConditionExpression": condition,
        "ExpressionAttributeValues": {f":{name}": {"S": value} for name, value in values.items()},
    }


SORT_CONDITIONS = ["c = :c", "c < :c", "c <= :c", "c > :c", "c >= :c", "begins_with(c, :c)", "c BETWEEN :c AND :c"]


@pytest.mark.parametrize("condition", SORT_CONDITIONS)
def test_a_query_for_an_empty_or_too_long_sort_key_is_refused(protocol: Protocol, condition: str) -> None:
    condition = f"p = :p AND {condition}"
    assert refused(protocol, "Query", **query(condition, p="a", c="")) == EMPTY.format("string", "c")
    assert refused(protocol, "Query", **query(condition, p="a", c="x" * 1025)) == SORT_TOO_LONG
    protocol.call("Query", **query(condition, p="a", c="x" * 1024))


def test_a_query_for_an_empty_or_too_long_partition_key_is_refused(protocol: Protocol) -> None:
    assert refused(protocol, "Query", **query("p = :p", p="")) == EMPTY.format("string", "p")
    assert refused(protocol, "Query", **query("g = :g", g=""), IndexName="one") == EMPTY.format("string", "g")
    binary = {"TableName": "binary", "KeyConditions": {"p": {"ComparisonOperator": "EQ"}}}
    binary["KeyConditions"]["p"]["AttributeValueList"] = [{"B": ""}]  # type: ignore[index]
    assert refused(protocol, "Query", **binary) == EMPTY.format("binary", "p")
    for length in (2049, 70_000):
        assert refused(protocol, "Query", **query("p = :p", p="x" * length)) == PARTITION_TOO_LONG
    assert protocol.call("Query", **query("p = :p", p="x" * 2048))["Count"] == 0


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ((1024, 1024, 512, 512), None),
        ((1024, 1025, 1, 1), PARTITION_TOO_LONG),
        ((1, 1, 512, 513), SORT_TOO_LONG),
    ],
)
def test_the_attributes_of_a_key_share_its_limit(
    protocol: Protocol, sizes: tuple[int, ...], message: str | None
) -> None:
    key = {name: "x" * size for name, size in zip(("m1", "m2", "n1", "n2"), sizes, strict=True)}
    wanted = query("m1 = :m1 AND m2 = :m2 AND n1 = :n1 AND n2 = :n2", **key) | {"IndexName": "several"}
    stored: Body = {"TableName": "abc", "Item": item(p="several", c="1", **key)}
    if message is None:
        protocol.call("PutItem", **stored)
        assert protocol.call("Query", **wanted)["Count"] == 1
    else:
        assert refused(protocol, "PutItem", **stored) == message
        assert refused(protocol, "Query", **wanted) == message


VALUE = {"ExpressionAttributeValues": {":v": {"S": "a"}}}
KEY = {"Key": item(p="a", c="1")}
PATHS = [
    ("GetItem", KEY | {"ProjectionExpression": "x, p.a"}, "Key: p"),
    ("GetItem", KEY | {"ProjectionExpression": "l[0]"}, "IndexKey: l"),
    ("Scan", {"ProjectionExpression": "c[0]"}, "Key: c"),
    ("Scan", {"FilterExpression": "g.a = :v"} | VALUE, "IndexKey: g"),
    ("Query", {"KeyConditionExpression": "p = :v", "ProjectionExpression": "p.a"} | VALUE, "Key: p"),
    ("Query", {"KeyConditionExpression": "p = :v", "FilterExpression": "l.a = :v"} | VALUE, "IndexKey: l"),
    ("UpdateItem", KEY | {"UpdateExpression": "SET n1.a = :v"} | VALUE, "IndexKey: n1"),
    ("UpdateItem", KEY | {"UpdateExpression": "SET x = if_not_exists(y, l[1])"}, "IndexKey: l"),
]


@pytest.mark.parametrize(("operation", "body", "which"), PATHS)
def test_no_path_goes_into_a_key(protocol: Protocol, operation: str, body: Body, which: str) -> None:
    assert refused(protocol, operation, TableName="abc", **body) == SCALARS + which


def test_nor_in_a_batch(protocol: Protocol) -> None:
    block = {"Keys": [item(p="a", c="1")], "ProjectionExpression": "p.a"}
    assert refused(protocol, "BatchGetItem", RequestItems={"abc": block}) == SCALARS + "Key: p"


def test_a_filter_by_a_key_is_told_before_its_path(protocol: Protocol) -> None:
    body = query("p = :p", p="a") | {"FilterExpression": "p.a = :p"}
    expected = "Filter Expression can only contain non-primary key attributes: Primary key attribute: p"
    assert refused(protocol, "Query", **body) == expected


OUTSIDE = "The provided starting key is outside query boundaries based on provided conditions"
WRONG_SORT = "The provided starting key does not match the range key predicate"
ONE_ROW = "The query can return at most one row and cannot be restarted"


@pytest.mark.parametrize(
    ("condition", "start", "message"),
    [
        ("p = :p", item(p="b", c="2"), OUTSIDE),
        ("p = :p AND c > :c", item(p="a", c="2"), WRONG_SORT),
        ("p = :p AND c > :c", item(p="b", c="1"), WRONG_SORT),
        ("p = :p AND c > :c", item(p="b", c="3"), ONE_ROW),
        ("p = :p AND c = :c", item(p="b", c="2"), ONE_ROW),
    ],
)
def test_a_starting_key_outside_the_range(protocol: Protocol, condition: str, start: Body, message: str) -> None:
    values = {"p": "a", "c": "2"} if ":c" in condition else {"p": "a"}
    assert refused(protocol, "Query", **query(condition, **values), ExclusiveStartKey=start) == message


NUMBER = {"ExpressionAttributeValues": {":v": {"N": "1"}}}


@pytest.mark.parametrize(
    ("update", "kind"),
    [
        ({"UpdateExpression": "SET x.a = l ADD l :v"} | NUMBER, "N"),
        ({"UpdateExpression": "SET x = l[1], l = c + :v"} | NUMBER, "N"),
        ({"UpdateExpression": "SET l = list_append(x, x)"}, "L"),
        ({"AttributeUpdates": {"l": {"Action": "ADD", "Value": {"N": "1"}}}}, "N"),
        ({"AttributeUpdates": {"l": {"Action": "DELETE", "Value": {"SS": ["a"]}}}}, "SS"),
    ],
)
def test_the_type_of_an_index_key_is_told_before_the_item_is_read(protocol: Protocol, update: Body, kind: str) -> None:
    expected = f"One or more parameter values were invalid: Type mismatch for Index Key l Expected: S Actual: {kind} "
    assert refused(protocol, "UpdateItem", TableName="abc", **KEY, **update) == expected + "IndexName: local1"
