"""JSON types and model constraints, with the texts of the service."""

from __future__ import annotations

import re
from typing import Any

import pytest

from dynamometer.base.errors import SerializationException, ValidationException
from dynamometer.model import shapes

AVS = "com.amazonaws.dynamodb.v20120810.AttributeValue"
NO_OBJECT = "Start of structure or map found where not expected"


def message_of(operation: str, body: dict[str, Any]) -> str:
    with pytest.raises(ValidationException) as raised:
        shapes.constraints(operation)(body)
    assert raised.value.message is not None
    return raised.value.message


def put(value: Any) -> dict[str, Any]:
    return {"TableName": "abc", "Item": {"a": value}}


@pytest.mark.parametrize(
    ("operation", "body", "message"),
    [
        ("PutItem", {"TableName": 23}, "NUMBER_VALUE cannot be converted to String"),
        ("PutItem", {"TableName": 34.56}, "DECIMAL_VALUE cannot be converted to String"),
        ("PutItem", {"TableName": True}, "TRUE_VALUE cannot be converted to String"),
        ("PutItem", {"TableName": []}, "Unrecognized collection type class java.lang.String"),
        ("PutItem", {"TableName": {}}, NO_OBJECT),
        ("PutItem", {"Item": "23"}, "Unexpected field type"),
        ("PutItem", {"Item": []}, f"Unrecognized collection type java.util.Map<java.lang.String, {AVS}>"),
        ("PutItem", put("23"), "Unexpected value type in payload"),
        ("PutItem", put([]), f"Unrecognized collection type class {AVS}"),
        ("PutItem", put({"N": 3}), "NUMBER_VALUE cannot be converted to String"),
        ("PutItem", put({"SS": "x"}), "Unexpected field type"),
        ("PutItem", put({"SS": {}}), NO_OBJECT),
        ("PutItem", put({"M": {"x": {"BOOL": 1}}}), "NUMBER_VALUE cannot be converted to Boolean"),
        ("PutItem", put({"BOOL": "maybe"}), "Unexpected token received from parser"),
        ("PutItem", put({"B": True}), "only base-64-encoded strings are convertible to bytes"),
        ("PutItem", put({"B": "23456"}), "Base64 encoded length is expected a multiple of 4 bytes but found: 5"),
        ("PutItem", put({"B": "=+/="}), "Invalid last non-pad Base64 character dectected"),
        ("PutItem", put({"B": "+/+="}), "Invalid last non-pad Base64 character dectected"),
        ("PutItem", put({"B": "ä+/="}), "Invalid last non-pad Base64 character dectected"),
        ("Query", {"Limit": "23"}, "STRING_VALUE cannot be converted to Integer"),
        ("Query", {"Limit": False}, "FALSE_VALUE cannot be converted to Integer"),
        ("Query", {"ConsistentRead": 1.5}, "DECIMAL_VALUE cannot be converted to Boolean"),
        (
            "CreateTable",
            {"ProvisionedThroughput": {"ReadCapacityUnits": "1"}},
            "STRING_VALUE cannot be converted to Long",
        ),
        ("CreateTable", {"KeySchema": ["a"]}, "Unexpected value type in payload"),
        ("BatchWriteItem", {"RequestItems": {"abc": {}}}, NO_OBJECT),
        ("GetShardIterator", {"ShardId": 3}, "NUMBER_VALUE cannot be converted to String"),
    ],
)
def test_a_wrong_json_type_is_named(operation: str, body: dict[str, Any], message: str) -> None:
    with pytest.raises(SerializationException) as raised:
        shapes.check_types(operation, body)
    assert raised.value.message == message


def test_a_list_inside_a_collection_has_its_own_text() -> None:
    with pytest.raises(SerializationException, match=re.escape("ParameterizedTypeImpl cannot be cast")):
        shapes.check_types("BatchWriteItem", {"RequestItems": {"abc": 3}})


@pytest.mark.parametrize("body", [None, [], "x", 3])
def test_a_body_that_is_no_object_is_refused_without_words(body: Any) -> None:
    with pytest.raises(SerializationException) as raised:
        shapes.check_types("ListTables", body)
    assert raised.value.message is None


def test_nulls_and_unknown_members_are_dropped_and_words_and_fractions_coerced() -> None:
    body = {"TableName": "abc", "Limit": 2.7, "ConsistentRead": "Yes", "IndexName": None, "Other": 1}
    assert shapes.check_types("Query", body) == {"TableName": "abc", "Limit": 2, "ConsistentRead": True}
    assert body["IndexName"] is None


def test_a_null_attribute_value_is_an_empty_one() -> None:
    assert shapes.check_types("PutItem", put(None)) == put({})
    assert shapes.check_types("PutItem", put({"S": "x", "N": None})) == put({"S": "x"})


def test_a_null_in_a_set_is_refused() -> None:
    with pytest.raises(ValidationException, match="may not have a null string as a member"):
        shapes.check_types("PutItem", put({"SS": ["a", None]}))


