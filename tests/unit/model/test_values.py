"""Items: what is refused and in which words, what is normalised, and what counts how many bytes."""

from __future__ import annotations

import copy
from base64 import b64decode
from decimal import Decimal
from typing import Any

import orjson
import pytest
from hypothesis import given

from dynamometer.base.errors import ValidationException
from dynamometer.model import numbers, values
from tests.unit import strategies

INVALID = "One or more parameter values were invalid: "


def refusal(value: Any) -> str | None:
    """The message for a value, which is the same at every place that a value can have."""
    messages = set()
    for item in ({"a": value}, {"a": {"M": {"b": value}}}, {"a": {"L": [{"S": "x"}, value]}}):
        with pytest.raises(ValidationException) as caught:
            values.normalize_item(copy.deepcopy(item))
        messages.add(caught.value.message)
    with pytest.raises(ValidationException) as caught:
        values.normalize_value(copy.deepcopy(value))
    messages.add(caught.value.message)
    (message,) = messages
    return message


def nested(depth: int, leaf: dict[str, Any]) -> dict[str, Any]:
    for level in range(depth):
        leaf = {"L": [leaf]} if level % 2 else {"M": {"n": leaf}}
    return leaf


# --- refused -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", [{}, {"X": "y"}, {"X": "y", "Y": {}}])
def test_a_value_without_a_type_is_empty(value: Any) -> None:
    assert refusal(value) == values.EMPTY_VALUE


def test_a_value_of_two_types_is_refused() -> None:
    assert refusal({"S": "x", "N": "1"}) == values.SEVERAL_TYPES


def test_a_bad_number_is_answered_before_the_second_type() -> None:
    assert refusal({"S": "x", "N": "dog"}) == "The parameter cannot be converted to a numeric value: dog"


def test_members_that_are_no_type_are_dropped() -> None:
    item = {"a": {"X": 1, "S": "x"}, "b": {"L": [{"N": "1.0", "Y": None}]}}
    assert values.normalize_item(item) == 2 + 1 + 3 + 1 + 2
    assert item == {"a": {"S": "x"}, "b": {"L": [{"N": "1"}]}}


def test_null_is_true() -> None:
    assert refusal({"NULL": False}) == INVALID + "Null attribute value types must have the value of true"


@pytest.mark.parametrize(
    ("tag", "message"),
    [
        ("SS", INVALID + "An string set  may not be empty"),
        ("NS", INVALID + "An number set  may not be empty"),
        ("BS", INVALID + "Binary sets should not be empty"),
    ],
)
def test_a_set_is_not_empty(tag: str, message: str) -> None:
    assert refusal({tag: []}) == message


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"SS": ["b", "a", "b"]}, INVALID + "Input collection [b, a, b] contains duplicates."),
        ({"NS": ["2", "1", "1.0"]}, "Input collection contains duplicates"),
        (
            {"BS": ["/w==", "AA==", "AA=="]},
            INVALID + "Input collection [/w==, AA==, AA==]of type BS contains duplicates.",
        ),
    ],
)
def test_a_set_has_no_duplicates(value: Any, message: str) -> None:
    assert refusal(value) == message


def test_a_number_in_a_set_is_checked() -> None:
    assert refusal({"NS": ["1", "dog"]}) == "The parameter cannot be converted to a numeric value: dog"
    assert refusal({"NS": ["1e126"]}) == numbers.OVERFLOW


def test_a_name_is_not_empty() -> None:
    with pytest.raises(ValidationException, match=r"^Empty attribute name$"):
        values.normalize_item({"p": {"S": "x"}, "": {"N": "1"}})


@pytest.mark.parametrize("leaf", [{"S": "x"}, {"N": "1"}, {"SS": ["a"]}, {"L": []}, {"M": {}}])
def test_a_value_has_at_most_32_levels(leaf: dict[str, Any]) -> None:
    deepest, too_deep = {"a": nested(31, leaf)}, {"a": nested(32, leaf)}
    assert values.normalize_item(deepest) == values.item_size(deepest)
    for measure in (values.normalize_item, values.item_size):
        with pytest.raises(ValidationException) as caught:
            measure(too_deep)
        assert caught.value.message == values.NESTED_TOO_DEEP


def test_levels_can_be_counted_from_a_deeper_place() -> None:
    values.normalize_value(nested(30, {"S": "x"}), 2)
    values.value_size(nested(30, {"S": "x"}), 2)
    for measure in (values.normalize_value, values.value_size):
        with pytest.raises(ValidationException):
            measure(nested(31, {"S": "x"}), 2)


@pytest.mark.parametrize("content", [None, 1, 1.5, True, [], {}, [1], {"a": 1}, [None], [[]], [{}], "x"])
@pytest.mark.parametrize("tag", ["S", "N", "B", "SS", "NS", "BS", "L", "M", "BOOL", "NULL"])
def test_a_wrong_json_type_is_never_accepted(tag: str, content: Any) -> None:
    good = {
        "S": content == "x",
        "BOOL": content is True,
        "NULL": content is True,
        "L": content == [],
        "M": content == {},
    }
    if good.get(tag):
        values.normalize_value({tag: content})
        return
    for item in ({"a": {tag: content}}, {"a": {"M": {"b": {tag: content}}}}, {"a": {"L": [{tag: content}]}}):
        with pytest.raises((TypeError, ValueError, KeyError, AttributeError, ValidationException)):
            values.normalize_item(copy.deepcopy(item))


