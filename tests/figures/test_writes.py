"""D23-D25: conditions, versions and transactions under concurrency and repetition."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError, ReadTimeoutError

from dynamometer.base.clock import ManualClock
from dynamometer.inprocess import Local, local, transport
from tests.figures.tables import make_table, sized, units
from tests.model.serving import serving

BUYERS = 40
STOCK_KEY = {"PK": "PRODUCT#42", "SK": "STOCK"}


def reserve(table: Any, quantity: int) -> bool:
    """Take from the stock; False when there is not enough."""
    try:
        table.update_item(
            Key=STOCK_KEY,
            UpdateExpression="SET stock = stock - :q",
            ConditionExpression="stock >= :q",
            ExpressionAttributeValues={":q": quantity},
        )
    except ClientError as error:
        if error.response["Error"]["Code"] != "ConditionalCheckFailedException":
            raise
        return False
    return True


def stock_of(table: Any) -> int:
    return int(table.get_item(Key=STOCK_KEY, ConsistentRead=True)["Item"]["stock"])


def test_d23_forty_threads_and_one_unit(dynamodb_client: Any, dynamodb_resource: Any) -> None:
    table = dynamodb_resource.Table(make_table(dynamodb_client, "shop"))
    table.put_item(Item=STOCK_KEY | {"stock": 1})
    start = Barrier(BUYERS)

    def buy(_: int) -> bool:
        start.wait()
        return reserve(table, 1)

    with ThreadPoolExecutor(BUYERS) as buyers:
        results = list(buyers.map(buy, range(BUYERS)))
    assert results.count(True) == 1
    assert stock_of(table) == 0


def test_d23_forty_threads_on_a_data_folder(tmp_path: Any) -> None:
    """The same with every write on the disk before its answer: the threads wait for the disk together."""
    with local(tmp_path / "data") as engine:
        table = engine.resource().Table(make_table(engine.client(), "shop"))
        table.put_item(Item=STOCK_KEY | {"stock": 5})
        with ThreadPoolExecutor(BUYERS) as buyers:
            results = list(buyers.map(lambda _: reserve(table, 1), range(BUYERS)))
        assert results.count(True) == 5
        assert stock_of(table) == 0


BUYER = """
import sys, boto3
from botocore.exceptions import ClientError
table = boto3.resource("dynamodb", endpoint_url=sys.argv[1], region_name="us-east-1",
                       aws_access_key_id="a", aws_secret_access_key="b").Table("shop")
print("ready", flush=True)
sys.stdin.readline()
won = 0
for _ in range(10):
    try:
        table.update_item(Key={"PK": "PRODUCT#42", "SK": "STOCK"}, UpdateExpression="SET stock = stock - :q",
                          ConditionExpression="stock >= :q", ExpressionAttributeValues={":q": 1})
        won += 1
    except ClientError as error:
        assert error.response["Error"]["Code"] == "ConditionalCheckFailedException"
