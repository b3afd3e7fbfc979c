"""SearchVectors: scores and order, conditions, what is given back, and refusals."""

from __future__ import annotations

import math
import subprocess
import sys
from array import array
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from botocore.exceptions import ClientError
from hypothesis import given, settings
from hypothesis import strategies as st

import dynamometer
from dynamometer.base.errors import ValidationException
from dynamometer.engine.vectors import cache as vector_cache
from dynamometer.engine.vectors import scores
from dynamometer.engine.vectors.codec import as_list, to_bytes
from dynamometer.engine.vectors.lists import ListRows
from dynamometer.engine.vectors.matrix import MatrixRows
from dynamometer.model.constraints import constraints
from tests.unit.engine.tables import Body, Tables, types
from tests.unit.engine.vectors import (
    elements,
    found,
    refused_search,
    search,
    search_schema,
    vector,
    vector_index,
    with_index,
    with_schema,
)

KIND = "SearchConditionExpression"
INVALID_VECTOR = (
    "Search vector contains invalid values. All values in the search vector must be a 32-bit floating-point number "
    "attribute"
)


@pytest.fixture(params=[MatrixRows, ListRows])
def rows_type(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """With numpy and without."""
    monkeypatch.setattr(scores, "rows_type", lambda: request.param)
    return request.param


@pytest.fixture
def tables() -> Tables:
    return Tables()


def put(tables: Tables, p: str, *numbers: float | str, **item: Body) -> None:
    tables.put(p={"S": p}, embedding=vector(*numbers), **item)


def where(text: str, **values: Body) -> Body:
    """A search's condition."""
    return {KIND: text, "ExpressionAttributeValues": {f":{name}": value for name, value in values.items()}}


# --- Scores ------------------------------------------------------------------------------------------------------


DOCUMENTED = {"a": (1, 0, 0, 0), "b": (10, 0, 0, 0), "c": (0.7071, 0.7071, 0, 0), "d": (-1, 0, 0, 0)}


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        ("COSINE", {"a": 0.0, "b": 0.0, "c": 0.29, "d": 2.0}),
        ("EUCLIDEAN", {"a": 0.0, "c": 0.77, "d": 2.0, "b": 9.0}),
        ("DOT_PRODUCT", {"b": 10.0, "a": 1.0, "c": 0.71, "d": -1.0}),
    ],
)
@pytest.mark.usefixtures("rows_type")
def test_documented_scores(tables: Tables, function: str, expected: dict[str, float]) -> None:
    with_index(tables, dimensions=4, DistanceFunction=function)
    for p, numbers in DOCUMENTED.items():
        put(tables, p, *numbers)
    results = search(tables, 1, 0, 0, 0)
    assert {result["Item"]["p"]["S"]: round(result["Score"], 2) for result in results} == expected
    assert found(tables, 1, 0, 0, 0) == list(expected)


@pytest.mark.usefixtures("rows_type")
def test_vector_of_zeros_is_at_right_angles_to_all(tables: Tables) -> None:
    with_index(tables)
    put(tables, "zero", 0, 0, 0)
    put(tables, "one", 1, 0, 0)
    assert [result["Score"] for result in search(tables, 0, 0, 0)] == [1.0, 1.0]
    assert [(result["Item"]["p"]["S"], result["Score"]) for result in search(tables, 1, 0, 0)] == [
        ("one", 0.0),
        ("zero", 1.0),
    ]


@pytest.mark.parametrize(("function", "score"), [("EUCLIDEAN", 1), ("DOT_PRODUCT", -1)])
@pytest.mark.usefixtures("rows_type")
def test_score_is_never_more_than_32_bits_hold(tables: Tables, function: str, score: int) -> None:
    with_index(tables, dimensions=2, DistanceFunction=function)
    put(tables, "far", "3e38", "3e38")
    assert search(tables, "-3e38", "-3e38")[0]["Score"] == score * scores.SCORE_MAX


@pytest.mark.usefixtures("rows_type")
def test_same_vector_has_cosine_distance_zero(tables: Tables) -> None:
    with_index(tables, dimensions=3)
    put(tables, "a", 0.1, 0.2, 0.7)
    assert search(tables, 0.1, 0.2, 0.7)[0]["Score"] == 0.0


@pytest.mark.usefixtures("rows_type")
def test_ties_are_in_one_order_and_the_last_of_them_are_cut(tables: Tables) -> None:
    with_index(tables)
    names = [f"{number:02}" for number in range(20)]
    for name in names:
        put(tables, name, 1, 0, 0)
    put(tables, "nearest", 0, 1, 0)
    first = found(tables, 0, 1, 0, TopK=6)
    assert first == found(tables, 0, 1, 0, TopK=6) == found(tables, 0, 1, 0, TopK=21)[:6]
    assert first[0] == "nearest"
    assert len(set(first)) == 6


