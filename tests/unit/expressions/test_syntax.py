"""Syntax errors: which token is named, and what is shown around it."""

from __future__ import annotations

import pytest

from dynamometer.expressions.reserved import RESERVED_WORDS

from .helpers import one, refusal_of

CONDITION, UPDATE, PROJECTION = "ConditionExpression", "UpdateExpression", "ProjectionExpression"


@pytest.mark.parametrize(
    ("kind", "text", "token", "near"),
    [
        (UPDATE, "INVALID SYNTAX HERE", "INVALID", "INVALID SYNTAX"),
        (UPDATE, "SET _123 = :v", "_", "SET _123"),
        (UPDATE, "ADD hits : incr", ":", "hits : incr"),
        (UPDATE, "SET a = :v + :v + :v", "+", ":v + :v"),
        (UPDATE, "SET a = f(b + c)", "+", "b + c"),
        (UPDATE, "SET a = (b.c).d", ".", ").d"),
        (UPDATE, "SET a[:i] = :v", ":i", "[:i]"),
        (UPDATE, "SET a[#i] = :v", "#i", "[#i]"),
        (UPDATE, "SET a = SET", "SET", "= SET"),
        (UPDATE, "SET :a = :b", ":a", "SET :a ="),
        (UPDATE, "REMOVE a b", "b", "a b"),
        (UPDATE, "DELETE a b", "b", "a b"),
        (UPDATE, "SET a = (b + c", "<EOF>", "c"),
        (UPDATE, "SET", "<EOF>", "SET"),
        (UPDATE, "SET a = 1", "1", "= 1"),
        (UPDATE, "SET # = :v", "#", "SET # ="),
        (PROJECTION, "!!! INVALID !!!", "!", "!!"),
        (PROJECTION, "a-b", "-", "a-b"),
        (PROJECTION, "a,", "<EOF>", ","),
        (PROJECTION, ",a", ",", ",a"),
        (PROJECTION, "a,,b", ",", ",,b"),
        (PROJECTION, "a[-1]", "-", "[-1"),
        (PROJECTION, "a[]", "]", "[]"),
        (PROJECTION, "a b", "b", "a b"),
        (PROJECTION, "  ", "<EOF>", ""),
        (CONDITION, "attribute_not_exists(", "<EOF>", "("),
        (CONDITION, "a = = b", "=", "= = b"),
        (CONDITION, "a", "<EOF>", "a"),
        (CONDITION, ":v", "<EOF>", ":v"),
        (CONDITION, "NOT a", "<EOF>", "a"),
        (CONDITION, "a AND :v", "AND", "a AND :v"),
        (CONDITION, "a = :v OR NOT :v", "<EOF>", ":v"),
        (CONDITION, "(a)", "<EOF>", ")"),
        (CONDITION, "(a = :v) = :v", "=", ") = :v"),
        (CONDITION, "a IN ()", ")", "()"),
        (CONDITION, "a = :v)", ")", ":v)"),
        (CONDITION, "(a = :v", "<EOF>", ":v"),
        (CONDITION, "a != :v", "!", "a !="),
        (CONDITION, "a BETWEEN :v", "<EOF>", ":v"),
        (CONDITION, "and = :v", "and", "and ="),
        (CONDITION, "f()", ")", "()"),
        (CONDITION, "a > 4", "4", "> 4"),
        (CONDITION, "(size(a))[0] > a", "[", ")[0"),
        (CONDITION, "things are not gonna be ok", "are", "things are not"),
        (CONDITION, "((", "<EOF>", "("),
    ],
)
def test_names_the_token_and_what_stands_around_it(kind: str, text: str, token: str, near: str) -> None:
    assert refusal_of(kind, text) == f'Syntax error; token: "{token}", near: "{near}"'


@pytest.mark.parametrize("kind", [CONDITION, UPDATE, PROJECTION, "FilterExpression"])
def test_an_empty_expression_is_refused(kind: str) -> None:
    assert refusal_of(kind, "") == "The expression can not be empty;"


def test_4096_bytes_are_the_limit() -> None:
    assert one(PROJECTION, "x" * 4096).projection is not None
    too_long = "Expression size has exceeded the maximum allowed size;"
    assert refusal_of(PROJECTION, "x" * 4097) == f"{too_long} expression size: 4097"
    assert refusal_of(CONDITION, "(" * 15000) == f"{too_long} expression size: 15000"
    assert refusal_of(UPDATE, "SET a = b " + " " * 4096) == too_long


@pytest.mark.parametrize("text", ["SET a = :v", " \n set\ta=:v ", "sEt a = (:v)", "SET a = ((:v))"])
def test_case_of_keywords_and_white_space_do_not_matter(text: str) -> None:
    assert one(UPDATE, text, None, {":v": {"S": "x"}}).update is not None


@pytest.mark.parametrize("reference", ["#_", "#123", "#1a", "#Alpha_9"])
def test_references_may_begin_with_digits(reference: str) -> None:
    bound = one(UPDATE, f"SET {reference} = :0", {reference: "any.thing!"}, {":0": {"S": "x"}})
    assert bound.update is not None and bound.update.targets == {"any.thing!"}


def test_reserved_words_are_573() -> None:
    assert len(RESERVED_WORDS) == 573
    assert {"ABORT", "ZONE", "STATUS", "TTL"} <= RESERVED_WORDS
