"""D11: a list that grows inside one item, and the design that does not have it."""

from __future__ import annotations

from typing import Any

import pytest
from botocore.exceptions import ClientError

from tests.figures.tables import make_table, units

ITEM_BYTES_MAX = 400 * 1024


@pytest.fixture
def table(dynamodb_resource: Any, dynamodb_client: Any) -> Any:
    return dynamodb_resource.Table(make_table(dynamodb_client, "AppTable"))


def test_d11_each_append_costs_the_whole_item_until_none_fits(table: Any) -> None:
    """Orders of 10 KB in a list: the price of the n-th append grows by ten units each, and the fortieth has no room."""
    key = {"PK": "CUSTOMER#123", "SK": "PROFILE"}
    table.put_item(Item=key | {"orders": []})
    order = "x" * (10 * 1024 - 1)  # a list element costs one byte beside its own
    prices = []
    with pytest.raises(ClientError) as refused:
        while True:
            answer = table.update_item(
                Key=key,
                UpdateExpression="SET orders = list_append(orders, :new)",
                ExpressionAttributeValues={":new": [order]},
                ReturnConsumedCapacity="TOTAL",
            )
            prices.append(units(answer))
    assert refused.value.response["Error"]["Code"] == "ValidationException"
    assert refused.value.response["Error"]["Message"] == "Item size to update has exceeded the maximum allowed size"
    assert prices == [10 * count + 1 for count in range(1, 40)]
    assert len(table.get_item(Key=key)["Item"]["orders"]) == 39


def test_d11_an_item_of_its_own_for_each_order_stays_flat(table: Any) -> None:
    item = {"PK": "CUSTOMER#123", "order": "x" * (10 * 1024 - 60)}
    prices = [
        units(table.put_item(Item=item | {"SK": f"ORDER#{number:04}"}, ReturnConsumedCapacity="TOTAL"))
        for number in range(60)
    ]
    assert prices == [10.0] * 60
