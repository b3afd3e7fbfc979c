"""Key conditions against key schemas."""

from __future__ import annotations

from typing import Any

import pytest

from dynamometer.base.errors import ValidationException
from dynamometer.expressions import (
    CompiledKeyCondition,
    bind,
    check_filter_keys,
    check_scalar_keys,
    match_key_schema,
)
from dynamometer.model.schema import KeyAttribute, KeySchema

from .helpers import QUERY, refusal

HASH = KeySchema((KeyAttribute("p", "S"),))
RANGE = KeySchema((KeyAttribute("p", "S"),), (KeyAttribute("c", "N"),))
FIVE = KeySchema((KeyAttribute("h", "S"),), tuple(KeyAttribute(name, "S") for name in "abcd"))
FOUR = KeySchema(tuple(KeyAttribute(f"h{i}", "S") for i in (1, 2)), tuple(KeyAttribute(f"r{i}", "S") for i in (1, 2)))

VALUES: dict[str, dict[str, Any]] = {":s": {"S": "x"}, ":n": {"N": "3"}, ":m": {"N": "5"}, ":t": {"S": "y"}}


def matched(text: str, schema: KeySchema) -> Any:
    used = {key: value for key, value in VALUES.items() if key in text}
    bound = bind({"KeyConditionExpression": text, "ExpressionAttributeValues": used}, QUERY)
    assert bound.key_condition is not None
    return match_key_schema(bound.key_condition.resolve(bound.values), schema)


def mismatch(text: str, schema: KeySchema) -> str | None:
    with pytest.raises(ValidationException) as caught:
        matched(text, schema)
    return caught.value.message


S, N, M, T = VALUES[":s"], VALUES[":n"], VALUES[":m"], VALUES[":t"]


@pytest.mark.parametrize(
    ("text", "schema", "expected"),
    [
        ("p = :s", HASH, ([S], [], None)),
        (":s = p", RANGE, ([S], [], None)),
        ("(c = :n) AND (p = :s)", RANGE, ([S], [N], None)),
        ("((c=:n) AND (p=:s))", RANGE, ([S], [N], None)),
        ("p = :s AND c < :n", RANGE, ([S], [], ("<", "N", [N]))),
        ("p = :s AND :n < c", RANGE, ([S], [], (">", "N", [N]))),
        ("p = :s AND :n >= c", RANGE, ([S], [], ("<=", "N", [N]))),
        ("p = :s AND c BETWEEN :n AND :m", RANGE, ([S], [], ("BETWEEN", "N", [N, M]))),
        ("h = :s", FIVE, ([S], [], None)),
        ("b = :t AND h = :s AND a = :s", FIVE, ([S], [S, T], None)),
        ("h = :s AND a = :s AND begins_with(b, :t)", FIVE, ([S], [S], ("begins_with", "S", [T]))),
        ("h1 = :s AND r1 > :t AND h2 = :t", FOUR, ([S, T], [], (">", "S", [T]))),
        ("h2 = :s AND r2 <= :t AND h1 = :t AND r1 = :s", FOUR, ([T, S], [S], ("<=", "S", [T]))),
    ],
)
def test_matches(text: str, schema: KeySchema, expected: Any) -> None:
    assert matched(text, schema) == expected


@pytest.mark.parametrize(
    ("text", "schema", "message"),
    [
        ("c = :n", RANGE, "Query condition missed key schema element: p"),
        ("a = :s", RANGE, "Query condition missed key schema element: p"),
        ("a = :s AND p = :s", RANGE, "Query condition missed key schema element: c"),
        ("p < :s", RANGE, "Query key condition not supported"),
        ("begins_with(p, :s)", RANGE, "Query key condition not supported"),
        ("p = :s AND c = :n", HASH, "Query key condition not supported"),
        (
            "p = :n",
            RANGE,
            "One or more parameter values were invalid: Condition parameter type does not match schema type",
        ),
        (
            "p = :s AND c = :s",
            RANGE,
            "One or more parameter values were invalid: Condition parameter type does not match schema type",
        ),
        (
            "p = :s AND c < :n AND a < :n",
            RANGE,
            "The number of query conditions (3) exceeds the number of key attributes defined in the schema (2)",
        ),
        ("a = :s", FIVE, "Query condition missed key schema element: h"),
        ("h > :s", FIVE, "Query key condition not supported"),
        (
            "h = :s AND a = :s AND c = :t",
            FIVE,
            "RANGE key attributes b must have equality conditions specified in the query because a condition is "
            "present on key attribute c",
        ),
        (
            "h = :s AND a = :s AND b > :s AND c = :t",
            FIVE,
            "RANGE key attributes b must have equality conditions specified in the query because a condition is "
            "present on key attribute c",
        ),
        (
            "h = :s AND d = :s",
            FIVE,
            "RANGE key attributes a, b, c must have equality conditions specified in the query because a condition "
            "is present on key attribute d",
        ),
        ("h1 = :s", FOUR, "HASH key attributes h2 must have equality conditions specified in the query"),
        (
            "h1 = :s AND h2 > :s",
            FOUR,
            "HASH key attributes h2 must have equality conditions specified in the query",
        ),
        (
            "h1 = :s AND h2 = :n",
            FOUR,
            "One or more parameter values were invalid: Condition parameter type does not match schema type",
        ),
        ("h1 = :s AND h2 = :s AND x = :s", FOUR, "Query condition missed key schema element: r1"),
    ],
)
def test_mismatches(text: str, schema: KeySchema, message: str) -> None:
    assert mismatch(text, schema) == message