@pytest.mark.parametrize("value", [None, 1, "S", "SS", [], ["S"], ["S", "N"], [{}], True, 1.5])
def test_a_value_is_a_json_object(value: Any) -> None:
    for item in ({"a": value}, {"a": {"L": [value]}}):
        with pytest.raises((TypeError, ValueError, KeyError, AttributeError)):
            values.normalize_item(copy.deepcopy(item))


@pytest.mark.parametrize(
    "text", ["A", "AAA", "AA=", "AB==", "AAB=", "AA==AA==", "====", "A-_A", " AAAA", "AAAA\n", "é"]
)
def test_base64_is_canonical(text: str) -> None:
    for value in ({"B": text}, {"BS": [text]}):
        with pytest.raises(ValueError, match=r"."):
            values.normalize_value(value)


# --- normalised --------------------------------------------------------------------------------------------------


def test_numbers_are_written_one_way_everywhere() -> None:
    item = {
        "a": {"N": "1.0"},
        "b": {"L": [{"N": "1e2"}]},
        "c": {"M": {"d": {"N": "-0"}}},
        "e": {"NS": ["1e1", "+9.50"]},
    }
    values.normalize_item(item)
    assert item == {
        "a": {"N": "1"},
        "b": {"L": [{"N": "100"}]},
        "c": {"M": {"d": {"N": "0"}}},
        "e": {"NS": ["9.5", "10"]},
    }


def test_sets_are_sorted_by_their_own_order() -> None:
    item = {
        "strings": {"SS": ["é", "z", "𐀀", "", "\uffff"]},
        "numbers": {"NS": ["10", "9", "-2", "-10", "0.5"]},
        "integers": {"NS": ["10", "9", "-2", "-10"]},
        "binaries": {"BS": ["/w==", "AA==", "", "AAA="]},
    }
    values.normalize_item(item)
    assert item["strings"]["SS"] == ["", "z", "é", "\uffff", "𐀀"]
    assert item["numbers"]["NS"] == ["-10", "-2", "0.5", "9", "10"]
    assert item["integers"]["NS"] == ["-10", "-2", "9", "10"]
    assert item["binaries"]["BS"] == ["", "AA==", "AAA=", "/w=="]


@given(strategies.items)
def test_normalising_changes_the_writing_and_not_the_meaning(item: dict[str, Any]) -> None:
    before = meaning({"M": copy.deepcopy(item)})
    values.normalize_item(item)
    assert meaning({"M": item}) == before


@given(strategies.items)
def test_normalising_twice_is_normalising_once(item: dict[str, Any]) -> None:
    size = values.normalize_item(item)
    once = orjson.dumps(item)
    assert values.normalize_item(item) == size
    assert orjson.dumps(item) == once


def meaning(value: dict[str, Any]) -> Any:
    ((tag, content),) = value.items()
    match tag:
        case "N":
            return tag, Decimal(content)
        case "B":
            return tag, b64decode(content)
        case "SS":
            return tag, frozenset(content)
        case "NS":
            return tag, frozenset(map(Decimal, content))
        case "BS":
            return tag, frozenset(map(b64decode, content))
        case "L":
            return tag, tuple(map(meaning, content))
        case "M":
            return tag, frozenset((name, meaning(entry)) for name, entry in content.items())
    return tag, content


# --- measured ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "size"),
    [
        ({"S": ""}, 0),
        ({"S": "héé"}, 5),
        ({"N": "12345"}, 4),
        ({"B": ""}, 0),
        ({"B": "AAA="}, 2),
        ({"BOOL": False}, 1),
        ({"NULL": True}, 1),
        ({"SS": ["a", "é"]}, 3),
        ({"NS": ["1", "0", "-1.5"]}, 2 + 1 + 4),
        ({"BS": ["AA==", "AAAA", ""]}, 4),
        ({"L": []}, 3),
        ({"M": {}}, 3),
        ({"L": [{"S": "ab"}, {"N": "1"}]}, 3 + 3 + 3),
        ({"M": {"é": {"S": "ab"}, "": {"N": "1"}}}, 3 + (1 + 2 + 2) + (1 + 0 + 2)),
    ],
)
def test_a_value_counts_its_bytes(value: Any, size: int) -> None:
    assert values.value_size(value) == size
    assert values.item_size({"a": value}) == 1 + size
    assert values.normalize_value(copy.deepcopy(value)) == size
    assert values.normalize_item({"a": value}) == 1 + size


def test_the_documentations_item_counts_23_bytes() -> None:
    assert values.normalize_item({"shirt-color": {"S": "R"}, "shirt-size": {"S": "M"}}) == 23


@given(strategies.items)
def test_both_walks_measure_the_same(item: dict[str, Any]) -> None:
    size = values.normalize_item(item)
    assert size == values.item_size(item)
    assert size == sum(len(name.encode()) + values.value_size(value) for name, value in item.items())
    assert size == sum(len(name.encode()) + values.normalize_value(value) for name, value in item.items())


@given(strategies.items, strategies.items)
def test_what_changed_tells_the_new_size(before: dict[str, Any], after: dict[str, Any]) -> None:
    size = values.normalize_item(before)
    values.normalize_item(after)
    shared = before | {name: after[name] for name in list(after)[::2]}
    for item in (after, shared):
        assert values.changed_size(size, before, item, before.keys() | after.keys()) == values.item_size(item)
