"""Requests as a whole: what may stand beside what, names and values, and the plans that are kept."""

from __future__ import annotations

from typing import Any

import pytest

from dynamometer.expressions import bind, check_mixing
from dynamometer.expressions.bind import PLANS_TEXT_MAX, _plans, _sound_shapes

from .helpers import GET, PUT, QUERY, SCAN, UPDATE, N, S, refusal

BOTH = "Can not use both expression and non-expression parameters in the same request: "
UNUSED_NAMES = "Value provided in ExpressionAttributeNames unused in expressions: keys: "
UNUSED_VALUES = "Value provided in ExpressionAttributeValues unused in expressions: keys: "


@pytest.mark.parametrize(
    ("kinds", "body", "older", "expressions"),
    [
        (PUT, {"Expected": {}, "ConditionExpression": ""}, "Expected", "ConditionExpression"),
        (
            UPDATE,
            {"AttributeUpdates": {}, "Expected": {}, "UpdateExpression": "", "ConditionExpression": ""},
            "AttributeUpdates, Expected",
            "UpdateExpression, ConditionExpression",
        ),
        (
            QUERY,
            {
                "AttributesToGet": [],
                "QueryFilter": {},
                "ConditionalOperator": "OR",
                "KeyConditions": {},
                "FilterExpression": "",
                "ProjectionExpression": "",
                "KeyConditionExpression": "",
            },
            "AttributesToGet, QueryFilter, ConditionalOperator, KeyConditions",
            "ProjectionExpression, FilterExpression, KeyConditionExpression",
        ),
        (
            QUERY,
            {"QueryFilter": {}, "KeyConditions": {}, "ProjectionExpression": ""},
            "QueryFilter",
            "ProjectionExpression",
        ),
        (SCAN, {"ScanFilter": {}, "FilterExpression": ""}, "ScanFilter", "FilterExpression"),
        (GET, {"AttributesToGet": ["a"], "ProjectionExpression": "b"}, "AttributesToGet", "ProjectionExpression"),
    ],
)
def test_expressions_beside_legacy_parameters(
    kinds: tuple[str, ...], body: dict[str, Any], older: str, expressions: str
) -> None:
    body = {"ExpressionAttributeNames": {}, "ExpressionAttributeValues": {}, **body}
    expected = f"{BOTH}Non-expression parameters: {{{older}}} Expression parameters: {{{expressions}}}"
    assert refusal(body, kinds) == expected


def test_only_a_querys_key_conditions_may_stand_beside_expressions() -> None:
    body = {
        "KeyConditions": {"p": {"ComparisonOperator": "EQ", "AttributeValueList": [S]}},
        "FilterExpression": "#a = :a",
        "ProjectionExpression": "#a",
        "ExpressionAttributeNames": {"#a": "x"},
        "ExpressionAttributeValues": {":a": N},
    }
    check_mixing(body, QUERY)
    bound = bind(body, QUERY)
    assert bound.key_condition is not None and bound.filter is not None and bound.projection is not None
    assert bound.key_condition.resolve(bound.values) == [("p", "=", [S])]
    assert bound.filter.test({"x": N}, bound.values)


@pytest.mark.parametrize(
    ("kinds", "expressions"),
    [
        (PUT, "ConditionExpression is"),
        (UPDATE, "UpdateExpression and ConditionExpression are"),
        (QUERY, "FilterExpression and KeyConditionExpression are"),
        (SCAN, "FilterExpression is"),
    ],
)
def test_values_without_expressions(kinds: tuple[str, ...], expressions: str) -> None:
    expected = f"ExpressionAttributeValues can only be specified when using expressions: {expressions} null"
    assert refusal({"ExpressionAttributeValues": {}}, kinds) == expected


def test_values_need_more_than_a_projection() -> None:
    body = {"ProjectionExpression": "a", "ExpressionAttributeValues": {":v": S}}
    expected = "ExpressionAttributeValues can only be specified when using expressions: FilterExpression is null"
    assert refusal(body, SCAN) == expected


def test_names_without_expressions_come_before_values() -> None:
    body: dict[str, Any] = {"ExpressionAttributeNames": {}, "ExpressionAttributeValues": {}}
    assert refusal(body, PUT) == "ExpressionAttributeNames can only be specified when using expressions"


def test_names_and_values_are_checked_in_order() -> None:
    body: dict[str, Any] = {
        "UpdateExpression": "",
        "ExpressionAttributeNames": {},
        "ExpressionAttributeValues": {},
    }
    assert refusal(body, UPDATE) == "ExpressionAttributeNames must not be empty"
    body["ExpressionAttributeNames"] = {"a": "b"}
    assert refusal(body, UPDATE) == 'ExpressionAttributeNames contains invalid key: Syntax error; key: "a"'
    body["ExpressionAttributeNames"] = {"#a": "b"}
    assert refusal(body, UPDATE) == "ExpressionAttributeValues must not be empty"
    body["ExpressionAttributeValues"] = {":b": {}, "b": S}
    assert refusal(body, UPDATE) == 'ExpressionAttributeValues contains invalid key: Syntax error; key: "b"'
    body["ExpressionAttributeValues"] = {":b": {"N": "one"}}
    expected = "The parameter cannot be converted to a numeric value: one"
    assert refusal(body, UPDATE) == f"ExpressionAttributeValues contains invalid value: {expected} for key :b"
    body["ExpressionAttributeValues"] = {":b": N}
    assert refusal(body, UPDATE) == "Invalid UpdateExpression: The expression can not be empty;"


