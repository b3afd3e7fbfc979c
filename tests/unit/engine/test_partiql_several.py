"""BatchExecuteStatement and ExecuteTransaction."""

from __future__ import annotations

from typing import Any

import pytest
from botocore.exceptions import ClientError

from tests.unit.engine.partiql import Statements, ql

__all__ = ["ql"]

N = {"N": "1"}
A = "pk = 'a' AND sk = '1'"
B = "pk = 'b' AND sk = '1'"
BATCH_KEY = "Select statements within BatchExecuteStatement must specify the primary key in the where clause."
IN_FIRST = "Validation failed in TransactStatements[0]: "
TRANSACTION_KEY = (
    f"{IN_FIRST}Select statements within ExecuteTransaction must specify the primary key in the where clause."
)


def errors(answer: Any) -> list[str | None]:
    return [member.get("Error", {}).get("Code") for member in answer["Responses"]]


# --- BatchExecuteStatement ---------------------------------------------------------------------------------------


def test_a_batch_of_reads(ql: Statements) -> None:
    ql.put("a", n=N)
    answer = ql.batch(
        f"SELECT * FROM tbl WHERE {A}",
        f"SELECT n FROM tbl WHERE {B}",
        "SELECT n FROM tbl WHERE pk IN ['c'] AND sk IN ['1']",
    )
    first, *others = answer["Responses"]
    assert first == {"TableName": "tbl", "Item": {"pk": {"S": "a"}, "sk": {"S": "1"}, "n": N}}
    assert others == [{"TableName": "tbl"}] * 2


def test_a_batch_of_writes_fails_one_by_one(ql: Statements) -> None:
    ql.put("a", n=N)
    answer = ql.batch(
        "INSERT INTO tbl VALUE {'pk': 'a', 'sk': '1'}",
        f"UPDATE tbl SET n = 2 WHERE {B}",
        "INSERT INTO tbl VALUE {'pk': 'c', 'sk': '1'}",
        "DELETE FROM nothing WHERE pk = 'a'",
        "DELETE FROM tbl WHERE pk = 'd'",
        "SLECT * FROM tbl",
    )  # fmt: skip
    assert errors(answer) == [
        "DuplicateItem", "ConditionalCheckFailed", None, "ResourceNotFound", "ValidationError", "ValidationError"
    ]  # fmt: skip
    assert [member.get("TableName") for member in answer["Responses"]] == ["tbl", "tbl", "tbl", None, None, None]
    assert answer["Responses"][5]["Error"]["Message"].endswith("Expected data manipulation")
    assert ql.get("c") is not None


def test_an_error_of_the_run_names_the_table(ql: Statements) -> None:
    ql.put("a")
    (member,) = ql.batch(f"UPDATE tbl SET n = nope WHERE {A}")["Responses"]
    assert member["Error"]["Code"] == "ValidationError"
    assert member["TableName"] == "tbl"


def test_returning_in_a_batch(ql: Statements) -> None:
    ql.put("a", n=N)
    ql.put("b", n=N)
    ql.put("c", n=N)
    answer = ql.batch(
        f"DELETE FROM tbl WHERE {A} RETURNING ALL OLD *",
        f"UPDATE tbl SET n = 2 WHERE {B} RETURNING MODIFIED NEW *",
        "UPDATE tbl REMOVE n WHERE pk = 'c' AND sk = '1' RETURNING MODIFIED NEW *",
        "DELETE FROM tbl WHERE pk = 'd' AND sk = '1' RETURNING ALL NEW *",
    )
    deleted, updated, removed, refused = answer["Responses"]
    assert deleted["Item"]["n"] == N
    assert updated["Item"] == {"n": {"N": "2"}}
    assert removed == {"TableName": "tbl"}
    assert refused["Error"]["Code"] == "ValidationError"


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT * FROM tbl WHERE pk = 'a'",
        f"SELECT * FROM tbl WHERE {A} AND n = 1",
        f"SELECT * FROM tbl WHERE {A} AND pk = 'b'",
        f'SELECT * FROM tbl."lsi-all" WHERE {A}',
        "SELECT * FROM tbl",
    ],
)
def test_batch_reads_name_one_key_and_nothing_else(ql: Statements, statement: str) -> None:
    (member,) = ql.batch(statement)["Responses"]
    assert member["Error"] == {"Code": "ValidationError", "Message": BATCH_KEY}


def test_what_refuses_a_whole_batch(ql: Statements) -> None:
    insert = "INSERT INTO tbl VALUE {'pk': 'a', 'sk': '1'}"
    with pytest.raises(ClientError, match="Read and write requests together in the same batch is not supported"):
        ql.batch(insert, f"SELECT * FROM tbl WHERE {B}")
    with pytest.raises(ClientError, match="Provided list of item keys contains duplicates"):
        ql.batch(insert, f"DELETE FROM tbl WHERE {A}")
    assert ql.get("a") is None