def test_deep_values_do_not_exhaust_the_stack() -> None:
    value: dict[str, Any] = {"S": "x"}
    for _ in range(400):
        value = {"M": {"a": value}}
    assert shapes.check_types("PutItem", put(value)) == put(value)


def test_both_services_are_known() -> None:
    assert "PutItem" in shapes.operations("dynamodb")
    streams = {"DescribeStream", "GetRecords", "GetShardIterator", "ListStreams"}
    assert set(shapes.operations("dynamodbstreams")) == streams
    assert shapes.service_of("GetRecords") == "dynamodbstreams"


@pytest.mark.parametrize("service", ["dynamodb", "dynamodbstreams"])
def test_every_operation_has_constraints(service: str) -> None:
    for operation in shapes.operations(service):
        try:
            shapes.constraints(operation)({})
        except ValidationException as error:
            assert error.message


def test_a_good_request_passes() -> None:
    shapes.constraints("PutItem")({"TableName": "abc", "Item": {}, "ReturnValues": "ALL_OLD"})
    shapes.constraints("PutItem")({"TableName": "arn:aws:dynamodb:us-east-1:123456789012:table/abc", "Item": {}})


LONG = "a" * 256
IN_PATTERN = "Member must satisfy regular expression pattern: [a-zA-Z0-9_.-]+"


@pytest.mark.parametrize(
    ("operation", "name", "expected"),
    [
        ("PutItem", None, "Value null at 'tableName' failed to satisfy constraint: Member must not be null"),
        ("PutItem", "", "Value '' at 'tableName' {}: Member must have length greater than or equal to 1"),
        ("PutItem", LONG, f"Value '{LONG}' at 'tableName' {{}}: Member must have length less than or equal to 255"),
        ("PutItem", "x!", f"Value 'x!' at 'tableName' {{}}: {IN_PATTERN}"),
        ("CreateTable", "ab", "Value 'ab' at 'tableName' {}: Member must have length greater than or equal to 3"),
        ("DeleteTable", "a?bc", f"Value 'a?bc' at 'tableName' {{}}: {IN_PATTERN}"),
    ],
)
def test_a_bad_table_name_is_told_alone(operation: str, name: str | None, expected: str) -> None:
    body = {"ReturnValues": "NO", "BillingMode": "NO"} | ({} if name is None else {"TableName": name})
    expected = expected.replace("{}", "failed to satisfy constraint")
    assert message_of(operation, body) == f"1 validation error detected: {expected}"


def test_a_missing_table_name_of_the_control_plane() -> None:
    text = "The parameter 'TableName' is required but was not present in the request"
    assert message_of("CreateTable", {}) == text


def entry(value: str, path: str, constraint: str) -> str:
    return f"Value {value} at '{path}' failed to satisfy constraint: {constraint}"


ENUM = "Member must satisfy enum value set: "


@pytest.mark.parametrize(
    ("operation", "body", "entries"),
    [
        (
            "PutItem",
            {"ReturnValues": "x", "ReturnConsumedCapacity": "y", "ReturnItemCollectionMetrics": "z"},
            [
                entry("'y'", "returnConsumedCapacity", ENUM + "[INDEXES, TOTAL, NONE]"),
                entry("'z'", "returnItemCollectionMetrics", ENUM + "[SIZE, NONE]"),
                entry("'x'", "returnValues", ENUM + "[ALL_NEW, UPDATED_OLD, ALL_OLD, NONE, UPDATED_NEW]"),
                entry("null", "item", "Member must not be null"),
            ],
        ),
        (
            "Query",
            {"Select": "x", "IndexName": "a"},
            [
                entry("'a'", "indexName", "Member must have length greater than or equal to 3"),
                entry(
                    "'x'",
                    "select",
                    ENUM + "[SPECIFIC_ATTRIBUTES, COUNT, ALL_ATTRIBUTES, ALL_PROJECTED_ATTRIBUTES]",
                ),
            ],
        ),
        (
            "Query",
            {"Limit": 0},
            ["Value at 'Limit' failed to satisfy constraint: Member must have value greater than or equal to 1"],
        ),
        ("Scan", {"Limit": 0}, [entry("'0'", "limit", "Member must have value greater than or equal to 1")]),
        (
            "Scan",
            {"TotalSegments": 1000001},
            [entry("'1000001'", "totalSegments", "Member must have value less than or equal to 1000000")],
        ),
        (
            "UpdateItem",
            {"Key": {}, "AttributeUpdates": {"a": {"Action": "x"}}},
            [entry("'x'", "attributeUpdates.a.member.action", ENUM + "[ADD, DELETE, PUT]")],
        ),
        (
            "CreateTable",
            {
                "AttributeDefinitions": [{"AttributeName": "a", "AttributeType": "S"}, {"AttributeType": "X"}],
                "KeySchema": [{"AttributeName": "a", "KeyType": "x"}],
                "ProvisionedThroughput": {"ReadCapacityUnits": 0},
            },
            [
                entry("null", "attributeDefinitions.2.member.attributeName", "Member must not be null"),
                entry("'X'", "attributeDefinitions.2.member.attributeType", ENUM + "[B, N, S]"),
                entry("'x'", "keySchema.1.member.keyType", ENUM + "[HASH, RANGE]"),
                entry("null", "provisionedThroughput.writeCapacityUnits", "Member must not be null"),
                entry(
                    "'0'",
                    "provisionedThroughput.readCapacityUnits",
                    "Member must have value greater than or equal to 1",
                ),
            ],
        ),
    ],
)
def test_broken_constraints_are_told_together(operation: str, body: dict[str, Any], entries: list[str]) -> None:
    plural = "s" if len(entries) > 1 else ""
    expected = f"{len(entries)} validation error{plural} detected: {'; '.join(entries)}"
    assert message_of(operation, {"TableName": "abc", **body}) == expected