# --- Conditions --------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("rows_type")
def test_condition_chooses_part_and_filter(tables: Tables) -> None:
    with_schema(tables)
    put(tables, "a", 1, 0, 0, tenant={"S": "one"}, kind={"S": "x"})
    put(tables, "b", 1, 0, 0, tenant={"S": "one"}, kind={"S": "y"})
    put(tables, "c", 1, 0, 0, tenant={"S": "one"})
    put(tables, "d", 1, 0, 0, tenant={"S": "two"}, kind={"S": "x"})
    one, kind = {"S": "one"}, {"S": "x"}
    assert sorted(found(tables, 1, 0, 0, **where("tenant = :t", t=one))) == ["a", "b", "c"]
    assert found(tables, 1, 0, 0, **where("tenant = :t AND kind = :k", t=one, k=kind)) == ["a"]
    assert found(tables, 1, 0, 0, **where(":k = kind AND (tenant = :t)", t=one, k=kind)) == ["a"]
    assert found(tables, 1, 0, 0, **where("tenant = :t", t={"S": "nobody"})) == []
    assert found(tables, 1, 0, 0, **where("tenant = :t", t={"S": "x" * 3000})) == []
    names = where("#t = :t", t={"S": "two"}) | {"ExpressionAttributeNames": {"#t": "tenant"}}
    assert found(tables, 1, 0, 0, **names) == ["d"]


def test_filter_compares_numbers_by_value_and_follows_changes(tables: Tables) -> None:
    tables.create(
        AttributeDefinitions=types(p="S", size="N"),
        VectorIndexes=[vector_index(SearchSchema=search_schema("size"))],
    )
    put(tables, "a", 1, 0, 0, size={"N": "10.0"})
    put(tables, "b", 1, 0, 0, size={"N": "2"})
    condition = where("#s = :s", s={"N": "1e1"}) | {"ExpressionAttributeNames": {"#s": "size"}}
    assert found(tables, 1, 0, 0, **condition) == ["a"]
    put(tables, "b", 1, 0, 0, size={"N": "10"})
    put(tables, "a", 1, 0, 0)
    assert found(tables, 1, 0, 0, **condition) == ["b"]


PREFIX = f"Invalid {KIND}: "
COMPARATOR = f"{PREFIX}Invalid comparator used in {KIND}"
S = {"S": "x"}


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({}, f"{KIND} must be provided when SearchSchema has a HASH key"),
        (where("kind = :k", k=S), f"{KIND} must have all HASH attributes in configured SearchSchema"),
        (where("tenant < :t", t=S), COMPARATOR),
        (where("tenant = :t AND kind <> :k", t=S, k=S), COMPARATOR),
        (where("tenant IN (:t)", t=S), COMPARATOR),
        (where("tenant BETWEEN :t AND :t", t=S), COMPARATOR),
        (where("begins_with(tenant, :t)", t=S), COMPARATOR),
        ({KIND: "tenant = kind"}, COMPARATOR),
        (where("tenant = :t OR kind = :k", t=S, k=S), f"{PREFIX}Invalid operator used in {KIND}: OR"),
        (where("NOT tenant = :t", t=S), f"{PREFIX}Invalid operator used in {KIND}: NOT"),
        (
            where("tenant = :t AND colour = :k", t=S, k=S),
            f"{KIND} must not contain any attributes that is not in SearchSchema. Invalid attribute: colour",
        ),
        (
            where("tenant.x = :t", t=S),
            f"{PREFIX}{KIND} cannot have conditions on nested attributes",
        ),
        (
            where("tenant = :t AND tenant = :t", t=S),
            f"{PREFIX}{KIND} must only contain one condition per attribute",
        ),
        (
            where("tenant = :t", t={"N": "1"}),
            f"Type of 'tenant' attribute in {KIND} (N) does not match type in search schema (S)",
        ),
        (
            where("tenant = :t", t={"S": ""}),
            "One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an "
            "empty string value. Key: tenant",
        ),
        ({KIND: ""}, f"{PREFIX}The expression can not be empty;"),
        (where("tenant = = :t", t=S), f'{PREFIX}Syntax error; token: "=", near: "= = :t"'),
        (
            where("tenant = :u", t=S),
            f"{PREFIX}An expression attribute value used in expression is not defined; attribute value: :u",
        ),
        (
            where("tenant = :t", t=S, u=S),
            "Value provided in ExpressionAttributeValues unused in expressions: keys: {:u}",
        ),
    ],
)
def test_conditions_that_can_not_be(tables: Tables, body: Body, message: str) -> None:
    with_schema(tables)
    assert refused_search(tables, 1, 0, 0, **body) == message


# --- What is given back ------------------------------------------------------------------------------------------


