"""The protocol around the operations: targets, bodies, types, worlds, errors, headers."""

from __future__ import annotations

import gzip
import zlib

import orjson
import pytest

from tests.unit.protocol import Protocol, Refused, item, signed

UNKNOWN = {"__type": "com.amazon.coral.service#UnknownOperationException"}


@pytest.fixture
def protocol() -> Protocol:
    made = Protocol()
    made.create("abc", "p:S")
    return made


def headers_of(response: object) -> dict[bytes, bytes]:
    lines = response.headers.splitlines()  # type: ignore[attr-defined]
    return {name: value for name, _, value in (line.partition(b": ") for line in lines)}


def test_an_answer_carries_its_id_its_checksum_and_its_type(protocol: Protocol) -> None:
    response = protocol.send("ListTables", b"{}")
    headers = headers_of(response)
    assert response.body == b'{"TableNames":["abc"]}'
    assert headers[b"x-amz-crc32"] == b"%d" % zlib.crc32(response.body)
    assert headers[b"Content-Type"] == b"application/x-amz-json-1.0"
    assert len(headers[b"x-amzn-RequestId"]) == 52
    assert headers[b"x-amzn-RequestId"].isalnum()
    assert headers_of(protocol.send("ListTables", b"{}"))[b"x-amzn-RequestId"] != headers[b"x-amzn-RequestId"]


@pytest.mark.parametrize(
    ("target", "body", "answer"),
    [
        (b"DynamoDB_20120810.Nothing", b"{}", UNKNOWN),
        (b"DynamoDB_20120810.Nothing", b"", UNKNOWN),
        (b"DynamoDB_20111205.GetItem", b"{}", UNKNOWN),
        (b"DynamoDB_20120810.ListTables", b"", {"__type": "com.amazon.coral.service#SerializationException"}),
        (b"DynamoDB_20120810.ListTables", b"{", {"__type": "com.amazon.coral.service#SerializationException"}),
        (b"DynamoDB_20120810.ListTables", b"\xff\xfe", {"__type": "com.amazon.coral.service#SerializationException"}),
        (b"DynamoDB_20120810.ListTables", b"[]", {"__type": "com.amazon.coral.service#SerializationException"}),
    ],
)
def test_what_is_no_request_is_said_to_be_none(
    protocol: Protocol, target: bytes, body: bytes, answer: dict[str, str]
) -> None:
    response = protocol.service.handle("POST", "/", signed() | {b"x-amz-target": target}, body)
    assert response.status == 400
    assert orjson.loads(response.body) == answer


@pytest.mark.parametrize(
    ("method", "path", "content_type"),
    [
        ("PUT", "/", b"application/x-amz-json-1.0"),
        ("DELETE", "/", b"application/x-amz-json-1.0"),
        ("POST", "/abc", b"application/x-amz-json-1.0"),
        ("GET", "/abc", b"application/x-amz-json-1.0"),
        ("POST", "/", b"text/plain"),
    ],
)
def test_what_is_not_the_protocol_is_not_found(protocol: Protocol, method: str, path: str, content_type: bytes) -> None:
    headers = signed() | {b"x-amz-target": b"DynamoDB_20120810.ListTables", b"content-type": content_type}
    response = protocol.service.handle(method, path, headers, b"{}")
    assert (response.status, response.body) == (404, b"<UnknownOperationException/>\n")
    assert headers_of(response)[b"x-amz-crc32"] == b"3552371480"


def test_plain_json_is_taken_and_echoed(protocol: Protocol) -> None:
    headers = signed() | {b"content-type": b"application/json; charset=utf-8"}
    assert headers_of(protocol.send("ListTables", b"{}", headers))[b"Content-Type"] == b"application/json"


def test_the_health_path_answers_without_a_signature(protocol: Protocol) -> None:
    response = protocol.service.handle("GET", "/", {b"host": b"localhost:8000"}, b"")
    assert (response.status, response.body) == (200, b"healthy: localhost:8000 ")


def test_a_browser_may_ask_from_anywhere(protocol: Protocol) -> None:
    asked = {b"origin": b"http://example.com", b"access-control-request-method": b"POST"}
    headers = headers_of(protocol.service.handle("OPTIONS", "/", asked, b""))
    assert headers[b"Access-Control-Allow-Origin"] == b"*"
    assert headers[b"Access-Control-Allow-Methods"] == b"POST"
    assert headers[b"Access-Control-Max-Age"] == b"172800"
    answered = headers_of(protocol.send("ListTables", b"{}", signed() | {b"origin": b"http://example.com"}))
    assert answered[b"Access-Control-Allow-Origin"] == b"*"
    assert b"Access-Control-Max-Age" not in answered


@pytest.mark.parametrize(
    ("operation", "body", "message"),
    [
        ("PutItem", b'{"TableName": 3, "Item": {"p": {"S": "a"}}}', "NUMBER_VALUE cannot be converted to String"),
        ("PutItem", b'{"TableName": "abc", "Item": {"p": {"S": 1}}}', "NUMBER_VALUE cannot be converted to String"),
        ("PutItem", b'{"TableName": "abc", "Item": {"p": "a"}}', "Unexpected value type in payload"),
        (
            "GetItem",
            b'{"TableName": "abc", "Key": {"p": {"S": "a"}}, "ConsistentRead": "dog"}',
            "Unexpected token received from parser",
        ),
        (
            "Scan",
            b'{"TableName": "abc", "Limit": "ten"}',
            "STRING_VALUE cannot be converted to Integer",
        ),
    ],
)
def test_a_wrong_json_type_is_told_before_anything_else(
    protocol: Protocol, operation: str, body: bytes, message: str
) -> None:
    response = protocol.send(operation, body)
    assert response.status == 400
    assert orjson.loads(response.body) == {
        "__type": "com.amazon.coral.service#SerializationException",
        "Message": message,
    }


