"""Limits of items and batches that hold across several parts of a request or of the store."""

from __future__ import annotations

import pytest

from dynamometer.base.limits import ITEM_BYTES_MAX
from dynamometer.model.values import item_size
from tests.unit.protocol import ACCESS_KEY, Protocol, Refused, item

ARN = f"arn:aws:dynamodb:us-east-1:{ACCESS_KEY}:table/abc"


def test_an_item_and_its_local_entries_share_the_limit() -> None:
    protocol = Protocol()
    protocol.create("abc", "p:S c:S", {"local1": ("p:S l:S", "ALL"), "local2": ("p:S l:S", "KEYS_ONLY")})
    keys = item(p="a", c="1", l="x")
    room = ITEM_BYTES_MAX - 3 * item_size(keys)
    fits = keys | item(z="z" * (room // 2 - 1))
    protocol.call("PutItem", TableName="abc", Item=fits)
    too_large = fits | item(z="z" * (room // 2))
    with pytest.raises(Refused, match="Item size has exceeded the maximum allowed size"):
        protocol.call("PutItem", TableName="abc", Item=too_large)
    with pytest.raises(Refused, match="Item size has exceeded the maximum allowed size"):
        protocol.call("BatchWriteItem", RequestItems={"abc": [{"PutRequest": {"Item": too_large}}]})
    protocol.call("PutItem", TableName="abc", Item={name: too_large[name] for name in "pcz"})
    update = {
        "TableName": "abc",
        "Key": item(p="a", c="1"),
        "UpdateExpression": "SET l = :l",
        "ExpressionAttributeValues": {":l": {"S": "x"}},
    }
    with pytest.raises(Refused, match="Item size to update has exceeded the maximum allowed size"):
        protocol.call("UpdateItem", **update)
    with pytest.raises(Refused, match=r"\[ValidationError\]"):
        protocol.call("TransactWriteItems", TransactItems=[{"Update": update}])


def test_a_table_and_its_arn_are_one_table_of_a_batch() -> None:
    protocol = Protocol()
    protocol.create("abc", "p:S")
    put = {"PutRequest": {"Item": item(p="a")}}
    with pytest.raises(Refused, match="Provided list of item keys contains duplicates"):
        protocol.call("BatchWriteItem", RequestItems={"abc": [put], ARN: [{"DeleteRequest": {"Key": item(p="a")}}]})
    protocol.call("BatchWriteItem", RequestItems={"abc": [put], ARN: [{"PutRequest": {"Item": item(p="b")}}]})
    assert protocol.call("DescribeTable", TableName=ARN)["Table"]["ItemCount"] == 2


TOO_LARGE = "Transaction payload size cannot exceed 4MB. Payload Size: "


def test_a_transaction_has_four_megabytes() -> None:
    protocol = Protocol()
    protocol.create("abc", "p:S")
    items = [item(p=f"{number:02}", z={"B": "AAAA" * (380_000 // 3)}) for number in range(12)]
    puts = [{"Put": {"TableName": "abc", "Item": each}} for each in items]
    gets = [{"Get": {"TableName": "abc", "Key": item(p=each["p"]["S"])}} for each in items]
    size = sum(map(item_size, items))
    with pytest.raises(Refused) as caught:
        protocol.call("TransactWriteItems", TransactItems=puts)
    assert (caught.value.code, caught.value.message) == ("ValidationException", f"{TOO_LARGE}: {TOO_LARGE}{size}")
    for half in (puts[:11], puts[11:]):  # eleven are larger than 4 MB as JSON, but not as items
        protocol.call("TransactWriteItems", TransactItems=half)
    assert len(protocol.call("TransactGetItems", TransactItems=gets[:11])["Responses"]) == 11
    with pytest.raises(Refused, match=TOO_LARGE):
        protocol.call("TransactGetItems", TransactItems=gets)
    statements = [{"Statement": f"SELECT * FROM abc WHERE p = '{each['p']['S']}'"} for each in items]
    with pytest.raises(Refused, match=TOO_LARGE):
        protocol.call("ExecuteTransaction", TransactStatements=statements)
    deletes = [{"Delete": get["Get"]} for get in gets]
    protocol.call("TransactWriteItems", TransactItems=deletes)