def test_vector_is_given_back_only_when_asked_for(tables: Tables) -> None:
    with_index(tables)
    put(tables, "a", "0.1", "-0", "1E+20", note={"S": "n"}, deep={"M": {"x": S, "y": S}})
    item = search(tables, 1, 0, 0)[0]["Item"]
    assert item == {"p": {"S": "a"}, "note": {"S": "n"}, "deep": {"M": {"x": S, "y": S}}}
    shown = search(tables, 1, 0, 0, ProjectionExpression="embedding, deep.x, nothing")[0]["Item"]
    assert shown == {"embedding": vector("0.1", "0", "100000000000000000000"), "deep": {"M": {"x": S}}}
    element = search(tables, 1, 0, 0, ProjectionExpression="embedding[2]")[0]["Item"]
    assert element == {"embedding": vector("100000000000000000000")}


def test_only_what_is_projected_can_be_given_back(tables: Tables) -> None:
    with_schema(tables, Projection={"ProjectionType": "INCLUDE", "NonKeyAttributes": ["title"]})
    put(tables, "a", 1, 0, 0, tenant=S, kind=S, title=S, note=S)
    condition = where("tenant = :t", t=S)
    assert search(tables, 1, 0, 0, **condition)[0]["Item"] == {"p": {"S": "a"}, "tenant": S, "kind": S, "title": S}
    assert search(tables, 1, 0, 0, **condition, ProjectionExpression="p, note")[0]["Item"] == {"p": {"S": "a"}}


def test_results_stop_at_16_megabytes(tables: Tables) -> None:
    with_index(tables)
    for number in range(45):
        put(tables, f"{number:02}", 1, 0, number, pad={"S": "x" * 400_000})
    assert len(search(tables, 1, 0, 0, TopK=100)) == 41


def test_capacity_is_said_in_bytes_alone(tables: Tables) -> None:
    with_index(tables, dimensions=64)
    put(tables, "a", *[1] * 64, note={"S": "n" * 95})
    body = {"TableName": "abc", "IndexName": "vix", "SearchVector": elements(*[1] * 64), "TopK": 1}

    def used(**more: Any) -> Any:
        return tables.call("SearchVectors", **body, **more).get("ConsumedCapacity")

    assert used() is None
    assert used(ReturnConsumedCapacity="NONE") is None
    total = used(ReturnConsumedCapacity="TOTAL")
    assert total == used(ReturnConsumedCapacity="INDEXES")
    assert list(total) == ["VectorSearchRequestBytes"]
    whole = used(ReturnConsumedCapacity="TOTAL", ProjectionExpression="embedding")
    assert whole["VectorSearchRequestBytes"] == total["VectorSearchRequestBytes"] + 256


# --- Refusals ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (
            {"TopK": 101},
            "Provided TopK value '101' is out of valid range. The value must be between 1 and 100 inclusive",
        ),
        ({"IndexName": "nope"}, "The table does not have the specified index: nope"),
        (
            {"SearchVector": elements(1, 0)},
            "Input search vector dimension 2 does not match vector index dimension 3",
        ),
        ({"SearchVector": [vector(1, 0, 0)]}, INVALID_VECTOR),
        ({"SearchVector": elements("1e39", 0, 0)}, INVALID_VECTOR),
        ({"SearchVector": elements("NaN", 0, 0)}, INVALID_VECTOR),
        ({"SearchVector": [{"N": "1", "S": "1"}, {"N": "1"}, {"N": "1"}]}, INVALID_VECTOR),
        (
            where("tenant = :t", t=S),
            f"{KIND} must not contain any attributes that is not in SearchSchema. Invalid attribute: tenant",
        ),
        (
            {"ExpressionAttributeValues": {":t": S}},
            f"ExpressionAttributeValues can only be specified when using expressions: {KIND} is null",
        ),
    ],
)
def test_searches_that_can_not_be(tables: Tables, body: Body, message: str) -> None:
    with_index(tables)
    assert refused_search(tables, 1, 0, 0, **body) == message


@pytest.mark.parametrize(
    ("member", "value", "constraint"),
    [
        ("IndexName", "ab", "length greater than or equal to 3"),
        ("SearchVector", [], "length greater than or equal to 1"),
        ("SearchVector", elements(1) * 4097, "length less than or equal to 4096"),
        ("TopK", 0, "value greater than or equal to 1"),
    ],
)
def test_constraints_do_not_repeat_the_value(member: str, value: Any, constraint: str) -> None:
    body = {"TableName": "abc", "IndexName": "vix", "SearchVector": elements(1), "TopK": 1} | {member: value}
    message = (
        f"1 validation error detected: Value at '{member}' failed to satisfy constraint: Member must have {constraint}"
    )
    with pytest.raises(ValidationException) as raised:
        constraints("SearchVectors")(body)
    assert raised.value.message == message