print(won)
"""


@pytest.mark.slow
def test_d23_forty_buyers_in_processes_against_a_server() -> None:
    """Four processes of ten purchases each, started together, over HTTP."""
    with serving() as port:
        url = f"http://127.0.0.1:{port}"
        options = {"region_name": "us-east-1", "aws_access_key_id": "a", "aws_secret_access_key": "b"}
        resource = boto3.resource("dynamodb", endpoint_url=url, **options)
        table = resource.Table(make_table(resource.meta.client, "shop"))
        table.put_item(Item=STOCK_KEY | {"stock": 1})
        command = [sys.executable, "-c", BUYER, url]
        buyers = [subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(4)]
        for buyer in buyers:
            assert buyer.stdout is not None
            assert buyer.stdout.readline() == "ready\n"
        sold = [int(buyer.communicate("go\n", timeout=60)[0]) for buyer in buyers]
        assert sum(sold) == 1
        assert stock_of(table) == 0


DOCUMENT = {"PK": "DOC#1", "SK": "META"}


def write_version(table: Any, seen: int, state: str) -> None:
    table.update_item(
        Key=DOCUMENT,
        UpdateExpression="SET #st = :new, version = version + :one",
        ConditionExpression="version = :seen",
        ExpressionAttributeNames={"#st": "state"},
        ExpressionAttributeValues={":new": state, ":seen": seen, ":one": 1},
    )


def update_state(table: Any, change: Any, attempts: int = 5) -> bool:
    """Read, change, write back if nobody else did; again otherwise."""
    for _ in range(attempts):
        item = table.get_item(Key=DOCUMENT, ConsistentRead=True)["Item"]
        try:
            write_version(table, item["version"], change(item["state"]))
            return True
        except ClientError as error:
            if error.response["Error"]["Code"] != "ConditionalCheckFailedException":
                raise
    return False


@pytest.fixture
def versioned(dynamodb_client: Any, dynamodb_resource: Any) -> Any:
    table = dynamodb_resource.Table(make_table(dynamodb_client, "shop"))
    table.put_item(Item=DOCUMENT | {"state": "PLACED", "version": 7})
    return table


def document(table: Any) -> tuple[str, int]:
    item = table.get_item(Key=DOCUMENT, ConsistentRead=True)["Item"]
    return item["state"], int(item["version"])


def test_d24_of_two_writers_at_version_seven_one_wins(versioned: Any) -> None:
    write_version(versioned, 7, "SHIPPED")
    with pytest.raises(ClientError, match="ConditionalCheckFailedException"):
        write_version(versioned, 7, "CANCELLED")
    assert document(versioned) == ("SHIPPED", 8)
    assert update_state(versioned, lambda state: f"{state}, CANCELLED")
    assert document(versioned) == ("SHIPPED, CANCELLED", 9)


def test_d24_many_writers_lose_no_update(versioned: Any) -> None:
    def add_entry(number: int) -> bool:
        return update_state(versioned, lambda state: f"{state},{number}", attempts=50)

    with ThreadPoolExecutor(8) as writers:
        assert all(writers.map(add_entry, range(40)))
    state, version = document(versioned)
    assert version == 47
    assert sorted(map(int, state.split(",")[1:])) == list(range(40))


def lose_first_answer(engine: Local, client: Any, operation: str) -> None:
    """The engine does what it is asked, but the answer never arrives, so botocore sends the request again."""
    lost: list[str] = []

    def lose(request: Any, **_: Any) -> None:
        if not lost:
            lost.append(request.url)
            transport.send(engine, request)
            raise ReadTimeoutError(endpoint_url=request.url)

    client.meta.events.register_first(f"before-send.dynamodb.{operation}", lose)


def test_d24_a_lost_answer_does_not_apply_a_change_twice(dynamometer: Local, versioned: Any) -> None:
    """The resent copy fails the version condition; the loop reads again, and a change that sees its work keeps it."""
    lose_first_answer(dynamometer, versioned.meta.client, "UpdateItem")
    assert update_state(versioned, lambda state: "SHIPPED" if state == "PLACED" else state)
    assert document(versioned) == ("SHIPPED", 9)


def test_d24_a_token_makes_the_resent_counter_do_nothing(dynamometer: Local, versioned: Any) -> None:
    client = versioned.meta.client
    lose_first_answer(dynamometer, client, "TransactWriteItems")
    increment = {
        "TableName": "shop",
        "Key": DOCUMENT,
        "UpdateExpression": "ADD version :one",
        "ExpressionAttributeValues": {":one": 1},
    }
    client.transact_write_items(TransactItems=[{"Update": increment}])
    assert document(versioned) == ("PLACED", 8)


# --- D25 ---


def put(number: int, size: int = 100) -> dict[str, Any]:
    return {"Put": {"TableName": "shop", "Item": sized({"PK": f"ORDER#{number:04}", "SK": "META"}, size)}}


def count(table: Any) -> int:
    pages = table.meta.client.get_paginator("scan").paginate(TableName=table.name, Select="COUNT")
    return sum(page["Count"] for page in pages)


@pytest.fixture
def shop(dynamodb_client: Any, dynamodb_resource: Any) -> Any:
    return dynamodb_resource.Table(make_table(dynamodb_client, "shop"))


def refused(table: Any, actions: list[dict[str, Any]]) -> str:
    """The text with which a transaction is refused."""
    with pytest.raises(ClientError) as error:
        table.meta.client.transact_write_items(TransactItems=actions)
    assert error.value.response["Error"]["Code"] == "ValidationException"
    return str(error.value.response["Error"]["Message"])


def test_d25_a_transaction_takes_a_hundred_actions(shop: Any) -> None:
    shop.meta.client.transact_write_items(TransactItems=[put(number) for number in range(100)])
    assert count(shop) == 100
    assert "Member must have length less than or equal to 100" in refused(shop, [put(n) for n in range(101)])


def test_d25_a_transaction_takes_four_megabytes(shop: Any) -> None:
    fits = [put(number, 399 * 1024) for number in range(10)]
    shop.meta.client.transact_write_items(TransactItems=fits)
    assert count(shop) == 10
    assert "size cannot exceed" in refused(shop, [*fits, put(10, 399 * 1024)])


def test_d25_no_item_twice(shop: Any) -> None:
    assert refused(shop, [put(1), put(1)]) == "Transaction request cannot include multiple operations on one item"


def test_d25_twice_the_units(shop: Any) -> None:
    answer = shop.meta.client.transact_write_items(TransactItems=[put(1, 2560)], ReturnConsumedCapacity="TOTAL")
    assert answer["ConsumedCapacity"][0]["CapacityUnits"] == 6
    plain = shop.put_item(Item=put(2, 2560)["Put"]["Item"], ReturnConsumedCapacity="TOTAL")
    assert units(plain) == 3


def test_d25_a_token_is_good_for_ten_minutes(dynamometer_clock: ManualClock, shop: Any) -> None:
    """Within ten minutes a repeated call succeeds and writes nothing; afterwards it is a new call."""

    def order() -> None:
        increment = {
            "TableName": "shop",
            "Key": STOCK_KEY,
            "UpdateExpression": "ADD sold :one",
            "ExpressionAttributeValues": {":one": 1},
        }
        shop.meta.client.transact_write_items(ClientRequestToken="order-123", TransactItems=[{"Update": increment}])

    def sold() -> int:
        return int(shop.get_item(Key=STOCK_KEY)["Item"]["sold"])

    order()
    order()
    dynamometer_clock.advance(599)
    order()
    assert sold() == 1
    dynamometer_clock.advance(2)
    order()
    assert sold() == 2


def test_d25_a_token_with_another_request_is_refused(shop: Any) -> None:
    client = shop.meta.client
    client.transact_write_items(ClientRequestToken="order-123", TransactItems=[put(1)])
    with pytest.raises(client.exceptions.IdempotentParameterMismatchException):
        client.transact_write_items(ClientRequestToken="order-123", TransactItems=[put(2)])
    assert count(shop) == 1
