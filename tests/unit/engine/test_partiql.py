"""ExecuteStatement: what statements do to items, and what is said of statements that mean nothing."""

from __future__ import annotations

from typing import Any

import pytest

from dynamometer.engine.partiql.conditions import wrong_type
from dynamometer.engine.partiql.prepare import _PREPARED_TEXT_MAX, _prepared
from tests.unit.engine.partiql import Statements, ql

__all__ = ["ql"]

N = {"N": "1"}


# --- INSERT, UPDATE, DELETE --------------------------------------------------------------------------------------


def test_insert_makes_a_new_item_of_literals_and_parameters(ql: Statements) -> None:
    answer = ql.run(
        "INSERT INTO tbl VALUE {'pk': ?, 'sk': '1', 'n': 1E3, 'd': -1.5e-3, 'z': -0, 'q': 'it''s', 'b': TRUE, "
        "'x': null, 's': <<'b', 'a'>>, 'ns': <<10, 9>>, 'list': [1, {'m': []}]}",
        {"S": "a"},
    )
    assert answer["Items"] == []
    assert ql.get("a") == {
        "pk": {"S": "a"},
        "sk": {"S": "1"},
        "n": {"N": "1000"},
        "d": {"N": "-0.0015"},
        "z": {"N": "0"},
        "q": {"S": "it's"},
        "b": {"BOOL": True},
        "x": {"NULL": True},
        "s": {"SS": ["a", "b"]},
        "ns": {"NS": ["9", "10"]},
        "list": {"L": [{"N": "1"}, {"M": {"m": {"L": []}}}]},
    }


def test_insert_does_not_replace(ql: Statements) -> None:
    ql.put("a", n=N)
    message = ql.error("DuplicateItemException", "INSERT INTO tbl VALUE {'pk': 'a', 'sk': '1'}")
    assert message == "Duplicate primary key exists in table"
    assert ql.get("a")["n"] == N


def test_update_sets_adds_appends_and_removes(ql: Statements) -> None:
    ql.put(
        "a", n={"N": "5"}, m={"M": {"x": {"L": [N]}}}, s={"SS": ["x", "y"]}, lone={"SS": ["o"]}, old={"S": "o"},
        l2={"L": [N, N, N]},
    )  # fmt: skip
    ql.run(
        "UPDATE tbl SET n = n - -2 SET m.x = list_append(m.x, [2]), s = SET_ADD(s, <<'z'>>), fresh = set_add(fresh, "
        "<<1>>), lone = set_delete(lone, <<'o'>>), l2[1] = 'mid', copy = n REMOVE old REMOVE l2[0] "
        "WHERE pk = 'a' AND sk = '1'"
    )
    item = ql.get("a")
    assert item["n"] == {"N": "7"}
    assert item["m"] == {"M": {"x": {"L": [N, {"N": "2"}]}}}
    assert item["s"] == {"SS": ["x", "y", "z"]}
    assert item["fresh"] == {"NS": ["1"]}
    assert item["l2"] == {"L": [{"S": "mid"}, N]}
    assert item["copy"] == {"N": "5"}
    assert "lone" not in item
    assert "old" not in item


def test_update_does_not_insert(ql: Statements) -> None:
    for condition in ("", " AND attribute_not_exists(pk)"):
        statement = f"UPDATE tbl SET n = 1 WHERE pk = 'a' AND sk = '1'{condition}"
        assert ql.error("ConditionalCheckFailedException", statement) == "The conditional request failed"
    ql.error("ConditionalCheckFailedException", "FROM tbl WHERE pk = 'a' AND sk = '1' SET n = set_add(n, <<1>>)")
    assert ql.get("a") is None


def test_the_rest_of_the_where_is_a_condition(ql: Statements) -> None:
    ql.put("a", n=N)
    ql.run("UPDATE tbl SET m = 1 WHERE (pk='a' AND sk='1') AND n = 1 AND (x IS MISSING OR x = 3)")
    assert ql.get("a")["m"] == N
    ql.error("ConditionalCheckFailedException", "UPDATE tbl SET m = 2 WHERE pk='a' AND sk='1' AND n <> 1")
    ql.error("ConditionalCheckFailedException", "DELETE FROM tbl WHERE pk='a' AND sk='1' AND attribute_exists(x)")
    assert ql.get("a")["m"] == N
    ql.run("DELETE FROM tbl WHERE pk='a' AND sk='1' AND attribute_not_exists(x)")
    assert ql.get("a") is None


