"""D01-D03, D10, D12-D14: what reads find, and what they are charged."""

from __future__ import annotations

import math
from typing import Any

import pytest
from boto3.dynamodb.conditions import Attr, Key

from tests.figures.tables import load, make_table, sized, sort_keys, units

KB = 1024


def orders(count: int) -> list[dict[str, Any]]:
    return [sized({"pk": "CUSTOMER#123", "sk": f"ORDER#{number:05}"}, KB) for number in range(count)]


def others(count: int) -> list[dict[str, Any]]:
    return [sized({"pk": f"CUSTOMER#{number:05}", "sk": "ORDER#1"}, KB) for number in range(1000, 1000 + count)]


@pytest.fixture
def shop(dynamodb_resource: Any, dynamodb_client: Any) -> Any:
    return dynamodb_resource.Table(make_table(dynamodb_client, "Shop", "pk", "sk"))


@pytest.mark.parametrize(("consistent", "expected"), [(True, 3.0), (False, 1.5)])
def test_d01_a_query_of_ten_items_is_charged_for_ten(shop: Any, consistent: bool, expected: float) -> None:
    load(shop, orders(25))
    answer = shop.query(
        KeyConditionExpression=Key("pk").eq("CUSTOMER#123") & Key("sk").begins_with("ORDER#"),
        ScanIndexForward=False,
        Limit=10,
        ConsistentRead=consistent,
        ReturnConsumedCapacity="TOTAL",
    )
    assert sort_keys(answer, "sk") == [f"ORDER#{number:05}" for number in range(24, 14, -1)]
    assert answer["Count"] == 10
    assert units(answer) == expected


def scan_all(table: Any, **options: Any) -> dict[str, float]:
    """A scan to the end: what was found, read and charged, in how many pages."""
    total = {"Count": 0.0, "ScannedCount": 0.0, "units": 0.0, "pages": 0.0}
    while True:
        answer = table.scan(ConsistentRead=True, ReturnConsumedCapacity="TOTAL", **options)
        for name in ("Count", "ScannedCount"):
            total[name] += answer[name]
        total["units"] += units(answer)
        total["pages"] += 1
        if "LastEvaluatedKey" not in answer:
            return total
        options["ExclusiveStartKey"] = answer["LastEvaluatedKey"]


@pytest.mark.parametrize(("size", "expected"), [(25, 7), (1000, 250)])
def test_d02_a_scan_is_charged_for_the_whole_table(shop: Any, size: int, expected: int) -> None:
    load(shop, orders(10) + others(size - 10))
    wanted = Attr("pk").eq("CUSTOMER#123") & Attr("sk").begins_with("ORDER#")
    total = scan_all(shop, FilterExpression=wanted)
    assert total == {"Count": 10, "ScannedCount": size, "units": expected, "pages": 1}
    assert expected == math.ceil(size * KB / 4096)


def test_d02_a_million_items_take_about_a_thousand_pages(shop: Any) -> None:
    """By model: a page measured here holds 1 MB, so a table of 1,000,000 items of 1 KB has 977 of them."""
    load(shop, others(1100))
    first = shop.scan(ConsistentRead=True, ReturnConsumedCapacity="TOTAL")
    assert (first["ScannedCount"], units(first)) == (1024, 256)
    pages = math.ceil(1_000_000 / first["ScannedCount"])
    assert pages == 977
    assert 1_000_000 / first["ScannedCount"] * units(first) == 250_000


def test_d03_a_large_item_rounds_up(shop: Any) -> None:
    item = sized({"pk": "ORDER#1", "sk": "META"}, 2560)
    assert units(shop.put_item(Item=item, ReturnConsumedCapacity="TOTAL")) == 3
    for consistent, expected in ((True, 1), (False, 0.5)):
        key = {"pk": "ORDER#1", "sk": "META"}
        answer = shop.get_item(Key=key, ConsistentRead=consistent, ReturnConsumedCapacity="TOTAL")
        assert units(answer) == expected


SORT_KEYS = [
    "ORDER#2025-02-27#ID101",
    "ORDER#2025-03-02#ID102",
    "ORDER#2025-03-14#ID123",
    "ORDER#2025-03-14#ID124",
    "ORDER#2025-04-01#ID130",
    "PROFILE",
]


