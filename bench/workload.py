"""The load: one table, its items, and the request bodies of every operation that is measured.

The table has string keys and one index that projects everything; every second item is in it. An item is about 350
bytes by the service's counting: an order with a list of two lines, an address and a note.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

TABLE = "Shop"
ITEMS = 10_000
CUSTOMERS = 500
STRIDE = 7919  # a prime: walking the keys by it visits every one, in no order that a cache could like
MARK = "@@"  # load.lua puts a text there that no other request has

Body = dict[str, Any]

CREATE_TABLE: Body = {
    "TableName": TABLE,
    "BillingMode": "PAY_PER_REQUEST",
    "AttributeDefinitions": [{"AttributeName": name, "AttributeType": "S"} for name in ("pk", "sk", "gpk", "gsk")],
    "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
    "GlobalSecondaryIndexes": [
        {
            "IndexName": "ByStatus",
            "KeySchema": [{"AttributeName": "gpk", "KeyType": "HASH"}, {"AttributeName": "gsk", "KeyType": "RANGE"}],
            "Projection": {"ProjectionType": "ALL"},
        }
    ],
}


def key(number: int) -> Body:
    """The primary key of a loaded item."""
    return {
        "pk": {"S": f"CUSTOMER#{number % CUSTOMERS:05d}"},
        "sk": {"S": f"ORDER#2025-03-14#{number // CUSTOMERS:06d}"},
    }


def item(number: int, primary_key: Body | None = None) -> Body:
    """An order, under its own key or another one."""
    body = dict(primary_key or key(number))
    if number % 2 == 0:
        body["gpk"] = {"S": f"STATUS#PLACED#{number % 50:02d}"}
        body["gsk"] = {"S": f"2025-03-14T10:00:00Z#{number:08d}"}
    body["status"] = {"S": "PLACED"}
    body["total"] = {"N": "129.95"}
    body["currency"] = {"S": "USD"}
    body["changes"] = {"N": "0"}
    body["lines"] = {"L": [_line("A-1001", 2), _line("B-7002", 1)]}
    body["address"] = {
        "M": {"street": {"S": "1200 Long Avenue West"}, "city": {"S": "Springfield"}, "zip": {"S": "12345"}}
    }
    body["note"] = {
        "S": "leave it at the door please, thanks very much, and ring the bell twice if nobody answers "
        "within a minute or so"
    }
    return body


def _line(product: str, quantity: int) -> Body:
    return {"M": {"sku": {"S": product}, "qty": {"N": str(quantity)}}}


def load() -> Iterator[Body]:
    """The BatchWriteItem bodies that fill the table."""
    for start in range(0, ITEMS, 25):
        yield batch(item(number) for number in range(start, start + 25))


def batch(items: Iterator[Body]) -> Body:
    """One BatchWriteItem body."""
    return {"RequestItems": {TABLE: [{"PutRequest": {"Item": each}} for each in items]}}


def _keys() -> Iterator[int]:
    return ((number * STRIDE) % ITEMS for number in range(ITEMS))


def get(number: int) -> Body:
    """GetItem of a loaded item."""
    return {"TableName": TABLE, "Key": key(number)}


def query(customer: int) -> Body:
    """The newest 20 orders of a customer."""
    return {
        "TableName": TABLE,
        "KeyConditionExpression": "pk = :p AND begins_with(sk, :o)",
        "ExpressionAttributeValues": {":p": key(customer)["pk"], ":o": {"S": "ORDER#"}},
        "ScanIndexForward": False,
        "Limit": 20,
    }


def query_index(status: int) -> Body:
    """The newest 20 orders of a status, from the index."""
    return {
        "TableName": TABLE,
        "IndexName": "ByStatus",
        "KeyConditionExpression": "gpk = :p",
        "ExpressionAttributeValues": {":p": {"S": f"STATUS#PLACED#{status:02d}"}},
        "ScanIndexForward": False,
        "Limit": 20,
    }


def put(number: int) -> Body:
    """PutItem of an order of another customer: new in the first 10,000 requests, then overwritten.

    Each has an attribute of its own: a server may well write nothing where nothing changes.
    """
    primary_key = key(number)
    primary_key["pk"] = {"S": primary_key["pk"]["S"].replace("CUSTOMER", "PUT")}
    return {"TableName": TABLE, "Item": item(number, primary_key) | {"trace": {"S": MARK}}}


def update(number: int) -> Body:
    """A counted change of an order, on condition that it is there and placed."""
    return {
        "TableName": TABLE,
        "Key": key(number),
        "UpdateExpression": "SET #c = #c + :one",
        "ConditionExpression": "attribute_exists(pk) AND #s = :placed",
        "ExpressionAttributeNames": {"#c": "changes", "#s": "status"},
        "ExpressionAttributeValues": {":one": {"N": "1"}, ":placed": {"S": "PLACED"}},
    }


def batch_write(number: int) -> Body:
    """25 orders of one customer in one request, each with an attribute that no other request has."""
    customer = {"S": f"BATCH#{number:05d}"}
    return batch(
        item(number * 25 + line, {"pk": customer, "sk": {"S": f"ORDER#2025-03-14#{line:06d}"}}) | {"trace": {"S": MARK}}
        for line in range(25)
    )


def transact(number: int) -> Body:
    """A new order and a counted change of an old one: both or neither."""
    new = item(number, {"pk": {"S": f"TX#{number % CUSTOMERS:05d}"}, "sk": {"S": f"ORDER#{MARK}"}})
    create = {"TableName": TABLE, "Item": new, "ConditionExpression": "attribute_not_exists(pk)"}
    return {"TransactItems": [{"Put": create}, {"Update": update(number)}]}


@dataclass(frozen=True, slots=True)
class Operation:
    """One line of the table of results."""

    name: str
    action: str
    bodies: Callable[[], Iterator[Body]]

    @property
    def target(self) -> str:
        """The value of the X-Amz-Target header."""
        return f"DynamoDB_20120810.{self.action}"

    def lines(self) -> str:
        """The bodies as load.lua reads them."""
        return "".join(json.dumps(body, separators=(",", ":")) + "\n" for body in self.bodies())


OPERATIONS = {
    each.name: each
    for each in (
        Operation("get", "GetItem", lambda: map(get, _keys())),
        Operation("query", "Query", lambda: map(query, range(CUSTOMERS))),
        Operation("query-index", "Query", lambda: map(query_index, range(0, 50, 2))),
        Operation("put", "PutItem", lambda: map(put, _keys())),
        Operation("update", "UpdateItem", lambda: map(update, _keys())),
        Operation("batch-write", "BatchWriteItem", lambda: map(batch_write, range(400))),
        Operation("transact", "TransactWriteItems", lambda: map(transact, _keys())),
        Operation("scan", "Scan", lambda: iter([{"TableName": TABLE}])),
    )
}
