"""Which of several errors is told: one row for each step of the service's order. A row breaks two rules or more."""

from __future__ import annotations

from typing import Any

import pytest

from dynamometer.model import values
from tests.unit.protocol import Body, Protocol, Refused, item

INVALID = "One or more parameter values were invalid: "
BAD_NUMBER = {"N": "x"}
NOT_NUMERIC = "The parameter cannot be converted to a numeric value: x"
MISMATCH = "The provided key element does not match the schema"
NAME = "Member must satisfy regular expression pattern: [a-zA-Z0-9_.-]+"


@pytest.fixture(scope="module")
def protocol() -> Protocol:
    made = Protocol()
    made.create("abc", "p:S c:N", {"global1": ("x:S", "ALL"), "local1": ("p:S y:N", "ALL")})
    return made


def refusal(protocol: Protocol, operation: str, body: Body) -> tuple[str, str | None]:
    with pytest.raises(Refused) as refused:
        protocol.call(operation, **body)
    return refused.value.code, refused.value.message


PUT_ITEM: list[tuple[Body, str]] = [
    (
        {"TableName": "!", "ReturnValues": "ALL"},
        f"1 validation error detected: Value '!' at 'tableName' failed to satisfy constraint: {NAME}",
    ),
    (
        {"ReturnValues": "ALL"},
        "1 validation error detected: Value null at 'tableName' failed to satisfy constraint: Member must not be null",
    ),
    (
        {"TableName": "none", "ReturnValues": "ALL", "Expected": {}, "ConditionExpression": "("},
        "2 validation errors detected: Value 'ALL' at 'returnValues' failed to satisfy constraint: Member must satisfy "
        "enum value set: [ALL_NEW, UPDATED_OLD, ALL_OLD, NONE, UPDATED_NEW]; "
        "Value null at 'item' failed to satisfy constraint: Member must not be null",
    ),
    (
        {
            "TableName": "none",
            "Item": item(p=BAD_NUMBER),
            "Expected": {"p": {"Exists": False}},
            "ConditionExpression": "(",
        },
        "Can not use both expression and non-expression parameters in the same request: Non-expression parameters: "
        "{Expected} Expression parameters: {ConditionExpression}",
    ),
    (
        {"TableName": "none", "Item": item(p=BAD_NUMBER), "ExpressionAttributeValues": {":v": BAD_NUMBER}},
        "ExpressionAttributeValues can only be specified when using expressions: ConditionExpression is null",
    ),
    ({"TableName": "none", "Item": item(p=BAD_NUMBER), "ConditionExpression": "("}, NOT_NUMERIC),
    (
        {"TableName": "none", "Item": item(p="a", text="x" * 410_000), "ConditionExpression": "("},
        "Item size has exceeded the maximum allowed size",
    ),
    (
        {"TableName": "none", "Item": item(p="a"), "ConditionExpression": "(", "ReturnValues": "UPDATED_NEW"},
        'Invalid ConditionExpression: Syntax error; token: "<EOF>", near: "("',
    ),
    (
        {"TableName": "none", "Item": item(p="a"), "ReturnValues": "UPDATED_NEW"},
        "ReturnValues can only be ALL_OLD or NONE",
    ),
    ({"TableName": "abc", "Item": item(c=1, x=1)}, f"{INVALID}Missing the key p in the item"),
    ({"TableName": "abc", "Item": item(p="a", c="1", x=1)}, f"{INVALID}Type mismatch for key c expected: N actual: S"),
    (
        {"TableName": "abc", "Item": item(p="", c=1, x=1)},
        "One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an empty "
        "string value. Key: p",
    ),
    (
        {"TableName": "abc", "Item": item(p="a", c=1, x=1), "ConditionExpression": "attribute_exists(p)"},
        f"{INVALID}Type mismatch for Index Key x Expected: S Actual: N IndexName: global1",
    ),
]


@pytest.mark.parametrize(("body", "message"), PUT_ITEM)
def test_put_item(protocol: Protocol, body: Body, message: str) -> None:
    assert refusal(protocol, "PutItem", body) == ("ValidationException", message)


def test_a_table_is_looked_for_once_the_request_is_sound(protocol: Protocol) -> None:
    body = {"TableName": "none", "Item": item(p="a")}
    assert refusal(protocol, "PutItem", body) == ("ResourceNotFoundException", "Requested resource not found")