def test_what_a_batch_costs(ql: Statements) -> None:
    ql.put("a", big={"S": "x" * 3000})
    members = {"ReturnConsumedCapacity": "INDEXES"}
    reads = ql.client.batch_execute_statement(
        Statements=[
            {"Statement": f"SELECT * FROM tbl WHERE {A}", "ConsistentRead": True},
            {"Statement": f"SELECT * FROM tbl WHERE {B}"},
        ],
        **members,
    )
    assert reads["ConsumedCapacity"] == [{"TableName": "tbl", "CapacityUnits": 1.5, "Table": {"CapacityUnits": 1.5}}]
    failing = "INSERT INTO tbl VALUE {'pk': 'a', 'sk': '1'}"
    writes = ql.batch(failing, "INSERT INTO tbl VALUE {'pk': 'b', 'sk': '1', 'l': 'x'}", **members)
    (used,) = writes["ConsumedCapacity"]
    assert used["CapacityUnits"] == 3 + 3
    assert used["Table"]["CapacityUnits"] == 1
    assert "ConsumedCapacity" not in ql.batch(failing, **members)


# --- ExecuteTransaction ------------------------------------------------------------------------------------------


def test_a_transaction_of_writes_and_a_check(ql: Statements) -> None:
    ql.put("a", n=N)
    ql.put("c", n=N)
    answer = ql.transact(
        "INSERT INTO tbl VALUE {'pk': 'b', 'sk': '1'}",
        f"UPDATE tbl SET n = n + 1 WHERE {A}",
        "EXISTS(SELECT * FROM tbl WHERE pk = 'c' AND sk = '1' AND x IS MISSING)",
        ReturnConsumedCapacity="TOTAL",
    )
    assert answer["Responses"] == []
    assert answer["ConsumedCapacity"] == [{"TableName": "tbl", "CapacityUnits": 6.0, "WriteCapacityUnits": 6.0}]
    assert ql.get("a")["n"] == {"N": "2"}
    assert ql.get("b") is not None


def test_a_transaction_of_reads(ql: Statements) -> None:
    ql.put("a", n=N)
    answer = ql.transact(f"SELECT n FROM tbl WHERE {A}", f"SELECT * FROM tbl WHERE {B}", ReturnConsumedCapacity="TOTAL")
    assert answer["Responses"] == [{"Item": {"n": N}}, {}]
    assert answer["ConsumedCapacity"] == [{"TableName": "tbl", "CapacityUnits": 4.0, "ReadCapacityUnits": 4.0}]


def test_one_failure_undoes_everything(ql: Statements) -> None:
    ql.put("a", n=N)
    response = ql.transact_error(
        "INSERT INTO tbl VALUE {'pk': 'b', 'sk': '1'}",
        "INSERT INTO tbl VALUE {'pk': 'a', 'sk': '1'}",
        "UPDATE tbl SET n = 1 WHERE pk = 'c' AND sk = '1'",
    )
    assert response["Error"]["Code"] == "TransactionCanceledException"
    assert response["CancellationReasons"] == [
        {"Code": "None"},
        {"Code": "DuplicateItem", "Message": "Duplicate primary key exists in table"},
        {"Code": "ConditionalCheckFailed", "Message": "The conditional request failed"},
    ]
    assert ql.get("b") is None


def test_a_check_that_fails(ql: Statements) -> None:
    ql.put("a", n=N)
    for condition in ("n IS MISSING", "pk = 'b' AND n = 1"):
        response = ql.transact_error(
            f"EXISTS(SELECT * FROM tbl WHERE {A} AND {condition})", "INSERT INTO tbl VALUE {'pk': 'b', 'sk': '1'}"
        )
        codes = [reason["Code"] for reason in response["CancellationReasons"]]
        assert codes == ["ConditionalCheckFailed", "None"]