def test_at_most_ten_are_told() -> None:
    definitions = [{"AttributeName": "a", "AttributeType": "x"}] * 12
    assert message_of("CreateTable", {"TableName": "abc", "AttributeDefinitions": definitions}).startswith(
        "10 validation errors detected: "
    )


def test_three_key_schema_elements_are_printed_as_the_service_prints_them() -> None:
    elements = [{"AttributeName": name, "KeyType": "HASH"} for name in "abc"]
    body = {"TableName": "abc", "AttributeDefinitions": [], "KeySchema": elements}
    assert message_of("CreateTable", body) == (
        "1 validation error detected: Value '[KeySchemaElement(attributeName=a, keyType=HASH), "
        "KeySchemaElement(attributeName=b, keyType=HASH), KeySchemaElement(attributeName=c, keyType=HASH)]' at "
        "'keySchema' failed to satisfy constraint: Member must have length less than or equal to 2"
    )


TOO_LONG = "[Member must have length less than or equal to 65535]"


@pytest.mark.parametrize(
    ("member", "value", "constraint"),
    [
        ("Key", {"n" * 65536: {"S": "x"}}, f"Map keys must satisfy constraint: {TOO_LONG}"),
        ("ExpressionAttributeNames", {"#n": "n" * 65536}, f"Map value must satisfy constraint: {TOO_LONG}"),
        ("AttributesToGet", ["n" * 65536], f"Member must satisfy constraint: {TOO_LONG}"),
    ],
)
def test_an_attribute_name_ends_below_64_kib(member: str, value: Any, constraint: str) -> None:
    message = message_of("GetItem", {"TableName": "abc", "Key": {}} | {member: value})
    assert message.endswith(f"at '{member[0].lower()}{member[1:]}' failed to satisfy constraint: {constraint}")


def test_batches() -> None:
    assert message_of("BatchGetItem", {"RequestItems": {}}) == "The requestItems parameter is required for BatchGetItem"
    assert message_of("BatchGetItem", {"RequestItems": {"abc": {"Keys": [{}] * 101}}}) == (
        "1 validation error detected: Value at 'RequestItems.abc.member.Keys' failed to satisfy constraint: "
        "Member must have length less than or equal to 100"
    )
    many = {"RequestItems": {"abc": [{"PutRequest": {"Item": {"a": {"S": "1"}}}}] * 26}}
    assert re.fullmatch(
        r"1 validation error detected: Value '\{abc=\[.+\]\}' at 'requestItems' failed to satisfy constraint: "
        r"Map value must satisfy constraint: \[Member must have length less than or equal to 25, "
        r"Member must have length greater than or equal to 1\]",
        message_of("BatchWriteItem", many),
    )


def test_transactions() -> None:
    assert message_of("TransactWriteItems", {"TransactItems": []}) == (
        "1 validation error detected: Value '[]' at 'transactItems' failed to satisfy constraint: "
        "Member must have length greater than or equal to 1"
    )
    too_many = {"TransactItems": [{"Get": {"TableName": "abc", "Key": {}}}] * 101}
    assert re.fullmatch(
        r"1 validation error detected: Value '\[.+\]' at 'transactItems' failed to satisfy constraint: "
        r"Member must have length less than or equal to 100",
        message_of("TransactGetItems", too_many),
    )


def test_a_list_of_plain_members_tells_all_their_constraints() -> None:
    index = {"IndexName": "abc", "KeySchema": [{"AttributeName": "a", "KeyType": "HASH"}]}
    projection = {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["", "a"]}
    body = {
        "TableName": "abc",
        "AttributeDefinitions": [],
        "KeySchema": index["KeySchema"],
        "GlobalSecondaryIndexes": [index | {"Projection": projection}],
    }
    assert message_of("CreateTable", body) == (
        "1 validation error detected: Value '[, a]' at "
        "'globalSecondaryIndexes.1.member.projection.nonKeyAttributes' failed to satisfy constraint: "
        "Member must satisfy constraint: [Member must have length less than or equal to 255, "
        "Member must have length greater than or equal to 1]"
    )
