"""S01, S04: case management by access patterns, and state transitions that classify their failures."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from boto3.dynamodb.conditions import Key
from botocore.exceptions import ClientError

from tests.figures.tables import load, make_table, sort_keys


@pytest.fixture
def cases(dynamodb_client: Any, dynamodb_resource: Any) -> Any:
    """One table, three indexes: tenant and status, assignee, deadline (sparse); an outbox in its own collection."""
    name = make_table(
        dynamodb_client,
        "Cases",
        ByTenantStatus={"keys": ("GSI1PK", "GSI1SK")},
        ByAssignee={"keys": ("GSI2PK", "GSI2SK")},
        ByDeadline={"keys": ("GSI3PK", "GSI3SK")},
    )
    table = dynamodb_resource.Table(name)
    for number in range(1, 5):
        load(table, case(number, "OPEN" if number != 3 else "CLOSED"))
    return table


def case(number: int, status: str) -> list[dict[str, Any]]:
    state = {
        "PK": f"CASE#{number}",
        "SK": "STATE",
        "status": status,
        "version": 1,
        "GSI1PK": f"TENANT#t1#STATUS#{status}",
        "GSI1SK": f"2026-07-0{number}#{number}",
    }
    if status == "OPEN":
        state |= {
            "GSI2PK": f"ASSIGNEE#u{number % 2}",
            "GSI2SK": f"CASE#{number}",
            "GSI3PK": "DEADLINE#2026-07",
            "GSI3SK": f"2026-07-{10 + number}#{number}",
        }
    created = {"PK": f"CASE#{number}", "SK": "EVENT#0000000001", "type": "CaseOpened"}
    outbox = {"PK": "OUTBOX#0", "SK": f"2026-07-0{number}#{number}", "type": "CaseOpened"}
    command = {"PK": f"COMMAND#open-{number}", "SK": "RECORD", "status": "COMPLETED"}
    return [state, created, outbox, command]


def append_event(table: Any, number: int, expected_version: int, kind: str) -> None:
    """The event and the new version together, if the version is still the expected one."""
    sequence = expected_version + 1
    table.meta.client.transact_write_items(
        TransactItems=[
            {
                "Update": {
                    "TableName": table.name,
                    "Key": {"PK": f"CASE#{number}", "SK": "STATE"},
                    "UpdateExpression": "SET version = :new",
                    "ConditionExpression": "version = :seen",
                    "ExpressionAttributeValues": {":new": sequence, ":seen": expected_version},
                }
            },
            {
                "Put": {
                    "TableName": table.name,
                    "Item": {"PK": f"CASE#{number}", "SK": f"EVENT#{sequence:010}", "type": kind},
                    "ConditionExpression": "attribute_not_exists(PK)",
                }
            },
        ]
    )


def test_s01_each_pattern_is_one_query_or_get(cases: Any) -> None:
    calls: list[str] = []
    cases.meta.client.meta.events.register("before-call.dynamodb", lambda model, **_: calls.append(model.name))

    def query(partition: str, value: str, index: str | None = None, more: Any = None, **options: Any) -> Any:
        condition = Key(partition).eq(value)
        chosen = {"IndexName": index} if index else {}
        return cases.query(KeyConditionExpression=condition & more if more else condition, **chosen, **options)

    def get(pk: str, sk: str) -> Any:
        return cases.get_item(Key={"PK": pk, "SK": sk}, ConsistentRead=True)["Item"]

    patterns: dict[str, Callable[[], Any]] = {
        "1 get a case": lambda: get("CASE#1", "STATE")["status"],
        "2 a tenant's cases of a status": lambda: sort_keys(
            query("GSI1PK", "TENANT#t1#STATUS#OPEN", "ByTenantStatus"), "PK"
        ),
        "3 open cases of an investigator": lambda: sort_keys(query("GSI2PK", "ASSIGNEE#u0", "ByAssignee"), "PK"),
        "4 append an event at a version": lambda: append_event(cases, 1, 1, "CaseEscalated"),
        "5 the latest state": lambda: int(get("CASE#1", "STATE")["version"]),
        "6 a command's idempotency record": lambda: get("COMMAND#open-2", "RECORD")["status"],
        "7 deadlines before a moment": lambda: sort_keys(
            query("GSI3PK", "DEADLINE#2026-07", "ByDeadline", Key("GSI3SK").lt("2026-07-13")), "PK"
        ),
        "8 the outbox in order": lambda: sort_keys(query("PK", "OUTBOX#0")),
    }
    answers = {name: ask() for name, ask in patterns.items()}
    assert answers == {
        "1 get a case": "OPEN",
        "2 a tenant's cases of a status": ["CASE#1", "CASE#2", "CASE#4"],
        "3 open cases of an investigator": ["CASE#2", "CASE#4"],
        "4 append an event at a version": None,
        "5 the latest state": 2,
        "6 a command's idempotency record": "COMPLETED",
        "7 deadlines before a moment": ["CASE#1", "CASE#2"],
        "8 the outbox in order": [f"2026-07-0{number}#{number}" for number in range(1, 5)],
    }
    assert calls == ["GetItem", "Query", "Query", "TransactWriteItems", "GetItem", "GetItem", "Query", "Query"]


def test_s01_an_event_at_a_stale_version_is_refused(cases: Any) -> None:
    append_event(cases, 1, 1, "CaseEscalated")
    with pytest.raises(cases.meta.client.exceptions.TransactionCanceledException):
        append_event(cases, 1, 1, "CaseClosed")
    events = cases.query(KeyConditionExpression=Key("PK").eq("CASE#1") & Key("SK").begins_with("EVENT#"))
    assert sort_keys(events) == ["EVENT#0000000001", "EVENT#0000000002"]


# --- S04 ---

STATE = {"PK": "CASE#123", "SK": "STATE"}
ALLOWED = {"REVIEW_READY": {"ESCALATED", "CLOSED"}, "ESCALATED": {"CLOSED"}, "CLOSED": set()}


def transition(table: Any, command: str, new: str, seen: dict[str, Any]) -> str:
    """Move a case on from the state that the caller saw; how it went.

    One conditional write decides. When it fails, the item that failed it tells why.
    """
    try:
        table.update_item(
            Key=STATE,
            UpdateExpression="SET #s = :new, version = version + :one, lastCommand = :command",
            ConditionExpression="#s = :status AND version = :version",
            ExpressionAttributeNames={"#s": "status"},
            ExpressionAttributeValues={
                ":new": new,
                ":one": 1,
                ":command": command,
                ":status": seen["status"],
                ":version": seen["version"],
            },
            ReturnValuesOnConditionCheckFailure="ALL_OLD",
        )
    except ClientError as error:
        if error.response["Error"]["Code"] != "ConditionalCheckFailedException":
            raise
        return classify(error.response["Item"], command, new, seen)
    return "done"


def classify(actual: dict[str, Any], command: str, new: str, seen: dict[str, Any]) -> str:
    """`actual` is DynamoDB JSON: the resource layer does not translate the members of errors."""
    if actual["lastCommand"] == {"S": command}:
        return "duplicate"
    behind = int(actual["version"]["N"]) - int(seen["version"])
    if new not in ALLOWED[actual["status"]["S"]]:
        return "not allowed"
    return "concurrent" if behind == 1 else "stale"


@pytest.fixture
def case_table(dynamodb_client: Any, dynamodb_resource: Any) -> Any:
    table = dynamodb_resource.Table(make_table(dynamodb_client, "Cases"))
    table.put_item(Item=STATE | {"status": "REVIEW_READY", "version": 17, "lastCommand": "create"})
    return table


def look(table: Any) -> dict[str, Any]:
    item: dict[str, Any] = table.get_item(Key=STATE, ConsistentRead=True)["Item"]
    return item


def test_s04_one_transition_succeeds_and_its_twin_is_a_duplicate(case_table: Any) -> None:
    seen = look(case_table)
    assert transition(case_table, "c1", "ESCALATED", seen) == "done"
    assert transition(case_table, "c1", "ESCALATED", seen) == "duplicate"
    assert (look(case_table)["status"], look(case_table)["version"]) == ("ESCALATED", 18)


def test_s04_the_loser_of_a_race_is_concurrent(case_table: Any) -> None:
    seen = look(case_table)
    assert transition(case_table, "c1", "ESCALATED", seen) == "done"
    assert transition(case_table, "c2", "CLOSED", seen) == "concurrent"


def test_s04_an_old_view_is_stale(case_table: Any) -> None:
    seen = look(case_table)
    for command in ("c1", "c2", "c3"):
        case_table.update_item(
            Key=STATE,
            UpdateExpression="SET version = version + :one, lastCommand = :c",
            ExpressionAttributeValues={":one": 1, ":c": command},
        )
    assert transition(case_table, "c4", "ESCALATED", seen) == "stale"


def test_s04_a_transition_the_state_does_not_allow(case_table: Any) -> None:
    seen = look(case_table)
    assert transition(case_table, "c1", "CLOSED", seen) == "done"
    assert transition(case_table, "c2", "ESCALATED", seen) == "not allowed"
    assert (look(case_table)["status"], look(case_table)["version"]) == ("CLOSED", 18)