def test_a_token_applies_once_and_then_reads(ql: Statements) -> None:
    ql.put("a", n=N)
    members = {"ClientRequestToken": "once", "ReturnConsumedCapacity": "INDEXES"}
    statement = f"UPDATE tbl SET n = n + 1 WHERE {A}"
    first = ql.transact(statement, **members)
    again = ql.transact(statement, **members)
    assert ql.get("a")["n"] == {"N": "2"}
    assert first["ConsumedCapacity"][0]["WriteCapacityUnits"] == 2
    assert again["Responses"] == []
    assert again["ConsumedCapacity"][0]["ReadCapacityUnits"] == 2
    with pytest.raises(ClientError, match="IdempotentParameterMismatch"):
        ql.transact(f"UPDATE tbl SET n = n + 2 WHERE {A}", **members)


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("SELECT * FROM tbl WHERE", f"{IN_FIRST}Statement wasn't well formed, can't be processed: Unexpected term"),
        ("SELECT * FROM tbl WHERE pk = 'a'", TRANSACTION_KEY),
        (f"SELECT * FROM tbl WHERE {A} AND attribute_exists(n)", TRANSACTION_KEY),
        (f"SELECT * FROM tbl WHERE {A} AND pk = 'b'", TRANSACTION_KEY),
        ("SELECT * FROM tbl.\"gsi-all\" WHERE g = 'x'",
         f"{IN_FIRST}Reads on indices are not supported within transactions."),
        (f"UPDATE tbl SET n = 1 WHERE {A} RETURNING ALL NEW *",
         f"{IN_FIRST}RETURNING clause is not supported in ExecuteTransaction."),
        (f"EXISTS(SELECT * FROM tbl WHERE {A})",
         f"{IN_FIRST}EXISTS() must contain a single item read with additional condition"),
        ("EXISTS(SELECT * FROM tbl WHERE pk IN ['a'] AND sk = '1' AND n = 1)",
         f"{IN_FIRST}EXISTS() must contain a single item read with additional condition"),
        (f"UPDATE tbl SET n = n + [1] WHERE {A}",
         f"{IN_FIRST}Incorrect operand type for operator or function; operator or function: +, operand type: L"),
        ("SELECT sk FROM tbl WHERE pk IN ['a', 'a'] AND sk = '1'",
         f"{IN_FIRST}Overlapping conditions with range keys are not supported in where clause"),
    ],
)  # fmt: skip
def test_what_refuses_a_transaction(ql: Statements, statement: str, message: str) -> None:
    error = ql.transact_error(statement)["Error"]
    assert (error["Code"], error["Message"]) == ("ValidationException", message)


def test_reads_and_writes_do_not_mix_and_items_are_distinct(ql: Statements) -> None:
    read, write = f"SELECT * FROM tbl WHERE {A}", f"UPDATE tbl SET n = 1 WHERE {B}"
    assert ql.transact_error(read, write)["Error"]["Message"] == (
        "ExecuteTransaction API does not support both read and write operations in the same request."
    )
    twice = "Transaction request cannot include multiple operations on one item"
    assert ql.transact_error(read, read)["Error"]["Message"] == twice
    check = f"EXISTS(SELECT * FROM tbl WHERE {B} AND n = 1)"
    assert ql.transact_error(check, write)["Error"]["Message"] == twice


def reasons(response: Any) -> list[tuple[str, str | None]]:
    assert response["Error"]["Code"] == "TransactionCanceledException"
    return [(reason["Code"], reason.get("Message")) for reason in response["CancellationReasons"]]


def test_keys_that_are_none_cancel(ql: Statements) -> None:
    mismatch = ("ValidationError", "The provided key element does not match the schema")
    update = "UPDATE tbl SET n = 1 WHERE "
    response = ql.transact_error(
        f"{update}pk = 'a'", f"{update}pk IN ['b'] AND sk = '1'", f"{update}pk='c' AND sk='1' AND pk='d'",
        f"{update}pk = 'e' AND sk = 1", f"{update}{A}",
    )  # fmt: skip
    assert reasons(response) == [mismatch] * 4 + [("None", None)]
    missing = "One or more parameter values were invalid: Missing the key sk in the item"
    assert reasons(ql.transact_error("INSERT INTO tbl VALUE {'pk': 'x'}")) == [("ValidationError", missing)]
    read = f"SELECT * FROM tbl WHERE {A}"
    response = ql.transact_error(read, read, "SELECT * FROM tbl WHERE pk = 1 AND sk = '1'")
    assert reasons(response) == [("None", None)] * 2 + [mismatch]


def test_missing_tables_cancel(ql: Statements) -> None:
    gone = ("ResourceNotFound", "Requested resource not found")
    update = f"UPDATE nothing SET n = 1 WHERE {A}"
    assert reasons(ql.transact_error(f"{update} RETURNING ALL NEW *", f"DELETE FROM nothing WHERE {A}")) == [gone] * 2
    read = f"SELECT * FROM tbl WHERE {A}"
    assert reasons(ql.transact_error(read, f"SELECT * FROM nothing.idx WHERE {A}")) == [("None", None), gone]
    error = ql.transact_error(update, f"UPDATE tbl SET n = 1 WHERE {A} RETURNING ALL NEW *")["Error"]
    assert error["Message"] == (
        "Validation failed in TransactStatements[1]: RETURNING clause is not supported in ExecuteTransaction."
    )


def test_a_parameters_problem_is_not_numbered(ql: Statements) -> None:
    with pytest.raises(ClientError) as caught:
        ql.client.execute_transaction(
            TransactStatements=[
                {"Statement": f"UPDATE tbl SET n = ? WHERE {A}", "Parameters": [{"N": "1e99999999999"}]}
            ]
        )
    message = caught.value.response["Error"]["Message"]
    assert message == "The parameter cannot be converted to a numeric value: 1e99999999999"


def test_exists_is_for_transactions(ql: Statements) -> None:
    statement = f"EXISTS(SELECT * FROM tbl WHERE {A} AND n = 1)"
    elsewhere = "EXISTS can only be used in ExecuteTransaction write requests."
    assert ql.refusal(statement) == elsewhere
