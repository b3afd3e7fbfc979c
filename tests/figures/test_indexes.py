"""D19-D22, D26, D27: what secondary indexes answer, refuse and cost."""

from __future__ import annotations

from typing import Any

import pytest
from boto3.dynamodb.conditions import Key
from botocore.exceptions import ClientError

from tests.figures.tables import index_units, make_table, sized, units

KB = 1024


def table_with(client: Any, resource: Any, **indexes: dict[str, Any]) -> Any:
    return resource.Table(make_table(client, "shop", **indexes))


def test_d19_a_global_index_refuses_strong_reads(dynamodb_client: Any, dynamodb_resource: Any) -> None:
    table = table_with(dynamodb_client, dynamodb_resource, GSI1={"keys": ("GSI1PK", "GSI1SK")})
    with pytest.raises(ClientError) as refused:
        table.query(IndexName="GSI1", KeyConditionExpression=Key("GSI1PK").eq("a"), ConsistentRead=True)
    assert refused.value.response["Error"] == {
        "Code": "ValidationException",
        "Message": "Consistent reads are not supported on global secondary indexes",
    }


def test_d20_a_changed_index_key_is_two_index_writes(dynamodb_client: Any, dynamodb_resource: Any) -> None:
    table = table_with(
        dynamodb_client, dynamodb_resource, ByStatus={"keys": ("status", "shippedAt"), "include": ["total"]}
    )
    key = {"PK": "CUSTOMER#1", "SK": "ORDER#1"}
    table.put_item(Item=key | {"status": "PLACED", "shippedAt": "-", "total": 5, "note": "a"})

    def update(name: str, value: Any) -> dict[str, Any]:
        answer: dict[str, Any] = table.update_item(
            Key=key,
            UpdateExpression="SET #n = :v",
            ExpressionAttributeNames={"#n": name},
            ExpressionAttributeValues={":v": value},
            ReturnConsumedCapacity="INDEXES",
        )
        return answer

    assert index_units(update("status", "SHIPPED")) == {"ByStatus": 2}  # delete there, put here
    assert index_units(update("total", 6)) == {"ByStatus": 1}
    assert index_units(update("note", "b")) == {}


def test_d21_a_sparse_index_holds_only_waiting_orders(dynamodb_client: Any, dynamodb_resource: Any) -> None:
    table = table_with(dynamodb_client, dynamodb_resource, Pickup={"keys": ("openForPickup",)})
    for number in range(5):
        table.put_item(Item={"PK": f"ORDER#{number}", "SK": "META"})

    def waiting() -> list[str]:
        answer = table.query(IndexName="Pickup", KeyConditionExpression=Key("openForPickup").eq("WAREHOUSE#7"))
        return sorted(item["PK"] for item in answer["Items"])

    def change(number: int, expression: str, **options: Any) -> None:
        table.update_item(Key={"PK": f"ORDER#{number}", "SK": "META"}, UpdateExpression=expression, **options)

    assert waiting() == []
    for number in (1, 3):
        change(number, "SET openForPickup = :w", ExpressionAttributeValues={":w": "WAREHOUSE#7"})
    assert waiting() == ["ORDER#1", "ORDER#3"]
    change(1, "REMOVE openForPickup")
    assert waiting() == ["ORDER#3"]


class Lifecycle:
    """PLACED, SHIPPED, DELIVERED: one create and two updates of an order of 1 KB, with what each costs."""

    def __init__(self, table: Any) -> None:
        self.table = table
        self.base = 0.0
        self.indexes = 0.0

    def run(self, placed: dict[str, Any], shipped: dict[str, Any], delivered: dict[str, Any]) -> tuple[float, float]:
        """Units on the table, and on its indexes. Attributes whose value is None are removed."""
        item = sized({"PK": "CUSTOMER#1", "SK": "ORDER#2026-03-14#1"} | placed | {"status": "PLACED"}, KB - 64)
        self._count(self.table.put_item(Item=item, ReturnConsumedCapacity="INDEXES"))
        for status, changes in (("SHIPPED", shipped), ("DELIVERED", delivered)):
            self._update({"status": status} | changes)
        return self.base, self.indexes

    def _update(self, changes: dict[str, Any]) -> None:
        kept = {name: value for name, value in changes.items() if value is not None}
        gone = [name for name, value in changes.items() if value is None]
        expression = "SET " + ", ".join(f"#{name} = :{name}" for name in kept)
        if gone:
            expression += " REMOVE " + ", ".join(f"#{name}" for name in gone)
        answer = self.table.update_item(
            Key={"PK": "CUSTOMER#1", "SK": "ORDER#2026-03-14#1"},
            UpdateExpression=expression,
            ExpressionAttributeNames={f"#{name}": name for name in changes},
            ExpressionAttributeValues={f":{name}": value for name, value in kept.items()},
            ReturnConsumedCapacity="INDEXES",
        )
        self._count(answer)

    def _count(self, answer: dict[str, Any]) -> None:
        self.base += answer["ConsumedCapacity"]["Table"]["CapacityUnits"]
        self.indexes += sum(index_units(answer).values())


