"""The parameters from before expressions: what they mean and what they are refused for."""

from __future__ import annotations

from typing import Any

import pytest

from dynamometer.base.errors import ValidationException
from dynamometer.expressions import bind

from .helpers import PUT, QUERY, SCAN, UPDATE, N, S, refusal

INVALID = "One or more parameter values were invalid: "


def met(entry: dict[str, Any], value: dict[str, Any] | None) -> bool:
    bound = bind({"Expected": {"a": entry}}, PUT)
    assert bound.condition is not None
    return bound.condition.test({} if value is None else {"a": value}, bound.values)


def compared(operator: str, *arguments: dict[str, Any]) -> dict[str, Any]:
    return {"ComparisonOperator": operator, "AttributeValueList": list(arguments)}


@pytest.mark.parametrize(
    ("entry", "value", "expected"),
    [
        ({"Exists": False}, None, True),
        ({"Exists": False}, S, False),
        ({"Value": S}, {"S": "a"}, True),
        ({"Value": S}, None, False),
        ({"Exists": True, "Value": N}, {"N": "1"}, True),
        ({"ComparisonOperator": "EQ", "Value": S}, {"S": "a"}, True),
        (compared("EQ", {"SS": ["b", "a"]}), {"SS": ["a", "b"]}, True),
        (compared("EQ", N), {"S": "1"}, False),
        (compared("NE", N), {"S": "1"}, True),
        (compared("NE", N), None, True),
        (compared("LT", {"N": "2"}), {"N": "1"}, True),
        (compared("LE", {"N": "2"}), {"N": "2"}, True),
        (compared("GT", {"N": "2"}), {"N": "10"}, True),
        (compared("GE", {"N": "2"}), {"S": "3"}, False),
        (compared("NULL"), None, True),
        ({"ComparisonOperator": "NULL"}, None, True),
        (compared("NULL"), {"NULL": True}, False),
        (compared("NOT_NULL"), {"NULL": True}, True),
        (compared("NOT_NULL"), None, False),
        (compared("CONTAINS", {"S": "el"}), {"S": "hello"}, True),
        (compared("CONTAINS", {"N": "2"}), {"NS": ["1", "2"]}, True),
        (compared("CONTAINS", {"BOOL": True}), {"L": [{"BOOL": True}]}, True),
        (compared("NOT_CONTAINS", {"S": "x"}), {"S": "hello"}, True),
        (compared("NOT_CONTAINS", {"S": "x"}), {"N": "1"}, True),
        (compared("NOT_CONTAINS", {"S": "x"}), None, False),
        (compared("BEGINS_WITH", {"S": "he"}), {"S": "hello"}, True),
        (compared("BEGINS_WITH", {"S": "he"}), {"N": "1"}, False),
        (compared("IN", {"S": "x"}, {"S": "a"}), {"S": "a"}, True),
        (compared("IN", {"S": "x"}), None, False),
        (compared("BETWEEN", {"N": "1"}, {"N": "3"}), {"N": "2"}, True),
        (compared("BETWEEN", {"N": "1"}, {"N": "3"}), {"S": "2"}, False),
    ],
)
def test_expected(entry: dict[str, Any], value: dict[str, Any] | None, expected: bool) -> None:
    assert met(entry, value) is expected


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({}, "Value must be provided when Exists is null for Attribute: a"),
        ({"Exists": True}, "Value must be provided when Exists is true for Attribute: a"),
        ({"Exists": False, "Value": S}, "Value cannot be used when Exists is false for Attribute: a"),
        (
            {"Exists": False, **compared("EQ", S)},
            "Exists and ComparisonOperator cannot be used together for Attribute: a",
        ),
        (
            {"Value": S, **compared("EQ", S)},
            "Value and AttributeValueList cannot be used together for Attribute: a",
        ),
        (
            {"AttributeValueList": [S]},
            "AttributeValueList can only be used with a ComparisonOperator for Attribute: a",
        ),
        (
            {"ComparisonOperator": "EQ"},
            "Value or AttributeValueList must be used with ComparisonOperator: EQ for Attribute: a",
        ),
        (compared("EQ"), "Invalid number of argument(s) for the EQ ComparisonOperator"),
        (compared("LE", N, N), "Invalid number of argument(s) for the LE ComparisonOperator"),
        (compared("NULL", N), "Invalid number of argument(s) for the NULL ComparisonOperator"),
        (compared("IN"), "Invalid number of argument(s) for the IN ComparisonOperator"),
        (compared("BETWEEN", N), "Invalid number of argument(s) for the BETWEEN ComparisonOperator"),
        (compared("IN", N, S), "AttributeValues inside AttributeValueList must be of same type"),
        (compared("LT", {"L": []}), "ComparisonOperator LT is not valid for L AttributeValue type"),
        (compared("IN", {"BOOL": True}), "ComparisonOperator IN is not valid for BOOL AttributeValue type"),
        (compared("CONTAINS", {"L": []}), "ComparisonOperator CONTAINS is not valid for L AttributeValue type"),
        (compared("BEGINS_WITH", N), "ComparisonOperator BEGINS_WITH is not valid for N AttributeValue type"),
    ],
)
def test_expected_that_makes_no_sense(entry: dict[str, Any], message: str) -> None:
    assert refusal({"Expected": {"a": entry}}, PUT) == INVALID + message