def legacy(**conditions: tuple[str, list[dict[str, Any]]]) -> dict[str, Any]:
    return {
        name: {"ComparisonOperator": operator, "AttributeValueList": values}
        for name, (operator, values) in conditions.items()
    }


def bound_legacy(**conditions: tuple[str, list[dict[str, Any]]]) -> tuple[CompiledKeyCondition, Any]:
    bound = bind({"KeyConditions": legacy(**conditions)}, QUERY)
    assert bound.key_condition is not None and bound.key_condition.legacy
    return bound.key_condition, bound.key_condition.resolve(bound.values)


def test_key_conditions_become_the_same() -> None:
    _, resolved = bound_legacy(p=("EQ", [{"S": "x"}]), c=("BETWEEN", [{"N": "3"}, {"N": "5.0"}]))
    assert match_key_schema(resolved, RANGE, legacy=True) == ([S], [], ("BETWEEN", "N", [N, M]))


@pytest.mark.parametrize("operator", ["NE", "IN", "CONTAINS", "NOT_CONTAINS"])
def test_operators_that_no_index_serves(operator: str) -> None:
    _, resolved = bound_legacy(p=("EQ", [{"S": "x"}]), c=(operator, [{"N": "3"}]))
    with pytest.raises(ValidationException, match="Attempted conditional constraint is not an indexable operation"):
        match_key_schema(resolved, RANGE, legacy=True)


def test_existence_is_no_key_condition_either() -> None:
    _, resolved = bound_legacy(p=("NULL", []))
    with pytest.raises(ValidationException, match="not an indexable operation"):
        match_key_schema(resolved, RANGE, legacy=True)


@pytest.mark.parametrize("count", [0, 9])
def test_no_key_has_that_many_attributes(count: int) -> None:
    conditions = legacy(**{f"a{i}": ("EQ", [{"S": "x"}]) for i in range(count)})
    assert refusal({"KeyConditions": conditions}, QUERY) == "Conditions can be of length 1 or 2 only"


def test_more_than_two_key_conditions_are_for_keys_of_several_attributes() -> None:
    conditions = {name: ("EQ", [{"S": "x"}]) for name in ("h1", "h2", "r1")}
    _, resolved = bound_legacy(**conditions)
    assert match_key_schema(resolved, FOUR, legacy=True) == ([S, S], [S], None)
    with pytest.raises(ValidationException, match="Conditions can be of length 1 or 2 only"):
        match_key_schema(resolved, RANGE, legacy=True)


def test_a_filter_may_not_name_the_key() -> None:
    text = "can only contain non-primary key attributes: Primary key attribute: p"
    with pytest.raises(ValidationException, match=f"Filter Expression {text}"):
        check_filter_keys({"x", "c", "p"}, RANGE)
    with pytest.raises(ValidationException, match=f"QueryFilter {text}"):
        check_filter_keys({"p"}, RANGE, "QueryFilter")
    check_filter_keys({"x"}, RANGE)


def test_keys_are_scalars() -> None:
    check_scalar_keys({"x"}, RANGE.names)
    with pytest.raises(ValidationException) as caught:
        check_scalar_keys({"c"}, RANGE.names, "IndexKey")
    assert caught.value.message == (
        "Key attributes must be scalars; list random access '[]' and map lookup '.' are not allowed: IndexKey: c"
    )