def test_delete_of_nothing_is_no_error(ql: Statements) -> None:
    assert ql.items("DELETE FROM tbl WHERE pk = 'a' AND sk = '1'") == []
    assert ql.items("DELETE FROM tbl WHERE pk = 'a' AND sk = '1' RETURNING ALL OLD *") == []
    assert ql.items("DELETE FROM tbl WHERE pk = 'a' AND sk = '1' AND n = 1") == []


def test_an_update_that_nests_too_deep(ql: Statements) -> None:
    ql.put("a", m={"M": {}})
    deep: Any = {"S": "x"}
    for _ in range(31):
        deep = {"M": {"a": deep}}
    message = ql.refusal("UPDATE tbl SET m.deep = ? WHERE pk = 'a' AND sk = '1'", deep)
    assert message == "Nesting Levels have exceeded supported limits"
    assert ql.get("a")["m"] == {"M": {}}


@pytest.mark.parametrize(
    ("change", "returning", "wanted"),
    [
        ("SET d = 'new'", "ALL OLD", {"pk", "sk", "d", "m"}),
        ("SET d = 'new'", "ALL NEW", {"pk", "sk", "d", "m"}),
        ("SET d = 'new'", "MODIFIED OLD", {"d"}),
        ("SET d = 'new'", "MODIFIED NEW", {"d"}),
        ("SET m.a = 'new'", "MODIFIED NEW", {"m"}),
        ("REMOVE d", "MODIFIED OLD", {"d"}),
        ("REMOVE d", "MODIFIED NEW", None),
        ("SET e = 1", "MODIFIED OLD", None),
    ],
)
def test_returning(ql: Statements, change: str, returning: str, wanted: set[str] | None) -> None:
    ql.put("a", d={"S": "old"}, m={"M": {"a": N, "b": N}})
    items = ql.items(f"UPDATE tbl {change} WHERE pk = 'a' AND sk = '1' RETURNING {returning} *")
    assert [set(item) for item in items] == ([] if wanted is None else [wanted])
    if "m.a" in change:
        assert items[0]["m"] == {"M": {"a": {"S": "new"}}}


def test_delete_returns_only_the_old_item(ql: Statements) -> None:
    ql.put("a", n=N)
    where = "DELETE FROM tbl WHERE pk = 'a' AND sk = '1' RETURNING"
    assert ql.refusal(f"{where} MODIFIED OLD *") == (
        "Invalid returning clause: RETURNING MODIFIED OLD *. Only RETURNING ALL OLD * is allowed in DELETE statements."
    )
    assert ql.items(f"{where} ALL OLD *")[0]["n"] == N


