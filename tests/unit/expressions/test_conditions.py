"""What conditions say of items."""

from __future__ import annotations

from typing import Any

import pytest

from dynamometer.expressions import bind

from .helpers import PUT, holds

ITEM: dict[str, Any] = {
    "n": {"N": "5"},
    "m": {"N": "10"},
    "s": {"S": "hello"},
    "t": {"S": "hell"},
    "b": {"B": "aGkgdGhlcmU="},
    "flag": {"BOOL": True},
    "nothing": {"NULL": True},
    "ss": {"SS": ["a", "b"]},
    "ns": {"NS": ["2", "4", "7"]},
    "bs": {"BS": ["YQ==", "Yg=="]},
    "l": {"L": [{"N": "2"}, {"S": "x"}, {"NS": ["1", "2"]}, {"L": [{"N": "3"}]}]},
    "d": {"M": {"x": {"N": "1"}, "y": {"L": [{"N": "-1"}, {"N": "2"}]}, "and": {"S": "q"}}},
}


@pytest.mark.parametrize(
    ("text", "values", "expected"),
    [
        ("n = :v", {"N": "5"}, True),
        ("n = :v", {"N": "5.0"}, True),
        ("n = :v", {"S": "5"}, False),
        ("ss = :v", {"SS": ["b", "a"]}, True),
        ("l = :v", {"L": [{"S": "x"}, {"N": "2"}]}, False),
        ("flag = :v", {"BOOL": True}, True),
        ("flag = :v", {"N": "1"}, False),
        ("flag = :v", {"NULL": True}, False),
        ("n <> :v", {"S": "5"}, True),
        ("n <> :v", {"N": "5"}, False),
        ("n < :v", {"N": "10"}, True),
        ("n < :v", {"S": "9"}, False),
        ("n <= :v", {"N": "5"}, True),
        ("n >= :v", {"N": "5"}, True),
        ("n > :v", {"N": "-7"}, True),
        (":v > n", {"N": "10"}, True),
        ("s < :v", {"S": "help"}, True),
        ("s < :v", {"S": "hell"}, False),
        ("b < :v", {"B": "/w=="}, True),
        ("l < :v", {"N": "1"}, False),
        ("n IN (m, :v)", {"N": "5"}, True),
        ("n IN (:v, m)", {"S": "5"}, False),
        ("begins_with(s, :v)", {"S": "hel"}, True),
        ("begins_with(s, :v)", {"B": "aGVs"}, False),
        ("begins_with(b, :v)", {"B": "aGk="}, True),
        ("begins_with(:v, t)", {"S": "hello"}, True),
        ("begins_with(n, :v)", {"S": "5"}, False),
        ("contains(s, :v)", {"S": "ell"}, True),
        ("contains(s, :v)", {"N": "1"}, False),
        ("contains(b, :v)", {"B": "dGhl"}, True),
        ("contains(b, :v)", {"B": "dGhv"}, False),
        ("contains(ss, :v)", {"S": "b"}, True),
        ("contains(ss, :v)", {"SS": ["b"]}, False),
        ("contains(ns, :v)", {"N": "4.0"}, True),
        ("contains(ns, :v)", {"S": "4"}, False),
        ("contains(bs, :v)", {"B": "Yg=="}, True),
        ("contains(l, :v)", {"N": "2"}, True),
        ("contains(l, :v)", {"NS": ["2", "1"]}, True),
        ("contains(l, :v)", {"L": [{"N": "3"}]}, True),
        ("contains(d, :v)", {"S": "x"}, False),
        ("contains(n, :v)", {"S": "5"}, False),
        ("attribute_type(n, :v)", {"S": "N"}, True),
        ("attribute_type(n, :v)", {"S": "NS"}, False),
        ("attribute_type(nothing, :v)", {"S": "NULL"}, True),
        ("attribute_type(absent, :v)", {"S": "S"}, False),
        ("attribute_type(:v, :v)", {"S": "S"}, True),
        ("size(s) = :v", {"N": "5"}, True),
        ("size(b) = :v", {"N": "8"}, True),
        ("size(ss) = :v", {"N": "2"}, True),
        ("size(l) = :v", {"N": "4"}, True),
        ("size(d) = :v", {"N": "3"}, True),
        ("size(n) = :v", {"N": "1"}, False),
        ("size(flag) = :v", {"N": "1"}, False),
        ("size(nothing) <> :v", {"N": "1"}, True),
        ("size(s) = :v", {"S": "dog"}, False),
        ("size(s) >= :v", {"N": "5"}, True),
        ("size(:v) < n", {"S": "abcd"}, True),
        ("d.x = :v", {"N": "1"}, True),
        ("d.y[1] = :v", {"N": "2"}, True),
        ("d.y[2] = :v", {"N": "2"}, False),
        ("d[0] = :v", {"N": "1"}, False),
        ("l.x = :v", {"N": "1"}, False),
        ("n.x = :v", {"N": "1"}, False),
        ("l[3][0] = :v", {"N": "3"}, True),
        ("(d.y)[0] < :v", {"N": "0"}, True),
    ],
)
def test_one_clause(text: str, values: dict[str, Any], expected: bool) -> None:
    assert holds(text, ITEM, v=values) is expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("n BETWEEN :one AND :ten", True),
        ("n BETWEEN :five AND :five", True),
        ("n BETWEEN :ten AND m", False),
        ("n BETWEEN m AND :one", False),
        ("s BETWEEN :one AND :ten", False),
        (":five BETWEEN d.x AND m", True),
        ("absent BETWEEN :one AND :ten", False),
    ],
)
def test_between(text: str, expected: bool) -> None:
    values = {":one": {"N": "1"}, ":five": {"N": "5"}, ":ten": {"N": "10"}}
    used = {key: value for key, value in values.items() if key in text}
    body = {"ConditionExpression": text, "ExpressionAttributeValues": used}
    bound = bind(body, PUT)
    assert bound.condition is not None
    assert bound.condition.test(ITEM, bound.values) is expected