UPDATE_ITEM: list[tuple[Body, str]] = [
    ({"TableName": "none", "Key": item(p=BAD_NUMBER), "UpdateExpression": "SET"}, NOT_NUMERIC),
    (
        {
            "TableName": "none",
            "Key": item(p="a"),
            "UpdateExpression": "SET a = :v",
            "ConditionExpression": "(",
            "ExpressionAttributeValues": {":v": BAD_NUMBER},
        },
        f"ExpressionAttributeValues contains invalid value: {NOT_NUMERIC} for key :v",
    ),
    (
        {"TableName": "none", "Key": item(p="a"), "UpdateExpression": "SET", "ConditionExpression": "("},
        'Invalid UpdateExpression: Syntax error; token: "<EOF>", near: "SET"',
    ),
    (
        {
            "TableName": "none",
            "Key": item(p="a"),
            "UpdateExpression": "REMOVE a",
            "ConditionExpression": "(",
            "ExpressionAttributeNames": {"#n": "a"},
        },
        'Invalid ConditionExpression: Syntax error; token: "<EOF>", near: "("',
    ),
    (
        {
            "TableName": "none",
            "Key": item(p="a"),
            "UpdateExpression": "REMOVE a",
            "ExpressionAttributeNames": {"#n": "a"},
        },
        "Value provided in ExpressionAttributeNames unused in expressions: keys: {#n}",
    ),
    ({"TableName": "abc", "Key": item(p="a"), "UpdateExpression": "REMOVE p"}, MISMATCH),
    (
        {
            "TableName": "abc",
            "Key": item(p="a", c=1),
            "UpdateExpression": "REMOVE p SET x = :v",
            "ExpressionAttributeValues": {":v": {"N": "1"}},
        },
        f"{INVALID}Cannot update attribute p. This attribute is part of the key",
    ),
    (
        {
            "TableName": "abc",
            "Key": item(p="a", c=1),
            "UpdateExpression": "SET x = :v",
            "ConditionExpression": "attribute_exists(p)",
            "ExpressionAttributeValues": {":v": {"N": "1"}},
        },
        f"{INVALID}Type mismatch for Index Key x Expected: S Actual: N IndexName: global1",
    ),
]


@pytest.mark.parametrize(("body", "message"), UPDATE_ITEM)
def test_update_item(protocol: Protocol, body: Body, message: str) -> None:
    assert refusal(protocol, "UpdateItem", body) == ("ValidationException", message)


QUERY: list[tuple[Body, str]] = [
    (
        {"TableName": "none", "Limit": 0, "KeyConditionExpression": "("},
        "1 validation error detected: Value at 'Limit' failed to satisfy constraint: Member must have value greater "
        "than or equal to 1",
    ),
    (
        {"TableName": "none"},
        "Either the KeyConditions or KeyConditionExpression parameter must be specified in the request.",
    ),
    (
        {
            "TableName": "none",
            "KeyConditionExpression": "p = :p",
            "FilterExpression": "(",
            "ExpressionAttributeValues": {":p": {"S": "a"}},
        },
        'Invalid FilterExpression: Syntax error; token: "<EOF>", near: "("',
    ),
    (
        {
            "TableName": "abc",
            "IndexName": "none",
            "KeyConditionExpression": "q = :p",
            "FilterExpression": "p = :p",
            "ExpressionAttributeValues": {":p": {"S": "a"}},
        },
        "The table does not have the specified index: none",
    ),
    (
        {
            "TableName": "abc",
            "IndexName": "global1",
            "ConsistentRead": True,
            "KeyConditionExpression": "q = :p",
            "ExpressionAttributeValues": {":p": {"S": "a"}},
        },
        "Consistent reads are not supported on global secondary indexes",
    ),
    (
        {
            "TableName": "abc",
            "KeyConditionExpression": "q = :p",
            "FilterExpression": "p = :p",
            "ExpressionAttributeValues": {":p": {"S": "a"}},
        },
        "Query condition missed key schema element: p",
    ),
    (
        {
            "TableName": "abc",
            "KeyConditionExpression": "p = :p",
            "FilterExpression": "c = :p",
            "ExpressionAttributeValues": {":p": {"S": "a"}},
            "ExclusiveStartKey": item(p="b", c=1),
        },
        "The provided starting key is outside query boundaries based on provided conditions",
    ),
    (
        {
            "TableName": "abc",
            "KeyConditionExpression": "p = :p",
            "FilterExpression": "c.a = :p",
            "ProjectionExpression": "p.a",
            "ExpressionAttributeValues": {":p": {"S": "a"}},
        },
        "Key attributes must be scalars; list random access '[]' and map lookup '.' are not allowed: Key: p",
    ),
    (
        {
            "TableName": "abc",
            "KeyConditionExpression": "p = :p",
            "ExpressionAttributeValues": {":p": {"S": "a"}},
            "ExclusiveStartKey": item(p="b"),
        },
        "The provided starting key is invalid",
    ),
    (
        {
            "TableName": "abc",
            "KeyConditionExpression": "p = :p",
            "ExpressionAttributeValues": {":p": {"S": "a"}},
            "ExclusiveStartKey": item(p="b", c=1),
        },
        "The provided starting key is outside query boundaries based on provided conditions",
    ),
    (
        {
            "TableName": "abc",
            "KeyConditionExpression": "p = :p AND c > :c",
            "ExpressionAttributeValues": {":p": {"S": "a"}, ":c": {"N": "5"}},
            "ExclusiveStartKey": item(p="a", c=5),
        },
        "The provided starting key does not match the range key predicate",
    ),
]