def test_d10_sort_keys_answer_prefix_range_and_newest(dynamodb_resource: Any, dynamodb_client: Any) -> None:
    table = dynamodb_resource.Table(make_table(dynamodb_client, "AppTable"))
    load(table, [sized({"PK": "CUSTOMER#123", "SK": sort_key}, KB) for sort_key in SORT_KEYS])
    pk = Key("PK").eq("CUSTOMER#123")

    march = table.query(KeyConditionExpression=pk & Key("SK").begins_with("ORDER#2025-03"))
    assert sort_keys(march) == SORT_KEYS[1:4]

    between = Key("SK").between("ORDER#2025-03-02", "ORDER#2025-03-14#ID123")
    assert sort_keys(table.query(KeyConditionExpression=pk & between)) == SORT_KEYS[1:3]

    latest = table.query(
        KeyConditionExpression=pk & Key("SK").begins_with("ORDER#"),
        ScanIndexForward=False,
        Limit=2,
        ConsistentRead=True,
        ReturnConsumedCapacity="TOTAL",
    )
    assert sort_keys(latest) == [SORT_KEYS[4], SORT_KEYS[3]]
    assert latest["ScannedCount"] == 2
    assert units(latest) == 1  # two items of 1 KB, not six


def test_d12_telemetry_in_monthly_buckets(dynamodb_resource: Any, dynamodb_client: Any) -> None:
    """Keyed by device and month, a range over several months is one Query a month, joined in order."""
    table = dynamodb_resource.Table(make_table(dynamodb_client, "Telemetry"))
    moments = [f"2025-{month:02}-{day:02}T12:00:00Z" for month in (1, 2, 3) for day in (1, 14, 28)]
    load(table, [{"PK": f"DEVICE#7#{moment[:7]}", "SK": moment} for moment in moments])
    load(table, [{"PK": "DEVICE#8#2025-02", "SK": "2025-02-14T12:00:00Z"}])

    bucket = Key("PK").eq("DEVICE#7#2025-03")
    latest = table.query(KeyConditionExpression=bucket, ScanIndexForward=False, Limit=1)
    assert sort_keys(latest) == [moments[-1]]

    readings: list[str] = []
    for month in ("2025-01", "2025-02", "2025-03"):
        within = Key("SK").between("2025-01-14", "2025-03-15")
        readings += sort_keys(table.query(KeyConditionExpression=Key("PK").eq(f"DEVICE#7#{month}") & within))
    assert readings == moments[1:8]


@pytest.fixture
def single_table(dynamodb_resource: Any, dynamodb_client: Any) -> Any:
    """Customers with their orders, and orders with their lines, in one table."""
    table = dynamodb_resource.Table(make_table(dynamodb_client, "AppTable"))
    load(
        table,
        [
            {"PK": "CUSTOMER#123", "SK": "PROFILE", "name": "Ada"},
            {"PK": "CUSTOMER#123", "SK": "ORDER#2026-03-14#456", "status": "PLACED"},
            {"PK": "CUSTOMER#123", "SK": "ORDER#2026-03-20#457", "status": "PLACED"},
            {"PK": "ORDER#456", "SK": "META", "status": "PLACED"},
            {"PK": "ORDER#456", "SK": "ITEM#790", "sku": "b"},
            {"PK": "ORDER#456", "SK": "ITEM#789", "sku": "a"},
        ],
    )
    return table


def test_d13_an_order_with_its_lines_is_one_query(single_table: Any) -> None:
    answer = single_table.query(KeyConditionExpression=Key("PK").eq("ORDER#456"))
    assert sort_keys(answer) == ["ITEM#789", "ITEM#790", "META"]


def test_d14_a_customer_with_the_newest_orders_is_one_query(single_table: Any) -> None:
    answer = single_table.query(KeyConditionExpression=Key("PK").eq("CUSTOMER#123"), ScanIndexForward=False, Limit=6)
    assert sort_keys(answer) == ["PROFILE", "ORDER#2026-03-20#457", "ORDER#2026-03-14#456"]
