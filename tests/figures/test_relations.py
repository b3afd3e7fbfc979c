"""D15, D16: relations kept in both directions, and changes of several items at once."""

from __future__ import annotations

from typing import Any

import pytest
from boto3.dynamodb.conditions import Key
from botocore.exceptions import ClientError

from tests.figures.tables import index_units, load, make_table, sort_keys, units


@pytest.fixture
def table(dynamodb_resource: Any, dynamodb_client: Any) -> Any:
    return dynamodb_resource.Table(make_table(dynamodb_client, "AppTable"))


def enrolment(student: str, course: str) -> list[dict[str, Any]]:
    return [
        {"PK": f"STUDENT#{student}", "SK": f"COURSE#{course}"},
        {"PK": f"COURSE#{course}", "SK": f"STUDENT#{student}"},
    ]


def enrol(table: Any, student: str, course: str) -> None:
    """Both directions or neither."""
    table.meta.client.transact_write_items(
        TransactItems=[
            {"Put": {"TableName": table.name, "Item": row, "ConditionExpression": "attribute_not_exists(PK)"}}
            for row in enrolment(student, course)
        ]
    )


def test_d15_each_direction_is_one_query(table: Any) -> None:
    for student, course in (("s1", "c9"), ("s1", "c7"), ("s2", "c9")):
        enrol(table, student, course)
    courses = table.query(KeyConditionExpression=Key("PK").eq("STUDENT#s1") & Key("SK").begins_with("COURSE#"))
    students = table.query(KeyConditionExpression=Key("PK").eq("COURSE#c9") & Key("SK").begins_with("STUDENT#"))
    assert sort_keys(courses) == ["COURSE#c7", "COURSE#c9"]
    assert sort_keys(students) == ["STUDENT#s1", "STUDENT#s2"]


def test_d15_a_transaction_keeps_both_rows_or_neither(table: Any) -> None:
    table.put_item(Item=enrolment("s1", "c9")[1])  # one direction is there already, by somebody's mistake
    with pytest.raises(table.meta.client.exceptions.TransactionCanceledException) as cancelled:
        enrol(table, "s1", "c9")
    assert [reason["Code"] for reason in cancelled.value.response["CancellationReasons"]] == [
        "None",
        "ConditionalCheckFailed",
    ]
    assert table.query(KeyConditionExpression=Key("PK").eq("STUDENT#s1"))["Count"] == 0


def test_d15_an_index_with_swapped_keys_needs_one_write(dynamodb_resource: Any, dynamodb_client: Any) -> None:
    name = make_table(dynamodb_client, "Swapped", Reverse={"keys": ("SK", "PK"), "projection": "KEYS_ONLY"})
    table = dynamodb_resource.Table(name)
    for student in ("s1", "s2"):
        answer = table.put_item(Item=enrolment(student, "c9")[0], ReturnConsumedCapacity="INDEXES")
        assert (units(answer), index_units(answer)) == (2, {"Reverse": 1})
    students = table.query(IndexName="Reverse", KeyConditionExpression=Key("SK").eq("COURSE#c9"))
    assert sort_keys(students, "PK") == ["STUDENT#s1", "STUDENT#s2"]


ORDER = {"PK": "ORDER#456", "SK": "META"}
COPY = {"PK": "CUSTOMER#123", "SK": "ORDER#2026-03-14#456"}
STOCK = {"PK": "PRODUCT#42", "SK": "STOCK"}


@pytest.fixture
def placed(table: Any) -> Any:
    """Order 456 of two units of product 42, with the copy of its status under the customer."""
    load(
        table,
        [
            ORDER | {"status": "PLACED", "quantity": 2},
            COPY | {"status": "PLACED"},
            STOCK | {"available": 5, "reserved": 2},
        ],
    )
    return table


def cancel(table: Any, *, copy: bool = True) -> None:
    """Cancel order 456 and release its stock."""

    def update(key: dict[str, str], expression: str, condition: str, values: dict[str, Any]) -> dict[str, Any]:
        return {
            "Update": {
                "TableName": table.name,
                "Key": key,
                "UpdateExpression": expression,
                "ConditionExpression": condition,
                "ExpressionAttributeValues": values,
                **({"ExpressionAttributeNames": {"#s": "status"}} if "#s" in expression else {}),
            }
        }

    status = ("SET #s = :new", "#s = :old", {":new": "CANCELLED", ":old": "PLACED"})
    stock = ("SET available = available + :q, reserved = reserved - :q", "reserved >= :q", {":q": 2})
    actions = [update(ORDER, *status), update(STOCK, *stock)]
    if copy:
        actions.insert(1, update(COPY, *status))
    table.meta.client.transact_write_items(TransactItems=actions)


def statuses(table: Any) -> tuple[str, str]:
    return tuple(table.get_item(Key=key)["Item"]["status"] for key in (ORDER, COPY))  # type: ignore[return-value]


def test_d16_cancelling_changes_every_item_at_once(placed: Any) -> None:
    cancel(placed)
    assert statuses(placed) == ("CANCELLED", "CANCELLED")
    stock = placed.get_item(Key=STOCK)["Item"]
    assert (stock["available"], stock["reserved"]) == (7, 0)


def test_d16_a_second_cancel_releases_nothing(placed: Any) -> None:
    cancel(placed)
    with pytest.raises(ClientError) as refused:
        cancel(placed)
    codes = [reason["Code"] for reason in refused.value.response["CancellationReasons"]]
    assert codes == ["ConditionalCheckFailed"] * 3
    assert placed.get_item(Key=STOCK)["Item"]["available"] == 7


def test_d16_skipping_the_copy_leaves_the_customers_list_stale(placed: Any) -> None:
    cancel(placed, copy=False)
    assert statuses(placed) == ("CANCELLED", "PLACED")
    listed = placed.query(KeyConditionExpression=Key("PK").eq("CUSTOMER#123") & Key("SK").begins_with("ORDER#"))
    assert [item["status"] for item in listed["Items"]] == ["PLACED"]