def test_search_in_a_table_that_is_not_there(tables: Tables) -> None:
    assert tables.refused("SearchVectors", TableName="abc", IndexName="vix", SearchVector=elements(1), TopK=1) == (
        "ResourceNotFoundException",
        "Requested resource not found",
    )


def test_through_a_client() -> None:
    with dynamometer.local() as db:
        client = db.client()
        client.create_table(
            TableName="abc",
            BillingMode="PAY_PER_REQUEST",
            KeySchema=[{"AttributeName": "p", "KeyType": "HASH"}],
            AttributeDefinitions=types(p="S"),
            VectorIndexes=[vector_index()],
        )
        client.put_item(TableName="abc", Item={"p": {"S": "a"}, "embedding": vector(1, 0, 0)})
        answer = client.search_vectors(TableName="abc", IndexName="vix", SearchVector=elements(1, 0, 0), TopK=1)
        assert answer["SearchResults"] == [{"Item": {"p": {"S": "a"}}, "Score": 0.0}]
        with pytest.raises(ClientError, match="does not match vector index dimension 3"):
            client.search_vectors(TableName="abc", IndexName="vix", SearchVector=elements(1), TopK=1)


# --- Properties --------------------------------------------------------------------------------------------------


FLOATS = st.floats(width=32, allow_nan=False, allow_infinity=False)
PACKED = st.lists(FLOATS, min_size=3, max_size=3).map(lambda numbers: to_bytes(array("f", numbers)))
FUNCTIONS = st.sampled_from(["COSINE", "EUCLIDEAN", "DOT_PRODUCT"])


@given(FLOATS)
def test_a_float_is_shown_so_that_it_is_read_as_the_same(number: float) -> None:
    (shown,) = as_list(to_bytes(array("f", [number])))["L"]
    assert "e" not in shown["N"].lower()
    assert array("f", [float(shown["N"])])[0] == number


@given(st.lists(PACKED, min_size=1, max_size=20), PACKED, FUNCTIONS)
def test_both_kinds_of_rows_score_alike(vectors: list[bytes], query: bytes, function: str) -> None:
    answers = []
    for kind in (MatrixRows, ListRows):
        rows = kind(3)
        for number, packed in enumerate(vectors):
            rows.put(number, packed)
        answers.append([float(score) for score in rows.scores(function, query, None)])
    for one, other in zip(*answers, strict=True):
        # cancelling products of large floats keep no digits that could agree
        is_large = function == "DOT_PRODUCT" and max(abs(one), abs(other)) > 1e6
        assert is_large or math.isclose(one, other, rel_tol=1e-6, abs_tol=1e-6)


STEPS = st.lists(
    st.tuples(st.sampled_from("abcdef"), st.one_of(st.none(), st.tuples(*[st.integers(-3, 3)] * 3))), max_size=12
)


@settings(deadline=None, max_examples=50)
@given(STEPS, st.sets(st.integers(0, 12)), FUNCTIONS, st.tuples(*[st.integers(-3, 3)] * 3))
def test_what_is_kept_in_memory_is_what_a_new_engine_reads(
    steps: list[tuple[str, tuple[int, ...] | None]], searched: set[int], function: str, query: tuple[int, ...]
) -> None:
    tables = Tables()
    with_index(tables, DistanceFunction=function)
    for number, (name, numbers) in enumerate(steps):
        if numbers is None:
            tables.call("DeleteItem", TableName="abc", Key={"p": {"S": name}})
        else:
            put(tables, name, *numbers)
        if number in searched:
            search(tables, *query)
    kept = search(tables, *query)
    tables.open()
    assert search(tables, *query) == kept
    expected = dict(steps)
    assert len(kept) == sum(numbers is not None for numbers in expected.values())


def test_parts_that_are_too_much_for_memory_are_read_again(tables: Tables, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vector_cache, "CACHE_BYTES_MAX", 1500)
    with_schema(tables)
    for tenant in "abc":
        put(tables, tenant, 1, 0, 0, tenant={"S": tenant})
    for tenant in "abcabc":
        assert found(tables, 1, 0, 0, **where("tenant = :t", t={"S": tenant})) == [tenant]
    index = tables.world.tables["abc"].indexes["vix"]
    assert index.vectors is not None
    assert 0 < len(index.vectors._parts) < 3


def test_rows_that_are_empty_have_no_nearest(rows_type: Callable[[int], Any]) -> None:
    rows = rows_type(3)
    assert (rows.count, list(rows.scores("COSINE", bytes(12), None))) == (0, [])
    assert rows.nearest(rows.scores("COSINE", bytes(12), None), 5, False) == []


def test_numpy_waits_for_the_first_search() -> None:
    program = "import sys, dynamometer; dynamometer.local().client(); print('numpy' in sys.modules)"
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "False"