@pytest.mark.parametrize(
    ("name", "problem"),
    [("", "Empty attribute name"), ("é" * 32768, "Attribute name is too large, must be less than 65536 bytes")],
)
def test_attribute_names_have_1_to_65535_bytes(name: str, problem: str) -> None:
    body: dict[str, Any] = {"ProjectionExpression": "#a", "ExpressionAttributeNames": {"#a": name}}
    assert refusal(body, GET) == f"ExpressionAttributeNames contains invalid value: {problem} for key #a"
    assert refusal({"AttributesToGet": [name]}, GET) == problem
    assert refusal({"AttributeUpdates": {name: {"Action": "DELETE"}}}, UPDATE) == problem
    assert refusal({"Expected": {name: {"Exists": False}}}, UPDATE) == problem


def test_values_that_nest_too_deep_are_refused_as_items_are() -> None:
    value: dict[str, Any] = {"N": "1"}
    for _ in range(32):
        value = {"L": [value]}
    body = {"UpdateExpression": "SET a = :v", "ExpressionAttributeValues": {":v": value}}
    assert refusal(body, UPDATE).startswith("Nesting Levels have exceeded supported limits")


def test_unused_names_come_before_unused_values() -> None:
    body: dict[str, Any] = {
        "UpdateExpression": "REMOVE #a",
        "ConditionExpression": "b = :b",
        "ExpressionAttributeNames": {"#x": "x", "#a": "a", "#y": "y"},
        "ExpressionAttributeValues": {":z": S, ":b": S},
    }
    assert refusal(body, UPDATE) == UNUSED_NAMES + "{#x, #y}"
    body["ExpressionAttributeNames"] = {"#a": "a"}
    assert refusal(body, UPDATE) == UNUSED_VALUES + "{:z}"
    body["ConditionExpression"] = "b = :b OR NOT b = :z"
    assert bind(body, UPDATE).condition is not None


def test_the_update_is_checked_before_the_condition() -> None:
    body = {"UpdateExpression": "", "ConditionExpression": ""}
    assert refusal(body, UPDATE) == "Invalid UpdateExpression: The expression can not be empty;"


def test_a_query_needs_a_key_condition() -> None:
    expected = "Either the KeyConditions or KeyConditionExpression parameter must be specified in the request."
    assert refusal({}, QUERY) == expected
    assert refusal({"FilterExpression": "a = b"}, QUERY) == expected
    assert refusal({"QueryFilter": {"p": {"ComparisonOperator": "NULL"}}}, QUERY) == expected


def test_nothing_is_asked_for() -> None:
    bound = bind({"TableName": "t", "Item": {}}, PUT)
    assert (bound.condition, bound.update, bound.filter, bound.key_condition, bound.projection) == (None,) * 5
    assert bound.values == {}


def test_a_kept_plan_meets_values_of_other_types() -> None:
    def body(value: dict[str, Any]) -> dict[str, Any]:
        return {
            "UpdateExpression": "ADD a :v",
            "ConditionExpression": "a < :w",
            "ExpressionAttributeValues": {":v": value, ":w": value},
        }

    first = bind(body({"N": "1"}), UPDATE)
    again = bind(body({"N": "002"}), UPDATE)
    assert again.update is first.update and again.condition is first.condition
    assert again.values == {":v": {"N": "2"}, ":w": {"N": "2"}}
    expected = "Incorrect operand type for operator or function; operator: ADD, operand type: STRING"
    assert refusal(body({"S": "x"}), UPDATE) == f"Invalid UpdateExpression: {expected}"
    expected = "Incorrect operand type for operator or function; operator or function: <, operand type: NS"
    assert refusal(body({"NS": ["1"]}), UPDATE) == f"Invalid ConditionExpression: {expected}"
    assert bind(body({"N": "1"}), UPDATE).update is first.update


def test_a_kept_plan_is_for_the_same_names_only() -> None:
    def attributes(name: str) -> frozenset[str]:
        bound = bind({"ProjectionExpression": "#a", "ExpressionAttributeNames": {"#a": name}}, GET)
        assert bound.projection is not None
        return bound.projection.attributes

    assert attributes("x") == {"x"}
    assert attributes("y") == {"y"}