def test_the_failing_item_comes_back_when_asked_for(ql: Statements) -> None:
    ql.put("a", n=N)
    with pytest.raises(ql.client.exceptions.ConditionalCheckFailedException) as caught:
        ql.run("UPDATE tbl SET n = 2 WHERE pk='a' AND sk='1' AND n = 9", ReturnValuesOnConditionCheckFailure="ALL_OLD")
    assert caught.value.response["Item"]["n"] == N


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("UPDATE tbl SET n = 1", "Where clause does not contain a mandatory equality on all key attributes"),
        ("FROM tbl REMOVE n", "Where clause does not contain a mandatory equality on all key attributes"),
        ("FROM tbl WHERE n = 1 SET n = 1", "Where clause does not contain a mandatory equality on all key attributes"),
        ("DELETE FROM tbl WHERE pk = 'a'", "Where clause does not contain a mandatory equality on all key attributes"),
        (
            "DELETE FROM tbl WHERE pk = 'a' AND sk = '1' AND pk = 'b'",
            "Multiple conditions on same key pk. Only single item Update/Insert/Delete are supported",
        ),
        ("UPDATE tbl.idx SET n = 1 WHERE pk = 'a'", "This operation is not supported on an index"),
        ("DELETE FROM nothing.idx WHERE pk = 'a'", "This operation is not supported on an index"),
        (
            "INSERT INTO \"tbl\".\"i\" VALUE {'pk': 'a'}",
            "FROM clause may only contain a single table name in data manipulation statements at 1:13:5",
        ),
        ("SELECT * FROM tbl.i.more", "A path may contain at most 2 components in the FROM clause"),
        ('SELECT * FROM tbl.""', "Path component cannot be an empty string"),
        ("SELECT * FROM tbl u WHERE pk = 'a'", "Aliasing is not supported"),
        ("SELECT * FROM tbl AS u", "Aliasing is not supported"),
        ("UPDATE tbl u SET a = 3 WHERE pk = 'x'", "Aliasing is not supported"),
        ("SELECT COUNT(*) FROM nothing", "Unexpected path component at 1:8:5"),
        ("SELECT pk FROM tbl LIMIT 5", "Unsupported clause: LIMIT at 1:26:1"),
        ("x IS INT4", "Unsupported operation: IsType"),
        ("INSERT INTO tbl VALUE {'pk': 'a', 'sk': 's', 'e': <<>>}", "Empty bags are not supported"),
        (
            "INSERT INTO tbl VALUE {'pk': 'a', 'sk': 's', 'e': <<1, 'a'>>}",
            "Unsupported data type in Bag. DynamoDB only supports either numbers or strings in bags",
        ),
        (
            "INSERT INTO tbl VALUE {'pk': 'a', 'sk': 's', 'e': [<<'a', 'a'>>]}",
            "One or more parameter values were invalid: Input collection [a, a] contains duplicates.",
        ),
        (
            "INSERT INTO tbl VALUE {'pk': 'a', 'sk': 's', 'e': <<2, 2.0>>}",
            "One or more parameter values were invalid: Input collection [2, 2.0] contains duplicates! under root",
        ),
        (
            "INSERT INTO tbl VALUE {'pk': 'a', 's': set_add(<<'a'>>, <<'b'>>)}",
            "Unsupported data type: set_add under key root at 1:40:7",
        ),
        (
            "INSERT INTO tbl VALUE {'pk': 'a'}",
            "One or more parameter values were invalid: Missing the key sk in the item",
        ),
        (
            "UPDATE tbl SET pk = 'b' WHERE pk = 'a' AND sk = '1'",
            "One or more parameter values were invalid: Cannot update attribute pk. This attribute is part of the key",
        ),
    ],
)  # fmt: skip
def test_refusals(ql: Statements, statement: str, message: str) -> None:
    assert ql.refusal(statement) == message


OVERFLOW = "Number overflow. Attempting to store a number with magnitude larger than supported range"
UNDERFLOW = "Number underflow. Attempting to store a number with magnitude smaller than supported range"


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("SELECT * FROM tbl WHERE n = 1e126", f"{OVERFLOW} under root"),
        ("SELECT * FROM tbl WHERE n = 1e-131", f"{UNDERFLOW} under root"),
        ("UPDATE tbl SET m = {'x': [1, -1e126]} WHERE pk = 'a'", f"{OVERFLOW} under root.x[1]"),
        ("SELECT * FROM tbl WHERE n = " + "123456789" * 5,
         "Attempting to store more than 38 significant digits in a Number under root"),
        ("UPDATE tbl SET d = " + "{'a':" * 32 + "1" + "}" * 32 + " WHERE pk = 'a'",
         "Nesting Levels have exceeded supported limits under root" + ".a" * 32),
        ("UPDATE tbl SET d = {'a':" + "[" * 31 + "1" + "]" * 31 + "} WHERE pk = 'a'",
         "Nesting Levels have exceeded supported limits under root.a" + "[0]" * 31),
    ],
)  # fmt: skip
def test_a_literals_problem_is_told_with_its_path(ql: Statements, statement: str, message: str) -> None:
    assert ql.refusal(statement) == message


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("t = set_add(s, <<'x'>>)", "The first argument to SET_ADD must equal the assignment value at 1:20:7"),
        ("s = set_add(<<'a'>>, <<'b'>>)", "The first argument to SET_ADD must equal the assignment value at 1:20:7"),
        ("s = set_add(s, 'x')", "The second argument to SET_ADD must be a value with type SET at 1:28:1"),
        ('"s" = set_delete("s", [1])', "The second argument to SET_DELETE must be a value with type SET at 1:33:3"),
        ("s = set_add(s)", "SET_ADD must have exactly two arguments at 1:20:7"),
        ("s = set_add(s, <<1>>)", "An operand in the update expression has an incorrect data type"),
        ("s = set_delete(s, <<1>>)", "An operand in the update expression has an incorrect data type"),
        ("s = nothing + 1", "The provided expression refers to an attribute that does not exist in the item"),
        ("none.x = 1", "The document path provided in the update expression is invalid for update"),
        ("s = 'a' + 1", wrong_type("+", "S")),
        ("s = s - null", wrong_type("-", "NULL")),
        ("s = s * 2", "Unsupported operator in Update Expression. Operator: *"),
        ("s = upper(s)", "Unrecognized function: upper at 1:20:5"),
    ],
)
def test_changes_that_cannot_be(ql: Statements, change: str, message: str) -> None:
    ql.put("a", s={"SS": ["a"]})
    assert ql.refusal(f"UPDATE tbl SET {change} WHERE pk = 'a' AND sk = '1'") == message