@pytest.mark.parametrize("item", [None, {}, {"other": {"S": "x"}}])
def test_a_missing_attribute_differs_and_meets_nothing_else(item: dict[str, Any] | None) -> None:
    value = {"S": "x"}
    for text in ("q = :v", "q < :v", "q >= :v", ":v < q", "q IN (:v)", "contains(q, :v)", "begins_with(:v, q)"):
        assert not holds(text, item, v=value), text
    assert holds("q <> :v", item, v=value)
    assert holds("NOT q = :v", item, v=value)
    assert holds("q <> r", item)
    assert not holds("q = r", item)
    assert holds("attribute_not_exists(q)", item)
    assert not holds("attribute_exists(q)", item)
    assert not holds("attribute_exists(q.r[0])", item)


def test_null_exists() -> None:
    assert holds("attribute_exists(nothing)", ITEM)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("n < m OR m < n AND m < n", True),
        ("(n < m OR m < n) AND m < n", False),
        ("NOT m < n AND m < n", False),
        ("NOT (m < n AND m < n)", True),
        ("NOT NOT NOT NOT n < m", True),
        ("n BETWEEN d.x AND m AND t < s", True),
        ("((n < m) AND t < s)", True),
        ("n < m AND t < s AND m < n", False),
        ("m < n OR s < t OR n < m", True),
        ("m < n OR s < t OR m < n", False),
    ],
)
def test_connectives(text: str, expected: bool) -> None:
    assert holds(text, ITEM) is expected


@pytest.mark.parametrize(("text", "units"), [("", 0), ("abc", 3), ("é", 1), ("€uro", 4), ("𝄞", 2), ("a𝄞b", 4)])
def test_the_size_of_a_string_is_in_utf_16_units(text: str, units: int) -> None:
    assert holds("size(a) = :n", {"a": {"S": text}}, n={"N": str(units)})


def test_strings_are_ordered_by_their_utf_8_bytes() -> None:
    # By UTF-16 units, as some platforms order strings, it would be the other way round.
    assert holds("a < :v", {"a": {"S": "\uffff"}}, v={"S": "\U0001d11e"})


def test_keywords_may_be_attributes_by_reference() -> None:
    assert holds("#d.#and = :v", ITEM, {"#d": "d", "#and": "and"}, v={"S": "q"})


def test_what_a_condition_reads() -> None:
    body = {
        "ConditionExpression": "a.b = :v OR size(c[0]) > d AND NOT attribute_exists(#e)",
        "ExpressionAttributeNames": {"#e": "x.y"},
        "ExpressionAttributeValues": {":v": {"N": "1"}},
    }
    condition = bind(body, PUT).condition
    assert condition is not None
    assert condition.attributes == {"a", "c", "d", "x.y"}
    assert condition.nested == {"a", "c"}
