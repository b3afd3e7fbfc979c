"""However deep an expression nests, it gets the service's answer and never Python's recursion limit."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable

import pytest

from .helpers import S, holds, one, refusal_of, updated

CONDITION = "ConditionExpression"
TOO_MANY = "The expression contains too many operators; operator count: 301"


def test_parentheses_alone() -> None:
    assert refusal_of(CONDITION, "(" * 4096) == 'Syntax error; token: "<EOF>", near: "("'
    assert refusal_of(CONDITION, "(" * 2046 + "a<b" + ")" * 2046) == "The expression has redundant parentheses;"
    assert refusal_of(CONDITION, "a < " + "(" * 2000 + "b" + ")" * 2000) == "The expression has redundant parentheses;"
    assert refusal_of("UpdateExpression", "SET a = " + "(" * 4000) == 'Syntax error; token: "<EOF>", near: "("'


def test_parentheses_are_no_operators() -> None:
    depth = 149
    item = {"a": {"N": "1"}, "b": {"N": "2"}}
    assert holds("a<b " + "or (a<b " * depth + ")" * depth, item)
    assert refusal_of(CONDITION, "a<b " + "or (a<b " * 454 + ")" * 454) == TOO_MANY


def test_negations() -> None:
    item = {"a": {"N": "1"}, "b": {"N": "2"}}
    assert holds("NOT " * 298 + "a < b", item)
    assert not holds("NOT " * 297 + "a < b", item)
    assert holds("NOT (" * 298 + "a < b" + ")" * 298, item)
    assert refusal_of(CONDITION, "not " * 1000 + "a<b") == TOO_MANY


def test_calls() -> None:
    assert refusal_of(CONDITION, "a < " + "f(" * 1355 + "b" + ")" * 1355) == "Invalid function name; function: f"
    assert refusal_of(CONDITION, "a < " + "size(" * 680 + "b" + ")" * 680) == TOO_MANY
    wrong = "Incorrect operand type for operator or function; operator or function: size, operand type: N"
    assert refusal_of(CONDITION, "a < " + "size(" * 290 + "b" + ")" * 290) == wrong


def test_defaults_of_defaults() -> None:
    text = "SET a = " + "if_not_exists(b," * 240 + ":v" + ")" * 240
    assert updated(text, {}, v=S) == {"a": S}


def test_300_operators_are_the_limit() -> None:
    assert one(CONDITION, " OR ".join(["a=b"] * 150)).condition is not None
    assert refusal_of(CONDITION, " OR ".join(["a=b"] * 151)) == TOO_MANY
    assert refusal_of(CONDITION, " OR ".join(["attribute_exists(a)"] * 151)) == TOO_MANY


def in_a_short_stack(action: Callable[[], None]) -> None:
    limit = sys.getrecursionlimit()
    failure: list[BaseException] = []

    def run() -> None:
        try:
            action()
        except BaseException as error:
            failure.append(error)

    sys.setrecursionlimit(700)
    try:
        thread = threading.Thread(target=run)
        thread.start()
        thread.join()
    finally:
        sys.setrecursionlimit(limit)
    if failure:
        raise failure[0]


@pytest.mark.parametrize(
    "action",
    [
        test_parentheses_alone,
        test_parentheses_are_no_operators,
        test_negations,
        test_calls,
        test_defaults_of_defaults,
        test_300_operators_are_the_limit,
    ],
)
def test_half_of_the_stack_is_left_to_the_caller(action: Callable[[], None]) -> None:
    in_a_short_stack(action)
