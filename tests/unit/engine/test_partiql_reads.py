"""SELECT: which items it reads, in which order and pages, and what that costs."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.engine.partiql import Statements, ql

__all__ = ["ql"]

OVERLAP = "Overlapping conditions with range keys are not supported in where clause"
TOO_MANY = "Too many decomposed read operations for a given query."


def fill(ql: Statements) -> None:
    for pk in ("o", "p"):
        for sk in ("1", "2", "3"):
            ql.put(pk, sk, g={"S": f"g{sk}"}, l={"S": f"l{sk}"}, shown={"S": sk}, hidden={"S": sk})


def units(answer: Any) -> tuple[float, float, float]:
    """Total, table, and all indexes."""
    used = answer["ConsumedCapacity"]
    arms = [*used.get("GlobalSecondaryIndexes", {}).values(), *used.get("LocalSecondaryIndexes", {}).values()]
    return used["CapacityUnits"], used["Table"]["CapacityUnits"], sum(arm["CapacityUnits"] for arm in arms)


# --- Columns -----------------------------------------------------------------------------------------------------


def test_a_path_column_is_named_from_its_last_name_on(ql: Statements) -> None:
    ql.put("a", m={"M": {"k": {"L": [{"S": "c"}]}}}, x={"N": "1"})
    select = "FROM tbl WHERE pk = 'a' AND sk = '1'"
    assert ql.items(f"SELECT m.k[0] {select}") == [{"k[0]": {"S": "c"}}]
    assert ql.items(f"SELECT m.k[-0], x, nope {select}") == [{"k[0]": {"S": "c"}, "x": {"N": "1"}}]
    assert ql.items(f"SELECT nope {select}") == [{}]
    assert ql.refusal(f"SELECT attribute_exists(x) {select}") == "Unexpected path component at 1:8:16"


# --- Which items -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("where", "wanted"),
    [
        ("pk = 'o'", "123"),
        ("pk = 'o' AND sk > '1'", "23"),
        ("pk = 'o' AND '2' >= sk", "12"),
        ("pk = 'o' AND sk BETWEEN '2' AND '3'", "23"),
        ("pk = 'o' AND begins_with(sk, '3')", "3"),
        ("pk = 'o' AND sk > '1' AND sk < '3'", "2"),
        ("pk = 'o' AND sk = '1' AND sk > '0'", "1"),
        ("pk = 'o' AND sk = '1' AND sk = '2'", ""),
        ("pk = 'o' AND pk = 'p'", ""),
        ("pk = 'o' AND sk IN ['1', '3']", "13"),
        ("pk = 'o' AND (sk = '3' OR sk = '1')", "13"),
        ("pk = 'o' AND (sk < '2' OR sk > '2' OR sk = '2')", "123"),
        ("pk IN ['p', 'o'] AND sk IN ['1', '2']", "1212"),
        ("pk = 'o' AND (shown = '1' OR shown = '3')", "13"),
        ("pk = 'o' AND attribute_exists(pk)", "123"),
        ("pk = 'o' AND sk <> '1'", "23"),
        ("pk = 'o' AND NOT sk IN ['1', '3']", "2"),
        ("pk = 'o' AND NOT sk = '1' OR pk = 'o' AND sk = '2'", "23"),
        ("pk = 'o' OR pk = 'o' AND NOT sk = '1'", "123"),
        ("pk = 'o' AND NOT begins_with(sk, 'x') OR pk = 'o' AND sk = '2'", "123"),
    ],
)
def test_keyed_reads_give_every_item_once(ql: Statements, where: str, wanted: str) -> None:
    fill(ql)
    assert "".join(ql.sort_keys(where)) == wanted


@pytest.mark.parametrize(
    ("where", "wanted"),
    [
        ("pk = 'o' OR sk = '1'", ["1", "1", "2", "3"]),
        ("pk > 'o'", ["1", "2", "3"]),
        ("pk > 1", []),
        ("sk = '2'", ["2", "2"]),
        ("NOT pk = 'o'", ["1", "2", "3"]),
    ],
)
def test_all_else_is_a_scan(ql: Statements, where: str, wanted: list[str]) -> None:
    fill(ql)
    assert sorted(ql.sort_keys(where)) == wanted


@pytest.mark.parametrize(
    "where",
    [
        "pk IN ['o', 'o']",
        "pk = 'o' OR pk = 'o'",
        "pk = 'o' AND (sk > '0' OR sk < '5')",
        "pk = 'o' AND (sk = '1' OR flag = 'x')",
        "(pk = 'o' AND flag = 'one') OR (pk = 'o' AND flag = 'two')",
        "pk = 'o' AND x <> '1' OR pk = 'o' AND sk = '2'",
    ],
)
def test_alternatives_may_not_overlap(ql: Statements, where: str) -> None:
    assert ql.refusal(f"SELECT * FROM tbl WHERE {where}") == OVERLAP


def values(count: int) -> str:
    return "[" + ",".join(f"'v{number}'" for number in range(count)) + "]"


def test_no_more_than_fifty_reads(ql: Statements) -> None:
    for where in (f"pk IN {values(51)}", f"pk='o' AND sk IN {values(51)}", f"pk IN {values(26)} AND sk IN ['1','2']"):
        assert ql.refusal(f"SELECT * FROM tbl WHERE {where}") == TOO_MANY
    assert ql.sort_keys(f"pk IN {values(50)} AND flag IN {values(100)}") == []
    assert ql.sort_keys(f"pk IN {values(51)} OR flag = 'one'") == []


def test_key_values_have_the_keys_type(ql: Statements) -> None:
    text = "Key attribute's data type should match its data type in table's schema: Key "
    assert ql.refusal("SELECT * FROM tbl WHERE pk = 1 OR pk = 'o'") == f"{text}pk"
    assert ql.refusal("SELECT * FROM tbl WHERE pk = 'o' AND sk IN ['1', 2]") == f"{text}sk"


def test_unknown_tables(ql: Statements) -> None:
    message = ql.error("ResourceNotFoundException", "SELECT * FROM nothing WHERE pk = 'a'")
    assert message == "Requested resource not found"
    ql.error("ResourceNotFoundException", "FROM nothing WHERE pk = 'x' SET c = 1")


# --- Order and pages ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("where", "wanted"),
    [
        ("pk = 'o' ORDER BY sk DESC", "o3 o2 o1"),
        ("pk = 'o' ORDER BY sk", "o1 o2 o3"),
        ("pk = 'o' ORDER BY pk ASC", "o3 o2 o1"),
        ("pk IN ['o', 'p'] ORDER BY pk DESC, sk ASC", "p1 p2 p3 o1 o2 o3"),
        ("pk IN ['o', 'p'] AND sk IN ['1', '3'] ORDER BY pk, sk DESC", "o3 o1 p3 p1"),
    ],
)
def test_order_by(ql: Statements, where: str, wanted: str) -> None:
    fill(ql)
    items = ql.items(f"SELECT pk, sk FROM tbl WHERE {where}")
    assert " ".join(item["pk"]["S"] + item["sk"]["S"] for item in items) == wanted


@pytest.mark.parametrize(
    ("rest", "message"),
    [
        ("ORDER BY sk", "Must have WHERE clause in the statement when using ORDER BY clause."),
        ("WHERE pk = 'o' ORDER BY x", "Attribute x in ORDER BY clause must be part of the primary key"),
        ("WHERE pk > 'a' ORDER BY sk",
         "Must have at least one non-optional hash key condition in WHERE clause when using ORDER BY clause."),
        ("WHERE pk IN ['o', 'p'] ORDER BY sk",
         "Must have hash key in ORDER BY clause when more than one hash key condition specified in WHERE clause."),
    ],
)  # fmt: skip
def test_orders_that_no_read_has(ql: Statements, rest: str, message: str) -> None:
    assert ql.refusal(f"SELECT sk FROM tbl {rest}") == message


@pytest.mark.parametrize(
    "rest",
    [
        "",
        " WHERE pk IN ['o', 'p']",
        " WHERE pk IN ['o', 'p'] ORDER BY pk DESC, sk DESC",
        " WHERE pk IN ['o', 'p'] AND sk IN ['1', '2', '3']",
        " WHERE pk IN ['o', 'p'] AND hidden <> 'x'",
        '."gsi-all"',
        ".\"lsi-keys\" WHERE pk IN ['o', 'p']",
    ],
)
@pytest.mark.parametrize("limit", [1, 2, 3, 4, 6, 7])
def test_pages_together_are_the_whole(ql: Statements, rest: str, limit: int) -> None:
    fill(ql)
    statement = f'SELECT pk, sk FROM "tbl"{rest}'
    whole = ql.items(statement)
    assert len(whole) == 6
    pages: list[Any] = []
    members: dict[str, Any] = {}
    while True:
        answer = ql.run(statement, Limit=limit, **members)
        assert len(answer["Items"]) <= limit
        pages += answer["Items"]
        if "NextToken" not in answer:
            break
        members["NextToken"] = answer["NextToken"]
    assert pages == whole


def test_limit_counts_what_was_read(ql: Statements) -> None:
    fill(ql)
    answer = ql.run("SELECT * FROM tbl WHERE pk = 'o' AND hidden = '3'", Limit=2)
    assert answer["Items"] == []
    assert "NextToken" in answer
    one = ql.run("SELECT * FROM tbl WHERE pk = 'o' AND sk = '1'", Limit=1)
    assert len(one["Items"]) == 1
    assert "NextToken" not in one


def test_a_token_belongs_to_its_statement_and_parameters(ql: Statements) -> None:
    fill(ql)
    statement = "SELECT * FROM tbl WHERE pk = ?"
    token = ql.run(statement, {"S": "o"}, Limit=1)["NextToken"]
    assert ql.refusal(statement, {"S": "p"}, NextToken=token) == "NextToken does not match request"
    assert ql.refusal("SELECT * FROM tbl", NextToken=token) == "NextToken does not match request"
    assert ql.refusal(statement, {"S": "o"}, NextToken="nonsense") == "Invalid NextToken"
    assert len(ql.items(statement, {"S": "o"}, NextToken=token)) == 2


# --- Indexes -----------------------------------------------------------------------------------------------------


def test_an_index_gives_its_own_items_and_attributes(ql: Statements) -> None:
    fill(ql)
    ql.put("o", "9", hidden={"S": "9"})
    assert [item["sk"]["S"] for item in ql.items('SELECT * FROM "tbl"."lsi-all" WHERE pk = \'o\'')] == ["1", "2", "3"]
    (first, *_) = ql.items('SELECT * FROM "tbl"."lsi-keys" WHERE pk = \'o\'')
    assert set(first) == {"pk", "sk", "l"}
    (first, *_) = ql.items('SELECT * FROM "tbl"."gsi-inc" WHERE g = \'g1\'')
    assert set(first) == {"pk", "sk", "g", "shown"}
    items = ql.items("SELECT hidden FROM \"tbl\".\"lsi-keys\" WHERE pk = 'o' AND l > 'l1'")
    assert items == [{"hidden": {"S": "2"}}, {"hidden": {"S": "3"}}]


def test_a_scan_of_an_index_filters_by_what_the_index_has(ql: Statements) -> None:
    fill(ql)
    for index in ("gsi-inc", "lsi-keys"):
        assert ql.items(f'SELECT sk FROM "tbl"."{index}" WHERE hidden = \'1\'') == []
        assert len(ql.items(f'SELECT sk FROM "tbl"."{index}" WHERE NOT hidden = \'1\'')) == 6


FILTERS = "One or more parameter values were invalid: Secondary index gsi-inc does not project one or more filter "


@pytest.mark.parametrize(
    ("index", "statement", "message"),
    [
        ("nope", "*", "The table does not have the specified index"),
        ("gsi-inc", "alternate, pk, mine", "One or more parameter values were invalid: Global secondary index gsi-inc "
         "does not project [alternate, mine]"),
    ],
)  # fmt: skip
def test_what_an_index_cannot_give(ql: Statements, index: str, statement: str, message: str) -> None:
    assert ql.refusal(f'SELECT {statement} FROM "tbl"."{index}" WHERE g = \'x\'') == message


@pytest.mark.parametrize(
    ("where", "names"),
    [
        ("g = 'y' AND NOT (hidden = '1' OR shown = 'x')", "hidden"),
        ("g = 'y' AND b = '1' AND (a = '2' OR shown = '3')", "a, b"),
        ("g = 'y' AND (zz = '1' OR aa = '2' OR mm = '3')", "zz, aa, mm"),
        ("(g = 'y' OR g = 'z') AND zz = '1'", "zz"),
        ("(g = 'b' AND u1 = '1') OR (g = 'q' AND u2 = '1')", "u2"),
        ("(g = 'q' AND u1 = '1') OR (g = 'b' AND u2 = '1')", "u1"),
        ("g IN ['y', 'z'] AND hidden = '1'", "hidden"),
        ("g = 'y' AND hidden IS MISSING", "hidden"),
    ],
)
def test_a_keyed_read_filters_only_by_what_the_index_has(ql: Statements, where: str, names: str) -> None:
    assert ql.refusal(f'SELECT pk FROM "tbl"."gsi-inc" WHERE {where}') == f"{FILTERS}attributes: [{names}]"


@pytest.mark.parametrize(
    "where",
    [
        "(g = 'y' AND shown = '1') OR (g = 'z' AND aa = '1')",
        "g > 'a' AND zz = '1'",
        "g = 'y' AND (g = 'z' OR zz = '1')",
        "(g = 'y' AND zz = '1') OR aa = '1'",
    ],
)
def test_filters_that_are_let_pass(ql: Statements, where: str) -> None:
    ql.items(f'SELECT pk FROM "tbl"."gsi-inc" WHERE {where}')


def test_strong_reads_of_indexes(ql: Statements) -> None:
    fill(ql)
    assert ql.refusal('SELECT * FROM "tbl"."gsi-all" WHERE g = \'x\'', ConsistentRead=True) == (
        "Strongly consistent read is not supported on Global Secondary Indexes"
    )
    assert len(ql.items('SELECT * FROM "tbl"."lsi-all" WHERE pk = \'o\'', ConsistentRead=True)) == 3


def test_indexes_with_keys_of_several_attributes_are_refused(ql: Statements) -> None:
    ql.client.create_table(
        TableName="multi",
        BillingMode="PAY_PER_REQUEST",
        KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": name, "AttributeType": "S"} for name in ("id", "a", "b")],
        GlobalSecondaryIndexes=[
            {
                "IndexName": "both",
                "KeySchema": [{"AttributeName": name, "KeyType": "HASH"} for name in ("a", "b")],
                "Projection": {"ProjectionType": "ALL"},
            }
        ],
    )
    ql.client.describe_table(TableName="multi")
    refused = (
        "PartiQL statements cannot be executed on tables with multi-attribute HASH keys or multi-attribute RANGE keys."
    )
    for statement in ("SELECT *", "SELECT COUNT(*)"):
        assert ql.refusal(f'{statement} FROM "multi"."both" WHERE a = 5') == refused
    (member,) = ql.batch("SELECT * FROM multi.\"both\" WHERE a = 'x'")["Responses"]
    assert member["Error"]["Message"] == refused
    assert ql.items("SELECT * FROM multi WHERE id = 'x'") == []


# --- Units -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("statement", "wanted"),
    [
        ("SELECT * FROM tbl WHERE pk = 'o' AND sk = '1'", (0.5, 0.5, 0)),
        ("SELECT * FROM tbl WHERE pk = 'x' AND sk = '1'", (0.5, 0.5, 0)),
        ("SELECT * FROM tbl WHERE pk = 'o' AND hidden = 'none'", (0.5, 0.5, 0)),
        ("SELECT * FROM tbl WHERE pk IN ['o', 'p']", (1.0, 1.0, 0)),
        ("SELECT * FROM tbl", (2.0, 2.0, 0)),
        ('SELECT * FROM "tbl"."gsi-all" WHERE g = \'g1\'', (0.5, 0.0, 0.5)),
        ('SELECT * FROM "tbl"."lsi-keys" WHERE pk = \'o\'', (0.5, 0.0, 0.5)),
        ('SELECT hidden FROM "tbl"."lsi-keys" WHERE pk = \'o\'', (2.0, 1.5, 0.5)),
    ],
)
def test_reads_cost_what_query_and_scan_cost(ql: Statements, statement: str, wanted: tuple[float, ...]) -> None:
    fill(ql)
    assert units(ql.run(statement, ReturnConsumedCapacity="INDEXES")) == wanted
    if "gsi" not in statement:
        strong = ql.run(statement, ReturnConsumedCapacity="INDEXES", ConsistentRead=True)
        assert units(strong) == tuple(2 * amount for amount in wanted)


def test_writes_cost_what_single_writes_cost(ql: Statements) -> None:
    members = {"ReturnConsumedCapacity": "INDEXES"}
    insert = ql.run("INSERT INTO tbl VALUE {'pk': 'a', 'sk': '1', 'g': 'x', 'l': 'y'}", **members)
    assert units(insert) == (5.0, 1.0, 4.0)
    assert units(ql.run("UPDATE tbl SET n = 1 WHERE pk = 'a' AND sk = '1'", **members)) == (3.0, 1.0, 2.0)
    assert units(ql.run("DELETE FROM tbl WHERE pk = 'zz' AND sk = '1'", **members)) == (1.0, 1.0, 0)
    assert "ConsumedCapacity" not in ql.run("SELECT * FROM tbl")
