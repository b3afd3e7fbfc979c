"""What the parser makes of statements, and its words for what is none."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynamometer.base.errors import ValidationException
from dynamometer.partiql.parser import parse
from dynamometer.partiql.tokens import NOT_WELL_FORMED, place, tokenize
from dynamometer.partiql.tree import Delete, Insert, Junction, Literal, Name, Select, Update


def refusal(statement: str) -> str:
    with pytest.raises(ValidationException) as caught:
        parse(statement)
    message = str(caught.value.message)
    assert message.startswith(NOT_WELL_FORMED)
    return message.removeprefix(NOT_WELL_FORMED)


@pytest.mark.parametrize(
    ("statement", "detail"),
    [
        ("SLECT * FROM t WHERE a = 1", "Expected data manipulation"),
        ("UPDATE music-dev SET a = 1 WHERE b = 2", "Expected data manipulation"),
        ("SELECT * FROM t WHERE a = 1 foo", "Unexpected token after expression"),
        ("SELECT * FROM t WHERE a = 1 e5", "Unexpected token after expression"),
        ("SELECT * FROM t WHERE a = 1)", "Unexpected token after expression"),
        ("INSERT INTO t VALUE {'a': 1} foo", "Unexpected token after expression"),
        ("INSERT INTO t u VALUE {'a': 1}", "Unexpected token after expression"),
        ("UPDATE t SET a = 1 WHERE b = 2 foo", "Unexpected token after expression"),
        ("DELETE FROM t WHERE a = 1 ORDER BY a", "Unexpected token after expression"),
        ("SELECT * FROM t ORDER BY a WHERE a = 1", "Unexpected token after expression"),
        ("FROM t SET c = 1 WHERE a = 1", "Unexpected token after expression"),
        ("SELECT * FROM t WHERE", "Unexpected term"),
        ("SELECT * FROM t WHERE;", "Unexpected term"),
        ("SELECT * FROM t WHERE NOT", "Unexpected term"),
        ("SELECT * FROM t WHERE (", "Unexpected term"),
        ("SELECT * FROM", "Unexpected term"),
        ("UPDATE t SET a = 1 WHERE", "Unexpected term"),
        ("DELETE FROM t WHERE", "Unexpected term"),
        ("SELECT * FROM t WHERE a = 1 AND", "Missing right-hand side expression of infix operator"),
        ("SELECT * FROM t WHERE a = 1 OR", "Missing right-hand side expression of infix operator"),
        ("SELECT * FROM t WHERE ORDER BY a", "Unexpected keyword"),
        ("INSERT INTO t (key, b) VALUES (?, ?)", "Unexpected keyword"),
        ("SELECT * FROM t WHERE IS NULL", "Unexpected operator"),
        ("SELECT * FROM t WHERE a = LIKE", "Unexpected operator"),
        ("SELECT * FROM t WHERE a IS FOO", "Expected type name"),
        ("DELETE FROM", "Expected identifier for simple path"),
        ("DELETE FROM;", "Expected identifier for simple path"),
        ("DELETE FROM WHERE a = 1", "Expected identifier for simple path"),
        ("SELECT * FROM t WHERE a.inner = 1", "Invalid path dot component"),
        ("SELECT a b c FROM t", "Expected FROM after SELECT list"),
    ],
)
def test_broken_statements_are_refused_in_the_services_words(statement: str, detail: str) -> None:
    assert refusal(statement) == detail


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT * FROM t WHERE a = 1e2147483648",
        "SELECT * FROM t WHERE a = 1e99999999999",
        "SELECT * FROM t WHERE a = 1.5e-2147483647",
        "SELECT * FROM t WHERE a = 1 # note",
        "SELECT * FROM t WHERE a = 1 /* note",
        "SELECT * FROM t WHERE a = 'open",
        'SELECT * FROM "',
        "SELECT * FROM t WHERE a = 1foo",
    ],
)
def test_what_begins_no_token_is_refused_without_a_detail(statement: str) -> None:
    assert refusal(statement) == ""


def select(statement: str) -> Select:
    parsed = parse(statement)
    assert isinstance(parsed, Select)
    return parsed


def test_keywords_take_any_case_and_names_keep_theirs() -> None:
    parsed = select("sElEcT Artist fRoM \"Mu\"\"sic\".Idx wHeRe Artist = 'a''b'")
    assert parsed.source.parts == ('Mu"sic', "Idx")
    assert parsed.columns is not None
    assert [column.steps for column in parsed.columns if isinstance(column, Name)] == [("Artist",)]


@pytest.mark.parametrize(
    ("text", "value"),
    [("1", "1"), ("- 1", "-1"), ("- - 1", "1"), ("+5", "5"), (".5e1", ".5e1"), ("-/* c */-1", "1"), ("2.", "2.")],
)
def test_signs_belong_to_the_number_behind_them(text: str, value: str) -> None:
    where: Any = select(f"SELECT * FROM t WHERE a = {text}").where
    assert isinstance(where.right, Literal)
    assert where.right.text == value


def test_and_binds_tighter_than_or_and_groups_break_that() -> None:
    where = select("SELECT * FROM t WHERE a=1 OR b=2 AND c=3").where
    assert isinstance(where, Junction)
    assert where.operator == "or"
    where = select("SELECT * FROM t WHERE (a=1 OR b=2) AND c=3").where
    assert isinstance(where, Junction)
    assert where.operator == "and"


def test_update_has_two_forms() -> None:
    usual = parse("UPDATE t SET a = 1, b = 2 REMOVE c WHERE k = 1 RETURNING ALL OLD *")
    other = parse("FROM t WHERE k = 1 SET a = 1 SET b = 2 REMOVE c RETURNING ALL OLD *")
    assert isinstance(usual, Update)
    assert isinstance(other, Update)
    assert len(usual.changes) == len(other.changes) == 3
    assert usual.returning == other.returning == "ALL OLD *"


def test_insert_and_delete() -> None:
    insert = parse("INSERT INTO t VALUE {'a': [1, {'b': <<'x'>>}], 'n': NULL, 't': TRUE};")
    assert isinstance(insert, Insert)
    assert insert.source.parts == ("t",)
    assert isinstance(parse("delete from t where a = ?"), Delete)


def test_comments_are_space_outside_of_strings() -> None:
    parsed = select("-- first\nSELECT/**/* FROM t -- the table\nWHERE a = '--b /*c*/' --")
    where: Any = parsed.where
    assert where.right.text == "--b /*c*/"


def test_places_are_line_column_and_length() -> None:
    assert place("ab\ncde", 4, 6) == "2:2:2"
    assert [token.kind for token in tokenize("NOT  IN not between IS NOT")] == ["operator"] * 3 + ["end"]


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT * FROM t WHERE " + "(" * 500 + "a=1" + ")" * 500,
        "SELECT * FROM t WHERE a = " + "[" * 2000,
        "SELECT * FROM t WHERE " + "NOT (" * 1000,
        "INSERT INTO t VALUE " + "{'a':" * 1000,
        "SELECT * FROM t WHERE a = " + "size(" * 1000,
    ],
)
def test_depth_is_bounded(statement: str) -> None:
    assert "nested too deeply" in refusal(statement)


def test_a_long_row_of_nots_and_ands_is_no_depth() -> None:
    select("SELECT * FROM t WHERE " + "NOT " * 1500 + "a = 1")
    select("SELECT * FROM t WHERE " + " AND ".join(["a = 1"] * 800))


WORDS = (
    "SELECT UPDATE DELETE INSERT INTO VALUE FROM SET REMOVE WHERE AND OR NOT IN BETWEEN IS NULL MISSING LIKE EXISTS "
    "ORDER BY DESC LIMIT GROUP RETURNING ALL OLD MODIFIED NEW AS CASE CREATE TABLE DISTINCT a b \"t\" 'x' 1 -2 ? * ( ) "
    "[ ] { } << >> , . : ; = <> < + - size begins_with count"
).split()


@given(st.lists(st.sampled_from(WORDS), max_size=30).map(" ".join))
def test_any_row_of_words_is_parsed_or_refused(statement: str) -> None:
    try:
        parse(statement)
    except ValidationException as error:
        assert str(error.message).startswith(NOT_WELL_FORMED)


@given(st.text(max_size=60))
def test_any_text_is_parsed_or_refused(statement: str) -> None:
    try:
        parse(statement)
    except ValidationException as error:
        assert str(error.message).startswith(NOT_WELL_FORMED)