SHIP_DAY = {"shipDay": "SHIPPED#2026-03-15#2", "shippedAt": "2026-03-15T10:00:00Z#1"}
CHOICES = {
    "1 a customer's newest orders: the table's own key": ({}, {}, {}, {}, 0),
    "2 shipped on a day, keys only: one entry that never moves": (
        {"ByDay": {"keys": ("shipDay", "shippedAt"), "projection": "KEYS_ONLY"}},
        *({}, SHIP_DAY, {}),
        1,
    ),
    "2 shipped on a day, all attributes: delivery writes it again": (
        {"ByDay": {"keys": ("shipDay", "shippedAt")}},
        *({}, SHIP_DAY, {}),
        2,
    ),
    "3 waiting for pickup: put, and taken out": (
        {"Pickup": {"keys": ("openForPickup",), "projection": "KEYS_ONLY"}},
        *({}, {"openForPickup": "WAREHOUSE#7"}, {"openForPickup": None}),
        2,
    ),
    "4 a customer's orders by total: written once": (
        {"ByTotal": {"keys": ("PK", "total"), "projection": "KEYS_ONLY"}},
        *({"total": "0000012500"}, {}, {}),
        1,
    ),
    "5 one order by its id: written once": (
        {"ById": {"keys": ("orderId",), "projection": "KEYS_ONLY"}},
        *({"orderId": "1"}, {}, {}),
        1,
    ),
    "a mutable key, status: moved at every step": ({"ByStatus": {"keys": ("status", "SK")}}, {}, {}, {}, 5),
}


@pytest.mark.parametrize("choice", CHOICES)
def test_d22_an_order_costs_three_base_units_and_its_indexes(
    dynamodb_client: Any, dynamodb_resource: Any, choice: str
) -> None:
    indexes, placed, shipped, delivered, expected = CHOICES[choice]
    table = table_with(dynamodb_client, dynamodb_resource, **indexes)
    assert Lifecycle(table).run(placed, shipped, delivered) == (3, expected)


def test_d26_two_indexes_multiply_a_write(dynamodb_client: Any, dynamodb_resource: Any) -> None:
    table = table_with(
        dynamodb_client,
        dynamodb_resource,
        GSI1={"keys": ("GSI1PK", "GSI1SK")},
        GSI2={"keys": ("GSI2PK", "GSI2SK"), "projection": "KEYS_ONLY"},
    )
    keys = {"PK": "CUSTOMER#1", "SK": "ORDER#1"} | {f"GSI{n}{part}": "x" * 30 for n in (1, 2) for part in ("PK", "SK")}
    answer = table.put_item(Item=sized(keys, 2560), ReturnConsumedCapacity="INDEXES")
    assert answer["ConsumedCapacity"]["Table"]["CapacityUnits"] == 3
    assert index_units(answer) == {"GSI1": 3, "GSI2": 1}
    assert units(answer) == 7


def test_d27_a_put_with_a_small_index_and_a_read(dynamodb_client: Any, dynamodb_resource: Any) -> None:
    table = table_with(dynamodb_client, dynamodb_resource, GSI1={"keys": ("GSI1PK",), "projection": "KEYS_ONLY"})
    item = sized({"PK": "CUSTOMER#1", "SK": "ORDER#1", "GSI1PK": "x" * 270}, int(3.2 * KB))
    answer = table.put_item(Item=item, ReturnConsumedCapacity="INDEXES")
    assert (units(answer), index_units(answer)) == (5, {"GSI1": 1})
    read = table.get_item(Key={"PK": "CUSTOMER#1", "SK": "ORDER#1"}, ReturnConsumedCapacity="TOTAL")
    assert units(read) == 0.5
