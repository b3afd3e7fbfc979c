"""What updates make of items."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from dynamometer.base.errors import ValidationException
from dynamometer.expressions.update import INVALID_PATH, NO_ATTRIBUTE, WRONG_TYPE
from dynamometer.model.values import NESTED_TOO_DEEP

from .helpers import one, updated


def n(number: int | str) -> dict[str, Any]:
    return {"N": str(number)}


def s(text: str) -> dict[str, Any]:
    return {"S": text}


def texts(*members: str) -> dict[str, Any]:
    return {"L": [s(member) for member in members]}


KEY = {"p": s("key")}


def refused(text: str, item: dict[str, Any], **values: Any) -> str | None:
    with pytest.raises(ValidationException) as caught:
        updated(text, item, **values)
    return caught.value.message


@pytest.mark.parametrize(
    ("text", "old", "new"),
    [
        ("SET a = :n", {}, {"a": n(4)}),
        ("SET a = :n, b = a", {"a": n(1)}, {"a": n(4), "b": n(1)}),
        ("REMOVE a SET b = a, c = :n", {"a": n(1)}, {"b": n(1), "c": n(4)}),
        ("SET a = a + :n", {"a": n(1)}, {"a": n(5)}),
        ("SET a = :n - a", {"a": n("0.5")}, {"a": n("3.5")}),
        ("SET a = ((b) + (:n))", {"b": n(1)}, {"a": n(5), "b": n(1)}),
        ("SET a = if_not_exists(a, :n)", {"a": n(1)}, {"a": n(1)}),
        ("SET a = if_not_exists(a, :n)", {}, {"a": n(4)}),
        ("SET a = if_not_exists(b, if_not_exists(c, :n))", {"c": n(2)}, {"a": n(2), "c": n(2)}),
        ("SET a = if_not_exists(a, :n) + :n", {}, {"a": n(8)}),
        ("ADD a :n", {}, {"a": n(4)}),
        ("ADD a :n", {"a": n(-4)}, {"a": n(0)}),
        ("ADD a :n REMOVE b", {"a": n(1), "b": s("x")}, {"a": n(5)}),
        ("REMOVE b SET a = :n", {}, {"a": n(4)}),
        (
            "SET a.b[1].c = :n",
            {"a": {"M": {"b": {"L": [n(1), {"M": {}}]}}}},
            {"a": {"M": {"b": {"L": [n(1), {"M": {"c": n(4)}}]}}}},
        ),
        ("SET a.b = :n REMOVE a.c", {"a": {"M": {"c": n(1), "d": n(2)}}}, {"a": {"M": {"d": n(2), "b": n(4)}}}),
        (
            "SET a.z = a.c[0], d = :n",
            {"a": {"M": {"c": {"L": [n(9)]}}}},
            {"a": {"M": {"c": {"L": [n(9)]}, "z": n(9)}}, "d": n(4)},
        ),
        ("ADD a.b :n, c[0] :n", {"a": {"M": {}}, "c": {"L": [n(1)]}}, {"a": {"M": {"b": n(4)}}, "c": {"L": [n(5)]}}),
    ],
)
def test_new_items(text: str, old: dict[str, Any], new: dict[str, Any]) -> None:
    values = {"n": n(4)} if ":n" in text else {}
    assert updated(text, KEY | old, **values) == KEY | new


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SET l[1] = :v", texts("a", "v", "c")),
        ("SET l[7] = :v", texts("a", "b", "c", "v")),
        ("SET l[84] = :v, l[17] = :w", texts("a", "b", "c", "w", "v")),
        ("REMOVE l[1]", texts("a", "c")),
        ("REMOVE l[2], l[0]", texts("b")),
        ("REMOVE l[9]", texts("a", "b", "c")),
        ("REMOVE l[1] SET l[2] = :v", texts("a", "v")),
        ("SET l[9] = :v REMOVE l[0], l[1], l[2]", texts("v")),
        ("SET l = list_append(l, :x)", texts("a", "b", "c", "x")),
        ("SET l = list_append(:x, l)", texts("x", "a", "b", "c")),
        ("SET l = list_append(if_not_exists(m, :x), l)", texts("x", "a", "b", "c")),
    ],
)
def test_lists(text: str, expected: dict[str, Any]) -> None:
    values = {"v": s("v"), "w": s("w"), "x": texts("x")}
    used = {name: value for name, value in values.items() if f":{name}" in text}
    assert updated(text, {"l": texts("a", "b", "c")}, **used)["l"] == expected


def test_elements_that_are_set_and_added_behind_the_end_are_ordered_by_index() -> None:
    item = {"a": s("k"), "b": {"M": {"a": n(1), "b": n(2), "c": n(3)}}, "c": {"L": [n(1), n(3)]}}
    text = "set b.c=((c[1])+(b.a)),b.a = a,c[1] = a, c[4] = b.a - b.b, c[2] = b.c add c[8] :b, c[6] :a"
    new = updated(text, item, a=n(2), b={"SS": ["a"]})
    assert new["b"] == {"M": {"a": s("k"), "b": n(2), "c": n(4)}}
    assert new["c"] == {"L": [n(1), s("k"), n(3), n(-1), n(2), {"SS": ["a"]}]}
    update = one("UpdateExpression", text, None, {":a": n(2), ":b": {"SS": ["a"]}}).update
    assert update is not None
    assert update.updated(new) == {"b": {"M": {"a": s("k"), "c": n(4)}}, "c": {"L": [s("k"), n(3), n(2)]}}


@pytest.mark.parametrize(
    ("kind", "old", "added", "united"),
    [
        ("SS", ["a", "z"], ["z", "b"], ["a", "b", "z"]),
        ("NS", ["-1", "2", "10"], ["2.0", "9"], ["-1", "2", "9", "10"]),
        ("BS", ["AA==", "/w=="], ["fw=="], ["AA==", "fw==", "/w=="]),
    ],
)
def test_sets_are_united_in_order(kind: str, old: list[str], added: list[str], united: list[str]) -> None:
    assert updated("ADD a :v", {"a": {kind: old}}, v={kind: added}) == {"a": {kind: united}}
    assert updated("ADD a :v", {}, v={kind: list(old)}) == {"a": {kind: old}}


def test_members_leave_sets_and_an_empty_set_is_none() -> None:
    item = {"a": {"SS": ["a", "b"]}}
    assert updated("DELETE a :v", item, v={"SS": ["b", "x"]}) == {"a": {"SS": ["a"]}}
    assert updated("DELETE a :v", item, v={"SS": ["x"]}) == item
    assert updated("DELETE a :v", item, v={"SS": ["a", "b"]}) == {}
    assert updated("DELETE b :v", item, v={"SS": ["a"]}) == item
    nested = {"m": {"M": {"a": {"NS": ["1"]}}}, "l": {"L": [{"NS": ["1"]}, s("x")]}}
    expected = {"m": {"M": {}}, "l": {"L": [s("x")]}}
    assert updated("DELETE m.a :v, l[0] :v", nested, v={"NS": ["1"]}) == expected
    assert updated("DELETE m.b :v, l[5] :v", nested, v={"NS": ["1"]}) == nested


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("SET b = z", NO_ATTRIBUTE),
        ("SET b = z + :n", NO_ATTRIBUTE),
        ("SET b = list_append(z, l)", NO_ATTRIBUTE),
        ("SET b = s + :n", WRONG_TYPE),
        ("SET b = :n - s", WRONG_TYPE),
        ("SET b = list_append(l, s)", WRONG_TYPE),
        ("SET b = list_append(s, l)", WRONG_TYPE),
        ("ADD s :n", WRONG_TYPE),
        ("ADD s :t", WRONG_TYPE),
        ("DELETE s :t", WRONG_TYPE),
        ("SET s.c = :n", INVALID_PATH),
        ("SET l.c = :n", INVALID_PATH),
        ("SET m[0] = :n", INVALID_PATH),
        ("SET z.c = :n", INVALID_PATH),
        ("SET m.y.z = :n", INVALID_PATH),
        ("SET l[5].z = :n", INVALID_PATH),
        ("SET z[0] = :n", INVALID_PATH),
        ("REMOVE s.c", INVALID_PATH),
        ("REMOVE l.c", INVALID_PATH),
        ("REMOVE z.c", INVALID_PATH),
        ("REMOVE s[0]", INVALID_PATH),
        ("ADD z.c :n", INVALID_PATH),
    ],
)
def test_what_an_item_refuses(text: str, message: str) -> None:
    item = {"s": s("x"), "l": texts("a"), "m": {"M": {}}}
    values = {"n": n(1), "t": {"SS": ["x"]}}
    used = {name: value for name, value in values.items() if f":{name}" in text}
    assert refused(text, item, **used) == message


def test_a_sum_that_does_not_fit_is_refused() -> None:
    overflow = "Number overflow. Attempting to store a number with magnitude larger than supported range"
    assert refused("SET a = a + :n", {"a": n("1" + "0" * 50)}, n=n(1)) == overflow


def test_what_lies_under_a_missing_leaf_is_let_be() -> None:
    item = {"m": {"M": {"x": n(3)}}, "l": texts("hi")}
    assert updated("REMOVE m.y, l[7], c", item) == item


def test_removals_from_an_item_that_is_not_there() -> None:
    update = one("UpdateExpression", "REMOVE x.y, z[0]").update
    assert update is not None and update.removes_only
    assert update.apply(KEY, {}, exists=False) == KEY
    with pytest.raises(ValidationException):
        update.apply(KEY, {})


@pytest.mark.parametrize(
    ("text", "only"),
    [("REMOVE a", True), ("REMOVE a DELETE b :v", True), ("REMOVE a SET b = :v", False), ("ADD a :v", False)],
)
def test_updates_that_only_remove(text: str, only: bool) -> None:
    values = {":v": {"SS": ["a"]}} if ":v" in text else None
    update = one("UpdateExpression", text, None, values).update
    assert update is not None and update.removes_only is only


def test_nothing_that_was_given_is_changed() -> None:
    item: dict[str, Any] = {"a": {"M": {"b": {"L": [n(1), {"SS": ["x"]}]}, "c": n(1)}}, "d": {"L": []}}
    kept = copy.deepcopy(item)
    text = "SET a.b[0] = :v, d[3] = :v REMOVE a.c ADD a.b[1] :s"
    values = {":v": {"M": {"x": n(1)}}, ":s": {"SS": ["y"]}}
    bound = one("UpdateExpression", text, None, values)
    assert bound.update is not None
    given = copy.deepcopy(bound.values)
    first = bound.update.apply(item, bound.values)
    assert (item, bound.values) == (kept, given)
    bound.update.apply(first, bound.values)
    assert first["d"] == {"L": [{"M": {"x": n(1)}}]}


def test_32_levels_are_the_limit() -> None:
    value: dict[str, Any] = n(1)
    for _ in range(30):
        value = {"L": [value]}
    item: dict[str, Any] = {"m": {"M": {}}}
    assert updated("SET m.a = :v", item, v=value)["m"]["M"]["a"] == value
    assert refused("SET m.a = :v", item, v={"M": {"x": value}}) == NESTED_TOO_DEEP


OLD = {"a": {"M": {"b": s("dog"), "c": {"L": [n(1), n(2), n(3)]}}}, "d": s("cat")}


@pytest.mark.parametrize(
    ("text", "before", "after"),
    [
        ("SET d = :v, e = :v", {"d": s("cat")}, {"d": n(7), "e": n(7)}),
        ("REMOVE d", {"d": s("cat")}, {}),
        ("SET e = :v", {}, {"e": n(7)}),
        ("SET a.b = :v", {"a": {"M": {"b": s("dog")}}}, {"a": {"M": {"b": n(7)}}}),
        ("SET a.c[1] = :v", {"a": {"M": {"c": {"L": [n(2)]}}}}, {"a": {"M": {"c": {"L": [n(7)]}}}}),
        ("SET a.x = :v", {}, {"a": {"M": {"x": n(7)}}}),
        ("SET a.c[100] = :v", {}, {}),
        ("REMOVE a.c[1], a.c[3]", {"a": {"M": {"c": {"L": [n(2)]}}}}, {"a": {"M": {"c": {"L": [n(3)]}}}}),
        (
            "SET a.c[2] = :v, a.c[0] = :v",
            {"a": {"M": {"c": {"L": [n(1), n(3)]}}}},
            {"a": {"M": {"c": {"L": [n(7), n(7)]}}}},
        ),
    ],
)
def test_returned_values(text: str, before: dict[str, Any], after: dict[str, Any]) -> None:
    bound = one("UpdateExpression", text, None, {":v": n(7)} if ":v" in text else None)
    assert bound.update is not None
    assert bound.update.updated(OLD) == before
    assert bound.update.updated(bound.update.apply(OLD, bound.values)) == after
    assert bound.update.updated(None) == {}