def test_bounds_that_are_the_wrong_way_round() -> None:
    expected = "The BETWEEN condition was provided a range where the lower bound is greater than the upper bound"
    assert refusal({"ScanFilter": {"a": compared("BETWEEN", {"N": "10"}, {"N": "9"})}}, SCAN) == expected


def test_filters_join_by_and_or_by_or() -> None:
    filters = {"a": compared("EQ", S), "b": compared("GT", N)}
    items = [{"a": S, "b": {"N": "2"}}, {"a": S}, {"b": {"N": "2"}}, {}]
    for connective, expected in ((None, [1, 0, 0, 0]), ("AND", [1, 0, 0, 0]), ("OR", [1, 1, 1, 0])):
        body = {"ScanFilter": filters} | ({"ConditionalOperator": connective} if connective else {})
        bound = bind(body, SCAN)
        assert bound.filter is not None and bound.filter.source == "ScanFilter"
        assert [bound.filter.test(item, bound.values) for item in items] == [bool(e) for e in expected]


@pytest.mark.parametrize(
    ("kinds", "body"),
    [(PUT, {}), (PUT, {"Expected": {}}), (SCAN, {}), (QUERY, {"QueryFilter": {}})],
)
def test_conditional_operator_needs_conditions(kinds: tuple[str, ...], body: dict[str, Any]) -> None:
    body = {"ConditionalOperator": "OR", **body}
    assert refusal(body, kinds) == "ConditionalOperator cannot be used without Filter or Expected"


def test_conditional_operator_needs_two_conditions() -> None:
    body = {"ConditionalOperator": "AND", "Expected": {"a": {"Exists": False}}}
    assert refusal(body, PUT) == "ConditionalOperator can only be used when Filter or Expected has two or more elements"


@pytest.mark.parametrize("body", [{"Expected": {}}, {"AttributeUpdates": {}}, {}])
def test_empty_parameters_ask_for_nothing(body: dict[str, Any]) -> None:
    bound = bind(body, UPDATE)
    assert bound.condition is None and bound.update is None


def applied(updates: dict[str, Any], item: dict[str, Any]) -> dict[str, Any]:
    bound = bind({"AttributeUpdates": updates}, UPDATE)
    assert bound.update is not None
    return bound.update.apply(item, bound.values)