@pytest.mark.parametrize(("body", "message"), QUERY)
def test_query(protocol: Protocol, body: Body, message: str) -> None:
    assert refusal(protocol, "Query", body) == ("ValidationException", message)


def put(**attributes: Any) -> Body:
    return {"Put": {"TableName": "abc", "Item": item(**attributes)}}


def test_transactions_refuse_what_needs_no_item_and_cancel_for_the_rest(protocol: Protocol) -> None:
    broken = {"Put": {"TableName": "none", "Item": item(p="a"), "ConditionExpression": "("}}
    code, message = refusal(protocol, "TransactWriteItems", {"TransactItems": [put(p="a", c="1"), broken]})
    assert (code, message) == (
        "ValidationException",
        'Invalid ConditionExpression: Syntax error; token: "<EOF>", near: "("',
    )
    twice = {"TransactItems": [put(p="a", c=1), put(p="a", c=1)]}
    assert refusal(protocol, "TransactWriteItems", twice)[1] == (
        "Transaction request cannot include multiple operations on one item"
    )
    wrong_type = {"TransactItems": [put(p="a", c=1), put(p="a", c="1")]}
    assert refusal(protocol, "TransactWriteItems", wrong_type) == (
        "TransactionCanceledException",
        "Transaction cancelled, please refer cancellation reasons for specific reasons [None, ValidationError]",
    )


def test_a_validation_error_is_the_only_reason_a_failed_condition_is_not(protocol: Protocol) -> None:
    fails: Body = {
        "ConditionCheck": {"TableName": "abc", "Key": item(p="z", c=1), "ConditionExpression": "attribute_exists(p)"}
    }
    also = {"ConditionCheck": fails["ConditionCheck"] | {"Key": item(p="z", c=2)}}
    invalid = {
        "Update": {
            "TableName": "abc",
            "Key": item(p="z", c=3),
            "UpdateExpression": "SET a = a + :one",
            "ExpressionAttributeValues": {":one": {"N": "1"}},
        }
    }
    cases = [
        ([fails, put(p="z", c=9), also], "[ConditionalCheckFailed, None, ConditionalCheckFailed]"),
        ([fails, invalid, also], "[None, ValidationError, None]"),
    ]
    for actions, codes in cases:
        _, message = refusal(protocol, "TransactWriteItems", {"TransactItems": actions})
        assert message is not None
        assert message.endswith(codes)
    assert "Item" not in protocol.call("GetItem", TableName="abc", Key=item(p="z", c=9))


def test_an_expression_value_nested_too_deep_cancels_a_transaction(protocol: Protocol) -> None:
    value: Body = {"S": "x"}
    for _ in range(32):
        value = {"L": [value]}
    update = {"UpdateExpression": "SET a = :v", "ExpressionAttributeValues": {":v": value}}
    update |= {"TableName": "abc", "Key": item(p="a", c=1)}
    expected = values.NESTED_TOO_DEEP
    assert refusal(protocol, "UpdateItem", update) == ("ValidationException", expected)
    with pytest.raises(Refused) as refused:
        protocol.call("TransactWriteItems", TransactItems=[{"Update": update}])
    assert refused.value.answer["CancellationReasons"] == [{"Code": "ValidationError", "Message": expected}]
