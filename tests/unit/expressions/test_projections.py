"""What projections leave of items."""

from __future__ import annotations

from typing import Any

import pytest

from dynamometer.expressions import bind

from .helpers import GET, one, refusal

ITEM: dict[str, Any] = {
    "p": {"S": "key"},
    "a": {"M": {"b": {"L": [{"N": "2"}, {"N": "4"}, {"M": {"x": {"S": "hi"}, "y": {"S": "yo"}}}]}, "c": {"N": "5"}}},
    "b": {"S": "hello"},
    "a.b": {"S": "dotted"},
}


def in_b(*elements: dict[str, Any]) -> dict[str, Any]:
    return {"a": {"M": {"b": {"L": list(elements)}}}}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("p", {"p": {"S": "key"}}),
        ("b, absent", {"b": {"S": "hello"}}),
        ("a", {"a": ITEM["a"]}),
        ("a.b", in_b(*ITEM["a"]["M"]["b"]["L"])),
        ("a.b[0]", in_b({"N": "2"})),
        ("a.b[1], a.b[0]", in_b({"N": "2"}, {"N": "4"})),
        ("a.b[2].y", in_b({"M": {"y": {"S": "yo"}}})),
        ("a.b[2].y, a.b[2].x, a.b[0]", in_b({"N": "2"}, {"M": {"y": {"S": "yo"}, "x": {"S": "hi"}}})),
        ("a.c, b", {"a": {"M": {"c": {"N": "5"}}}, "b": {"S": "hello"}}),
        ("a.x, a.b[0], x, a.b[3].x", in_b({"N": "2"})),
        ("#d", {"a.b": {"S": "dotted"}}),
    ],
)
def test_parts(text: str, expected: dict[str, Any]) -> None:
    bound = one("ProjectionExpression", text, {"#d": "a.b"} if "#d" in text else None)
    assert bound.projection is not None
    assert bound.projection.project(ITEM) == expected


@pytest.mark.parametrize("text", ["x", "a.b[3]", "a.x", "a.x.y", "a.b[3].x", "a.b.x", "a[0]", "a.b[0].x", "a.b[0][0]"])
def test_nothing_there(text: str) -> None:
    bound = one("ProjectionExpression", text)
    assert bound.projection is not None
    assert bound.projection.project(ITEM) == {}


def test_what_a_projection_reads() -> None:
    projection = one("ProjectionExpression", "a.b[0], a.c, d").projection
    assert projection is not None
    assert projection.attributes == {"a", "d"}
    assert projection.nested == {"a"}
    assert not projection.top_level_only


def test_attributes_to_get_are_names_as_they_stand() -> None:
    projection = bind({"AttributesToGet": ["a.b", "p", "zone"]}, GET).projection
    assert projection is not None and projection.top_level_only
    assert projection.project(ITEM) == {"a.b": {"S": "dotted"}, "p": {"S": "key"}}


def test_attributes_to_get_may_not_repeat() -> None:
    expected = "One or more parameter values were invalid: Duplicate value in attribute name: b"
    assert refusal({"AttributesToGet": ["a", "b", "c", "b"]}, GET) == expected