@pytest.mark.parametrize(
    ("update", "old", "new"),
    [
        ({"Value": N}, S, N),
        ({"Value": N, "Action": "PUT"}, None, N),
        ({"Action": "DELETE"}, S, None),
        ({"Action": "DELETE"}, None, None),
        ({"Action": "DELETE", "Value": {"NS": ["1", "7"]}}, {"NS": ["1", "2"]}, {"NS": ["2"]}),
        ({"Action": "DELETE", "Value": {"NS": ["1"]}}, {"NS": ["1"]}, None),
        ({"Action": "ADD", "Value": N}, {"N": "1.5"}, {"N": "2.5"}),
        ({"Action": "ADD", "Value": N}, None, N),
        ({"Action": "ADD", "Value": {"SS": ["b"]}}, {"SS": ["a", "c"]}, {"SS": ["a", "b", "c"]}),
        ({"Action": "ADD", "Value": {"L": [N, S]}}, {"L": [N]}, {"L": [N, N, S]}),
        ({"Action": "ADD", "Value": {"L": [N]}}, None, {"L": [N]}),
    ],
)
def test_attribute_updates(update: dict[str, Any], old: dict[str, Any] | None, new: dict[str, Any] | None) -> None:
    item = {} if old is None else {"x.y": old}
    assert applied({"x.y": update}, item) == ({} if new is None else {"x.y": new})


@pytest.mark.parametrize(
    ("update", "old"),
    [
        ({"Action": "DELETE", "Value": {"NS": ["1"]}}, S),
        ({"Action": "DELETE", "Value": {"NS": ["1"]}}, {"SS": ["1"]}),
        ({"Action": "ADD", "Value": {"NS": ["1"]}}, {"SS": ["1"]}),
        ({"Action": "ADD", "Value": N}, {"NS": ["1"]}),
        ({"Action": "ADD", "Value": {"L": []}}, {"NS": ["1"]}),
    ],
)
def test_attribute_updates_of_another_type(update: dict[str, Any], old: dict[str, Any]) -> None:
    with pytest.raises(ValidationException, match=r"^Type mismatch for attribute to update$"):
        applied({"a": update}, {"a": old})


@pytest.mark.parametrize(
    ("update", "message"),
    [
        ({}, "Only DELETE action is allowed when no attribute value is specified"),
        ({"Action": "ADD"}, "Only DELETE action is allowed when no attribute value is specified"),
        ({"Action": "DELETE", "Value": {"L": []}}, "DELETE action with value is not supported for the type L"),
        ({"Action": "ADD", "Value": S}, "ADD action is not supported for the type S"),
    ],
)
def test_attribute_updates_that_make_no_sense(update: dict[str, Any], message: str) -> None:
    assert refusal({"AttributeUpdates": {"a": update}}, UPDATE) == INVALID + message


def test_values_are_checked_as_in_items() -> None:
    expected = INVALID + "An string set  may not be empty"
    assert refusal({"AttributeUpdates": {"a": {"Value": {"SS": []}}}}, UPDATE) == expected
    assert refusal({"ScanFilter": {"a": compared("EQ", {"SS": []})}}, SCAN) == expected


def test_removals_alone_are_told_apart() -> None:
    for update, only in (({"Action": "DELETE"}, True), ({"Value": N}, False)):
        bound = bind({"AttributeUpdates": {"a": update}}, UPDATE)
        assert bound.update is not None and bound.update.removes_only is only


def test_the_same_attribute_in_two_parameters_keeps_two_values() -> None:
    body = {
        "KeyConditions": {"a": compared("EQ", S)},
        "QueryFilter": {"a": compared("EQ", N)},
        "AttributesToGet": ["a"],
    }
    bound = bind(body, QUERY)
    assert bound.key_condition is not None and bound.filter is not None and bound.projection is not None
    assert bound.key_condition.resolve(bound.values) == [("a", "=", [S])]
    assert bound.filter.source == "QueryFilter"
    assert bound.filter.test({"a": N}, bound.values)