# --- Parameters --------------------------------------------------------------------------------------------------


def test_parameters_are_checked_before_the_statement_is_read(ql: Statements) -> None:
    assert ql.refusal("UPDATE tbl SET WHERE", {"SS": ["a", "a"]}) == (
        "One or more parameter values were invalid: Input collection [a, a] contains duplicates."
    )


def test_too_few_parameters(ql: Statements) -> None:
    message = "Number of parameters in request and statement don't match."
    assert ql.refusal("SELECT * FROM tbl WHERE pk = ? AND a = '?'") == message
    assert ql.refusal("SELECT * FROM tbl WHERE pk = ? AND sk = ?", {"S": "a"}) == message


@pytest.mark.parametrize("number", ["1e99999999999", "-1e99999999999", "1e-99999999999", "1e2147483648"])
def test_a_parameters_exponent_has_32_bits(ql: Statements, number: str) -> None:
    message = f"The parameter cannot be converted to a numeric value: {number}"
    for value in ({"N": number}, {"L": [N, {"N": number}]}, {"M": {"x": {"N": number}}}, {"NS": ["1", number]}):
        assert ql.refusal("SELECT * FROM tbl WHERE pk = 'a' AND n = ?", value) == message


def test_a_parameters_magnitude_wraps_in_32_bits(ql: Statements) -> None:
    assert ql.refusal("SELECT * FROM tbl WHERE pk = 'a' AND n = ?", {"N": "1e2147483647"}) == UNDERFLOW


def test_parameters_inside_collections_are_refused(ql: Statements) -> None:
    assert ql.refusal("UPDATE tbl SET x = [?] WHERE pk = 'a'", N) == (
        "Unsupported data type: Parameter under key root[0] at 1:21:1"
    )
    ql.put("a", n=N)
    assert ql.sort_keys("pk = 'a' AND n IN [?, 2]", N) == ["1"]


def test_kept_statements_take_other_parameters(ql: Statements) -> None:
    ql.put("a", n=N)
    statement = "SELECT sk FROM tbl WHERE pk = ? AND n > ?"
    assert ql.items(statement, {"S": "a"}, {"N": "0"}) == [{"sk": {"S": "1"}}]
    assert ql.items(statement, {"S": "a"}, {"N": "1"}) == []
    for kind, value in (("BOOL", True), ("SS", ["a"]), ("L", [])):
        assert ql.refusal(statement, {"S": "a"}, {kind: value}) == wrong_type(">", kind)
    assert ql.items(statement, {"S": "a"}, {"S": "x"}) == []


# --- Conditions --------------------------------------------------------------------------------------------------


ITEM: Any = {
    "n": N,
    "flag": {"S": "right"},
    "yes": {"BOOL": True},
    "nul": {"NULL": True},
    "tags": {"SS": ["a", "b"]},
    "m": {"M": {"x": {"L": [{"S": "deep"}]}}},
    "bin": {"B": b"\x01\x02"},
}


