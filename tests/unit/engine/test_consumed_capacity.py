"""What every operation costs: ConsumedCapacity with INDEXES, by hand from the rules.

Sizes: an item {"p": "a", "x": <n letters>} has 1 + 1 + 1 + n bytes. Rules: developer guide, "Capacity unit
consumption"; rows marked "measured" were captured from the service.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.protocol import Body, Protocol, Refused, item


@pytest.fixture
def protocol() -> Protocol:
    made = Protocol()
    made.create(
        "abc",
        "p:S c:S",
        {"global1": ("g:S", "ALL"), "global2": ("h:S", "KEYS_ONLY"), "local1": ("p:S l:S", "shown")},
    )
    made.create("plain", "p:S")
    return made


def arms(answer: Body) -> dict[str, float]:
    """ConsumedCapacity as one row: table, then indexes; the total must be their sum."""
    capacity = answer["ConsumedCapacity"]
    if isinstance(capacity, list):
        (capacity,) = capacity
    row = {"table": capacity["Table"]["CapacityUnits"]}
    for member in ("GlobalSecondaryIndexes", "LocalSecondaryIndexes"):
        row |= {name: arm["CapacityUnits"] for name, arm in capacity.get(member, {}).items()}
    assert capacity["CapacityUnits"] == sum(row.values())
    return row


def put(protocol: Protocol, stored: Body, table: str = "plain", **more: Any) -> dict[str, float]:
    return arms(protocol.call("PutItem", TableName=table, Item=stored, ReturnConsumedCapacity="INDEXES", **more))


def letters(count: int) -> str:
    return "x" * count


@pytest.mark.parametrize(("size", "write", "read"), [(1, 1, 1), (1024, 1, 1), (1025, 2, 1), (4096, 4, 1), (4097, 5, 2)])
def test_writes_by_the_kilobyte_reads_by_four(protocol: Protocol, size: int, write: int, read: int) -> None:
    stored = item(p="a", x=letters(max(0, size - 3)))
    assert put(protocol, stored) == {"table": write}
    body: Body = {"TableName": "plain", "Key": item(p="a"), "ReturnConsumedCapacity": "INDEXES"}
    assert arms(protocol.call("GetItem", **body)) == {"table": read / 2}
    assert arms(protocol.call("GetItem", **body, ConsistentRead=True)) == {"table": read}
    answer = protocol.call(
        "TransactGetItems",
        TransactItems=[{"Get": {"TableName": "plain", "Key": item(p="a")}}],
        ReturnConsumedCapacity="INDEXES",
    )
    assert arms(answer) == {"table": 2 * read}
    assert answer["ConsumedCapacity"][0]["ReadCapacityUnits"] == 2 * read
    assert arms(protocol.call("DeleteItem", **body)) == {"table": write}


def test_the_larger_of_before_and_after(protocol: Protocol) -> None:
    put(protocol, item(p="a", x=letters(3000)))
    assert put(protocol, item(p="a")) == {"table": 3}
    assert put(protocol, item(p="a", x=letters(2000))) == {"table": 2}
    answer = protocol.call(
        "UpdateItem",
        TableName="plain",
        Key=item(p="a"),
        UpdateExpression="REMOVE x",
        ReturnConsumedCapacity="INDEXES",
    )
    assert arms(answer) == {"table": 2}


def test_what_is_not_there_costs_the_least(protocol: Protocol) -> None:
    body: Body = {"TableName": "plain", "Key": item(p="no"), "ReturnConsumedCapacity": "INDEXES"}
    assert arms(protocol.call("GetItem", **body)) == {"table": 0.5}
    assert arms(protocol.call("DeleteItem", **body)) == {"table": 1}
    assert arms(protocol.call("UpdateItem", **body, UpdateExpression="REMOVE x")) == {"table": 1}
    query = {"KeyConditionExpression": "p = :p", "ExpressionAttributeValues": {":p": {"S": "no"}}}
    answer = protocol.call("Query", TableName="plain", ReturnConsumedCapacity="INDEXES", **query)
    assert arms(answer) == {"table": 0.5}


def test_an_index_costs_what_changes_in_it(protocol: Protocol) -> None:
    """The captured row of one table: insert in all, one local attribute, a global key moved, nothing, gone."""
    first = item(p="a", c="b", g="1", h="1", l="1", shown="1", hidden="1")
    assert put(protocol, first, "abc") == {"table": 1, "global1": 1, "global2": 1, "local1": 1}
    shown = first | item(shown="2")
    assert put(protocol, shown, "abc") == {"table": 1, "global1": 1, "local1": 1}
    hidden = shown | item(hidden="2")
    assert put(protocol, hidden, "abc") == {"table": 1, "global1": 1}
    moved = hidden | item(g="2", h="2")
    assert put(protocol, moved, "abc") == {"table": 1, "global1": 2, "global2": 2}
    assert put(protocol, moved, "abc") == {"table": 1}
    sparse = item(p="a", c="b", h="2")
    assert put(protocol, sparse, "abc") == {"table": 1, "global1": 1, "local1": 1}
    body: Body = {"TableName": "abc", "Key": item(p="a", c="b"), "ReturnConsumedCapacity": "INDEXES"}
    assert arms(protocol.call("DeleteItem", **body)) == {"table": 1, "global2": 1}


def test_an_index_entry_is_as_large_as_what_it_projects(protocol: Protocol) -> None:
    large = item(p="a", c="b", g="1", h="1", l="1", shown=letters(1500), hidden=letters(3000))
    assert put(protocol, large, "abc") == {"table": 5, "global1": 5, "global2": 1, "local1": 2}


def test_a_moved_key_pays_for_both_places_each_rounded_alone(protocol: Protocol) -> None:
    put(protocol, item(p="a", c="b", g="1", x=letters(1500)), "abc")
    assert put(protocol, item(p="a", c="b", g="2", x=letters(100)), "abc") == {"table": 2, "global1": 3}


def test_the_order_of_a_set_is_no_change_that_of_a_list_is(protocol: Protocol) -> None:
    put(protocol, item(p="a", c="b", g="1", s={"SS": ["x", "y"]}, m={"M": {"a": {"S": "1"}, "b": {"S": "2"}}}), "abc")
    same = item(p="a", c="b", g="1", s={"SS": ["y", "x"]}, m={"M": {"b": {"S": "2"}, "a": {"S": "1"}}})
    assert put(protocol, same, "abc") == {"table": 1}
    put(protocol, item(p="a", c="b", g="1", s={"L": [{"S": "x"}, {"S": "y"}]}), "abc")
    other = item(p="a", c="b", g="1", s={"L": [{"S": "y"}, {"S": "x"}]})
    assert put(protocol, other, "abc") == {"table": 1, "global1": 1}


def test_a_transaction_doubles_the_table_not_the_indexes(protocol: Protocol) -> None:
    actions = [
        {"Put": {"TableName": "abc", "Item": item(p="a", c="b", g="1", x=letters(1500))}},
        {
            "ConditionCheck": {
                "TableName": "abc",
                "Key": item(p="no", c="no"),
                "ConditionExpression": "attribute_not_exists(p)",
            }
        },
    ]
    answer = protocol.call("TransactWriteItems", TransactItems=actions, ReturnConsumedCapacity="INDEXES")
    assert arms(answer) == {"table": 2 * 2 + 2, "global1": 2}
    capacity = answer["ConsumedCapacity"][0]
    assert capacity["WriteCapacityUnits"] == 8
    assert capacity["GlobalSecondaryIndexes"]["global1"] == {"CapacityUnits": 2, "WriteCapacityUnits": 2}


def test_a_repeated_transaction_costs_reads_of_what_it_wrote(protocol: Protocol) -> None:
    body: Body = {
        "TransactItems": [{"Put": {"TableName": "plain", "Item": item(p="a", x=letters(1500))}}],
        "ClientRequestToken": "token",
        "ReturnConsumedCapacity": "TOTAL",
    }
    assert protocol.call("TransactWriteItems", **body)["ConsumedCapacity"][0]["WriteCapacityUnits"] == 4
    protocol.call("DeleteItem", TableName="plain", Key=item(p="a"))
    again = protocol.call("TransactWriteItems", **body)["ConsumedCapacity"]
    assert again == [{"TableName": "plain", "CapacityUnits": 2, "ReadCapacityUnits": 2}]
    assert "Item" not in protocol.call("GetItem", TableName="plain", Key=item(p="a"))
    other = body | {"TransactItems": [{"Delete": {"TableName": "plain", "Key": item(p="a")}}]}
    with pytest.raises(Refused, match="IdempotentParameterMismatchException"):
        protocol.call("TransactWriteItems", **other)
    protocol.clock.advance(601)
    assert protocol.call("TransactWriteItems", **other)["ConsumedCapacity"][0]["WriteCapacityUnits"] == 2


def test_a_page_is_summed_then_rounded_a_batch_rounded_then_summed(protocol: Protocol) -> None:
    protocol.create("rows", "p:S c:S", {"global1": ("p:S", "KEYS_ONLY")})
    for number in range(10):
        put(protocol, item(p="p", c=str(number), x=letters(1000)), "rows")
    query: Body = {
        "TableName": "rows",
        "KeyConditionExpression": "p = :p",
        "ExpressionAttributeValues": {":p": {"S": "p"}},
        "ReturnConsumedCapacity": "INDEXES",
    }
    # 10 items of 1,005 bytes are 2.45 times 4 KB
    assert arms(protocol.call("Query", **query, ConsistentRead=True)) == {"table": 3}
    assert arms(protocol.call("Query", **query)) == {"table": 1.5}
    assert arms(protocol.call("Query", **query, Select="COUNT", FilterExpression="size(x) > :p")) == {"table": 1.5}
    assert arms(protocol.call("Query", **query, IndexName="global1")) == {"table": 0, "global1": 0.5}
    keys = [item(p="p", c=str(number)) for number in range(9)] + [item(p="no", c="no")]
    answer = protocol.call("BatchGetItem", RequestItems={"rows": {"Keys": keys}}, ReturnConsumedCapacity="INDEXES")
    assert arms(answer) == {"table": 5}


def test_a_local_index_pays_for_the_items_it_fetches(protocol: Protocol) -> None:
    """Captured: three rows of 9 KB are 4.5 units of the table, eventually consistent, and 9 strongly."""
    for number in range(3):
        put(protocol, item(p="p", c=str(number), l="l", hidden=letters(9000)), "abc")
    query: Body = {
        "TableName": "abc",
        "IndexName": "local1",
        "KeyConditionExpression": "p = :p",
        "ExpressionAttributeValues": {":p": {"S": "p"}},
        "ReturnConsumedCapacity": "INDEXES",
    }
    assert arms(protocol.call("Query", **query)) == {"table": 0, "local1": 0.5}
    whole = query | {"Select": "ALL_ATTRIBUTES"}
    assert arms(protocol.call("Query", **whole)) == {"table": 4.5, "local1": 0.5}
    answer = protocol.call("Query", **whole, ConsistentRead=True)
    assert arms(answer) == {"table": 9, "local1": 1}
    assert {len(each["hidden"]["S"]) for each in answer["Items"]} == {9000}


def test_a_batch_of_writes_is_the_sum_of_its_parts(protocol: Protocol) -> None:
    put(protocol, item(p="old", x=letters(2000)))
    requests = [
        {"PutRequest": {"Item": item(p="a", x=letters(1500))}},
        {"PutRequest": {"Item": item(p="b")}},
        {"DeleteRequest": {"Key": item(p="old")}},
        {"DeleteRequest": {"Key": item(p="no")}},
    ]
    answer = protocol.call("BatchWriteItem", RequestItems={"plain": requests}, ReturnConsumedCapacity="INDEXES")
    assert arms(answer) == {"table": 2 + 1 + 2 + 1}


def test_a_scan_pays_for_every_partition_it_searches(protocol: Protocol) -> None:
    """Measured: one tiny item in a new on-demand table costs 4 units, 2 eventually consistent."""
    put(protocol, item(p="a"))
    body: Body = {"TableName": "plain", "ReturnConsumedCapacity": "INDEXES"}
    assert arms(protocol.call("Scan", **body, ConsistentRead=True)) == {"table": 4}
    assert arms(protocol.call("Scan", **body)) == {"table": 2}
    assert arms(protocol.call("Scan", **body, Segment=0, TotalSegments=4)) == {"table": 0.5}


def test_item_collections_tell_their_size(protocol: Protocol) -> None:
    answer = protocol.call(
        "PutItem", TableName="abc", Item=item(p="a", c="b", l="l"), ReturnItemCollectionMetrics="SIZE"
    )
    assert answer["ItemCollectionMetrics"] == {
        "ItemCollectionKey": item(p="a"),
        "SizeEstimateRangeGB": [0.0, 1.0],
    }
    plain = protocol.call("PutItem", TableName="plain", Item=item(p="a"), ReturnItemCollectionMetrics="SIZE")
    assert plain == {}


def test_a_collection_does_not_grow_past_its_limit() -> None:
    protocol = Protocol(item_collection_limit_bytes=1000)
    protocol.create("abc", "p:S c:S", {"local1": ("p:S l:S", "KEYS_ONLY")})
    protocol.call("PutItem", TableName="abc", Item=item(p="a", c="1", x=letters(900)))
    too_much = {"TableName": "abc", "Item": item(p="a", c="2", x=letters(200))}
    with pytest.raises(Refused, match="ItemCollectionSizeLimitExceededException"):
        protocol.call("PutItem", **too_much)
    with pytest.raises(Refused, match=r"\[ItemCollectionSizeLimitExceeded\]"):
        protocol.call("TransactWriteItems", TransactItems=[{"Put": too_much}])
    batch = [
        {"PutRequest": {"Item": too_much["Item"]}},
        {"PutRequest": {"Item": item(p="other", c="1")}},
    ]
    answer = protocol.call("BatchWriteItem", RequestItems={"abc": batch})
    assert answer["UnprocessedItems"] == {"abc": batch[:1]}
    assert protocol.call("Scan", TableName="abc", Select="COUNT")["Count"] == 2, "what is unprocessed is not written"
    assert protocol.call("DescribeTable", TableName="abc")["Table"]["ItemCount"] == 2
    protocol.call("PutItem", TableName="abc", Item=item(p="a", c="1"))
    protocol.call("PutItem", **too_much)
