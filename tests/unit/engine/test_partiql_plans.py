"""Whatever a WHERE is taken apart into, it gives the items that a scan with the WHERE as its filter gives."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from botocore.exceptions import ClientError
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.unit.engine.partiql import Statements, ql

__all__ = ["ql"]

_KEYS = st.sampled_from("abc")
_SORTS = st.sampled_from("1234")


def _clauses() -> st.SearchStrategy[str]:
    operators = st.sampled_from(["=", "<>", "<", "<=", ">", ">="])
    return st.one_of(
        _KEYS.map("pk = '{}'".format),
        st.lists(_KEYS, min_size=1, max_size=3, unique=True).map(lambda keys: f"pk IN {keys}"),
        st.tuples(operators, _SORTS).map(lambda each: f"sk {each[0]} '{each[1]}'"),
        st.tuples(_SORTS, operators).map(lambda each: f"'{each[0]}' {each[1]} sk"),
        st.tuples(_SORTS, _SORTS).map(lambda each: f"sk BETWEEN '{min(each)}' AND '{max(each)}'"),
        st.lists(_SORTS, min_size=1, max_size=3, unique=True).map(lambda keys: f"sk IN {keys}"),
        _SORTS.map("begins_with(sk, '{}')".format),
        _SORTS.map("shown = '{}'".format),
        st.just("attribute_exists(odd)"),
    )


def _conditions() -> st.SearchStrategy[str]:
    return st.recursive(
        _clauses(),
        lambda inner: st.one_of(
            st.tuples(inner, inner).map(lambda each: f"({each[0]} AND {each[1]})"),
            st.tuples(inner, inner).map(lambda each: f"({each[0]} OR {each[1]})"),
            inner.map("NOT ({})".format),
        ),
        max_leaves=5,
    )


@pytest.fixture
def filled(ql: Statements) -> Iterator[Statements]:
    for pk in "abc":
        for sk in "1234":
            odd = {"odd": {"BOOL": True}} if sk in "13" else {}
            ql.put(pk, sk, shown={"S": sk}, **odd)
    yield ql


def _found(ql: Statements, where: str, limit: int) -> list[tuple[str, str]]:
    found = []
    members: dict[str, object] = {"Limit": limit}
    while True:
        answer = ql.run(f"SELECT pk, sk FROM tbl WHERE {where}", **members)
        found += [(item["pk"]["S"], item["sk"]["S"]) for item in answer["Items"]]
        if "NextToken" not in answer:
            return sorted(found)
        members["NextToken"] = answer["NextToken"]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=150, deadline=None)
@given(key=_KEYS, condition=_conditions(), limit=st.sampled_from([2, 100]))
def test_plans_and_scans_agree(filled: Statements, key: str, condition: str, limit: int) -> None:
    for where in (condition, f"pk = '{key}' AND {condition}"):
        by_scan = _found(filled, f"({where}) OR nothing = 'at all'", 100)
        try:
            found = _found(filled, where, limit)
        except ClientError as error:
            message = error.response["Error"]["Message"]
            assert message == "Overlapping conditions with range keys are not supported in where clause"
        else:
            assert found == by_scan