@pytest.mark.parametrize(
    "condition",
    [
        "n = 1", "n != 2", "1 = n", "n <> 'a'", "2 > n", "n BETWEEN - 2 AND +5", "n IN (1, 2)", "n IN [- 1, 1]",
        "NOT n = 2", "NOT NOT n = 1", "n NOT IN [2]", "NOT n BETWEEN 2 AND 3", "n not between 2 and 3",
        "(n = 5 OR flag = 'right') AND (n = 1)", "NOT (n = 5 OR flag = 'x')", "tags = <<'b', 'a'>>",
        "begins_with(flag, 'ri')", "BEGINS_WITH(\"flag\", 'r')", "contains(tags, 'a')", "contains(flag, 'igh')",
        "size(flag) = 5", "size(tags) > 1", "attribute_type(tags, 'SS')", "attribute_exists(m.x[0])",
        "attribute_not_exists(m.y)", "m.x[0] = 'deep'", "m.x = ['deep']", "m['x'][0] = 'deep'",
        "nope IS MISSING", "n IS NOT MISSING", "nul IS NULL", "nope IS NOT NULL", "n IS NUMERIC", "flag IS STRING",
        "yes IS BOOL", "m IS TUPLE", "bin IS BLOB", "n > 'x' OR n = 1",
        "attribute_exists(nope) = false", "true = attribute_exists(n)", "attribute_exists(n) <> 1",
        "contains(nope, 'z') = false", "(n BETWEEN 0 AND 5) = true", "attribute_exists(nope) IN [true, false]",
        "attribute_exists(n) = attribute_exists(flag)", "attribute_exists(n) = yes", "(n = 1) <> (n = 2)",
    ],
)  # fmt: skip
def test_conditions_that_hold(ql: Statements, condition: str) -> None:
    ql.put("a", **ITEM)
    assert ql.sort_keys(f"pk = 'a' AND sk = '1' AND {condition}") == ["1"]
    assert ql.sort_keys(f"flag = 'right' AND ({condition})") == ["1"], "in a scan"


@pytest.mark.parametrize(
    "condition",
    [
        "n = 2", "n = '1'", "nope = 1", "nope IS NULL", "n IS NULL", "NOT attribute_exists(n) = true",
        "attribute_exists(n) = 1", "(attribute_exists(n) = true) = false", "attribute_exists(n) = flag",
        "size(nope) > 0", "n IN []", "m.x[1] = 'deep'", "flag IS BOOL", "tags = ['a', 'b']", "n > 1 AND n < 1",
    ],
)  # fmt: skip
def test_conditions_that_do_not_hold(ql: Statements, condition: str) -> None:
    ql.put("a", **ITEM)
    assert ql.sort_keys(f"pk = 'a' AND sk = '1' AND {condition}") == []


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        ("n < true", wrong_type("<", "BOOL")),
        ("n BETWEEN true AND false", wrong_type("BETWEEN", "BOOL")),
        ("attribute_exists(n) > false", wrong_type(">", "BOOL")),
        ("attribute_type(n, 1)", wrong_type("attribute_type", "N")),
        ("attribute_type(n, 'X')",
         "Invalid attribute type name found; type: X, valid types: {N,BS,L,B,NULL,M,S,SS,NS,BOOL}"),
        ("attribute_exists('n')",
         "Operator or function requires a document path; operator or function: attribute_exists"),
        ("attribute_exists()",
         "Incorrect number of operands for operator or function; operator or function: attribute_exists, number of "
         "operands: 0"),
        ("EXISTS(n)", "Unrecognized function: exists at 1:41:6"),
        ("set_add(n, <<1>>) = n", "Unrecognized function: set_add at 1:41:7"),
        ("n = n + 1", "Unsupported operator in Condition Expression. Operator: +"),
        ("n > -n",
         "Incorrect number of operands for operator or function; operator or function: -, number of operands: 1"),
        ("n[-1] = 1", "List index is not within the allowable range; index: [-1] at 1:44:1"),
        ("n[2147483648] = 1", "List index is not within the allowable range; index: [2147483648] at 1:43:10"),
        ("n IN [" + ",".join(["1"] * 101) + "]",
         "The IN operator is provided with too many operands; number of operands: 101"),
    ],
)  # fmt: skip
def test_conditions_that_mean_nothing(ql: Statements, condition: str, message: str) -> None:
    assert ql.refusal(f"SELECT * FROM tbl WHERE pk = 'abcd' AND {condition}") == message


def test_names_that_look_like_references_are_names(ql: Statements) -> None:
    ql.client.put_item(TableName="tbl", Item={"pk": {"S": "a"}, "sk": {"S": "1"}, "#x": N})
    assert ql.sort_keys("pk = 'a' AND \"#x\" = 1") == ["1"]
    ql.run("UPDATE tbl SET \"#x\" = 2 WHERE pk = 'a' AND sk = '1' AND \"#x\" = 1")
    assert ql.get("a")["#x"] == {"N": "2"}


def test_what_is_kept_of_statements_stays_small(ql: Statements) -> None:
    for number in range(50):
        columns = ", ".join(f"a{number}_{other}" for other in range(600))
        ql.run(f"SELECT {columns} FROM tbl WHERE pk = 'a'")
    assert sum(map(len, _prepared)) <= _PREPARED_TEXT_MAX + 8192