def test_a_wrong_type_comes_before_a_bad_name_and_a_bad_value(protocol: Protocol) -> None:
    body = b'{"TableName": "!", "Item": {"p": {"S": "a"}, "n": {"N": "x"}, "b": {"BOOL": 3}}}'
    assert b"SerializationException" in protocol.send("PutItem", body).body


def test_a_null_is_an_absent_member_and_an_unknown_one_is_ignored(protocol: Protocol) -> None:
    body = b'{"TableName": "abc", "Item": {"p": {"S": "a", "N": null}}, "ConditionExpression": null, "Dog": 1}'
    assert protocol.send("PutItem", body).body == b"{}"
    assert protocol.call("GetItem", TableName="abc", Key=item(p="a")) == {"Item": item(p="a")}


def test_words_for_a_boolean_and_fractions_for_an_integer_are_converted(protocol: Protocol) -> None:
    protocol.call("PutItem", TableName="abc", Item=item(p="a"))
    body = b'{"TableName": "abc", "ConsistentRead": "true", "Limit": 1.7}'
    assert orjson.loads(protocol.send("Scan", body).body)["Count"] == 1


def test_a_compressed_body_is_read_and_a_large_answer_compressed(protocol: Protocol) -> None:
    large = item(p="a", text="x" * 5000)
    body = gzip.compress(orjson.dumps({"TableName": "abc", "Item": large}))
    assert protocol.send("PutItem", body, signed() | {b"content-encoding": b"gzip"}).status == 200
    asked = orjson.dumps({"TableName": "abc", "Key": item(p="a")})
    response = protocol.send("GetItem", asked, signed() | {b"accept-encoding": b"gzip"})
    headers = headers_of(response)
    assert headers[b"Content-Encoding"] == b"gzip"
    assert headers[b"x-amz-crc32"] == b"%d" % zlib.crc32(response.body)
    assert orjson.loads(gzip.decompress(response.body)) == {"Item": large}


@pytest.mark.parametrize(("access_key", "region"), [("210987654321", "us-east-1"), ("123456789012", "eu-west-1")])
def test_accounts_and_regions_have_tables_of_their_own(protocol: Protocol, access_key: str, region: str) -> None:
    assert protocol.send("ListTables", b"{}", signed(access_key, region)).body == b'{"TableNames":[]}'


def test_one_world_can_be_shared() -> None:
    protocol = Protocol(shared_world=True)
    protocol.create("abc", "p:S")
    assert protocol.send("ListTables", b"{}", signed("any", "eu-west-1")).body == b'{"TableNames":["abc"]}'


def test_without_a_signature_nothing_is_done_unless_the_server_is_open() -> None:
    unsigned = {b"content-type": b"application/x-amz-json-1.0"}
    response = Protocol().send("ListTables", b"{}", unsigned)
    assert response.status == 400
    assert orjson.loads(response.body) == {
        "__type": "com.amazon.coral.service#MissingAuthenticationTokenException",
        "message": "Request is missing Authentication Token",
    }
    assert Protocol(require_signature=False).send("ListTables", b"{}", unsigned).status == 200


def test_our_own_fault_is_a_500_without_details(protocol: Protocol, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(key: bytes) -> bytes:
        raise ZeroDivisionError("secret")

    monkeypatch.setattr(protocol.store, "get", fail)
    with pytest.raises(Refused) as refused:
        protocol.call("GetItem", TableName="abc", Key=item(p="a"))
    assert (refused.value.status, refused.value.code) == (500, "InternalServerError")
    assert "secret" not in str(refused.value)


def test_the_table_may_be_named_by_its_arn(protocol: Protocol) -> None:
    arn = protocol.call("DescribeTable", TableName="abc")["Table"]["TableArn"]
    answer = protocol.call("PutItem", TableName=arn, Item=item(p="a"), ReturnConsumedCapacity="TOTAL")
    assert answer["ConsumedCapacity"]["TableName"] == arn
    assert protocol.call("GetItem", TableName="abc", Key=item(p="a"))["Item"] == item(p="a")


def test_the_log_quotes_no_item(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    protocol = Protocol()
    protocol.create("abc", "p:S")

    secret = "an attribute".title()

    def fail(*_: object) -> None:
        raise KeyError(secret)

    monkeypatch.setattr(protocol.store, "begin", fail)
    with caplog.at_level("DEBUG", "dynamometer"), pytest.raises(Refused) as caught:
        protocol.call("PutItem", TableName="abc", Item=item(p="a"))
    assert caught.value.status == 500
    assert "a bug in DynamoDB_20120810.PutItem: KeyError" in caplog.text
    assert "put_item.py" in caplog.text
    assert secret not in caplog.text


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({b"x-amz-date": b"20261130T120000Z"}, "Date in Credential scope does not match"),
        ({b"x-amz-date": b"20261129"}, "Date must be in ISO-8601"),
        ({b"authorization": signed()[b"authorization"].replace(b"SignedHeaders=", b"x=")}, "'SignedHeaders' parameter"),
        ({b"authorization": signed()[b"authorization"].replace(b"Signature=", b"x=")}, "'Signature' parameter"),
    ],
)
def test_a_malformed_signature_is_refused_even_of_a_known_caller(
    protocol: Protocol, change: dict[bytes, bytes], error: str
) -> None:
    assert protocol.send("ListTables", b"{}").status == 200
    response = protocol.send("ListTables", b"{}", signed() | change)
    assert response.status == 400
    assert error in orjson.loads(response.body)["message"]