def test_a_kept_plan_is_for_values_of_the_same_keys_only() -> None:
    body: dict[str, Any] = {"ConditionExpression": "a = :a", "ExpressionAttributeValues": {":a": S}}
    assert bind(body, PUT).condition is not None
    body["ExpressionAttributeValues"] = {":a": S, ":b": S}
    assert refusal(body, PUT) == UNUSED_VALUES + "{:b}"
    body["ExpressionAttributeValues"] = {":b": S}
    assert refusal(body, PUT).endswith("is not defined; attribute value: :a")


@pytest.mark.parametrize(
    "body",
    [
        {"ConditionExpression": 1},
        {"ConditionExpression": {"a": 1}},
        {"ConditionExpression": "a = #b", "ExpressionAttributeNames": {"#b": 1}},
        {"ConditionExpression": "a = #b", "ExpressionAttributeNames": ["#b"]},
        {"ConditionExpression": "a = :b", "ExpressionAttributeValues": [":b"]},
        {"ConditionExpression": "a = :b", "ExpressionAttributeValues": {":b": 1}},
        {"ConditionExpression": "a = :b", "ExpressionAttributeValues": "b"},
        {"ConditionExpression": "a = b", "ExpressionAttributeValues": False},
    ],
)
def test_wrong_json_types_are_no_answers_but_errors(body: dict[str, Any]) -> None:
    with pytest.raises((TypeError, AttributeError, KeyError, ValueError)):
        bind(body, PUT)


def test_a_member_that_was_null_does_not_make_a_set_of_members_sound() -> None:
    body: dict[str, Any] = {"Key": {}, "Expected": None, "ConditionExpression": "a = b"}
    check_mixing(body, PUT)
    body["Expected"] = {}
    assert refusal(body, PUT).startswith(BOTH)


def test_members_of_other_operations_are_ignored() -> None:
    body = {"FilterExpression": "a = b", "KeyConditions": {"p": {"ComparisonOperator": "EQ"}}, "Expected": {}}
    check_mixing(body, SCAN)
    bound = bind(body, SCAN)
    assert bound.filter is not None and bound.key_condition is None and bound.condition is None


def test_transactions_have_no_legacy_parameters() -> None:
    body = {"Expected": {"a": {"Exists": False}}, "ConditionExpression": "a = b"}
    check_mixing(body, PUT, with_legacy=False)
    assert bind(body, PUT, with_legacy=False).condition is not None
    assert bind({"Expected": {"a": {"Exists": False}}}, PUT, with_legacy=False).condition is None


# --- Limits ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("length", [255, 256])
def test_a_placeholder_has_255_bytes_at_most(length: int) -> None:
    name, value = "#" + "n" * (length - 1), ":" + "v" * (length - 1)
    names = {"ProjectionExpression": name, "ExpressionAttributeNames": {name: "a"}}
    values = {"FilterExpression": f"a = {value}", "ExpressionAttributeValues": {value: {"S": "x"}}}
    if length == 255:
        bind(names, GET)
        bind(values, SCAN)
    else:
        too_long = (
            " contains invalid key: The expression attribute map contains a key that is too long; size of key: 256"
        )
        assert refusal(names, GET) == "ExpressionAttributeNames" + too_long
        assert refusal(values, SCAN) == "ExpressionAttributeValues" + too_long


def test_names_and_values_have_two_megabytes_together() -> None:
    names = {f"#n{number:02}": f"{number:05}" + "n" * 64_991 for number in range(33)}

    def body(count: int, value_bytes: int) -> dict[str, Any]:
        used = dict(list(names.items())[:count])
        return {
            "FilterExpression": " OR ".join(f"{name} = :v" for name in used),
            "ExpressionAttributeNames": used,
            "ExpressionAttributeValues": {":v": {"S": "v" * (value_bytes - len(":v"))}},
        }

    for _ in range(2):  # as a new plan, and as one that is kept
        bind(body(30, 2**21 - 30 * 65_000), SCAN)
        expected = "Combined size of ExpressionAttributeNames and ExpressionAttributeValues exceeds max size"
        assert refusal(body(30, 2**21 - 30 * 65_000 + 1), SCAN) == expected
        assert refusal(body(30, 2**21 + 1), SCAN) == "ExpressionAttributeValues exceeds max size"
        assert refusal(body(33, 100), SCAN) == "ExpressionAttributeNames exceeds max size"


def test_what_is_kept_of_requests_stays_small() -> None:
    for number in range(20):
        name = f"{number:05}" + "n" * 60_000
        bind({"ProjectionExpression": "#n", "ExpressionAttributeNames": {"#n": name}}, GET)
        check_mixing({"ProjectionExpression": "a", "x" * (65 + number): None}, GET)
        check_mixing({"ProjectionExpression": "a"} | {f"{number}.{more}": None for more in range(100)}, GET)
    kept = [len(name) for key in _plans for _, name in key[-2] or ()]
    assert sum(kept) < 2 * PLANS_TEXT_MAX
    assert all(len(member) <= 64 for _, members in _sound_shapes for member in members)
    assert all(len(members) <= 64 for _, members in _sound_shapes)
