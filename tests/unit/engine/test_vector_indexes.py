"""Vector indexes: how they are defined, what a write may hold, what it costs, how they are made and unmade."""

from __future__ import annotations

from typing import Any

import pytest

from dynamometer.engine.check import check
from tests.unit.engine.tables import IN_USE, INVALID, Body, Tables, index, types, units
from tests.unit.engine.vectors import (
    ATTRIBUTE,
    found,
    refused_search,
    search,
    search_schema,
    vector,
    vector_index,
    vector_of,
    with_index,
    with_schema,
)

BAD = "One or more parameter values were invalid. "
WIDE = "12345678901234567890123456789012345678"
"""20 bytes as a number, 4 as a dimension that is billed."""


@pytest.fixture
def tables() -> Tables:
    return Tables()


def put(tables: Tables, p: str, **item: Body) -> Body:
    """Put an item; the capacity it used."""
    answer = tables.call("PutItem", TableName="abc", Item={"p": {"S": p}} | item, ReturnConsumedCapacity="INDEXES")
    capacity: Body = answer["ConsumedCapacity"]
    return capacity


def written(capacity: Body) -> dict[str, float]:
    """VectorWriteRequestBytes by index."""
    return {name: arm["VectorWriteRequestBytes"] for name, arm in capacity.get("VectorIndexes", {}).items()}


def refused_put(tables: Tables, **item: Body) -> str | None:
    name, message = tables.refused("PutItem", TableName="abc", Item={"p": {"S": "x"}} | item)
    assert name == "ValidationException"
    assert "Item" not in tables.call("GetItem", TableName="abc", Key={"p": {"S": "x"}})
    return message


def update(tables: Tables, p: str, expression: str, **values: Body) -> Body:
    body: Body = {"TableName": "abc", "Key": {"p": {"S": p}}, "UpdateExpression": expression}
    if values:
        body["ExpressionAttributeValues"] = {f":{name}": value for name, value in values.items()}
    return tables.call("UpdateItem", **body)


# --- Definitions -------------------------------------------------------------------------------------------------


def test_new_table_with_a_vector_index_is_described(tables: Tables) -> None:
    description = tables.create(
        AttributeDefinitions=types(p="S", tenant="S", kind="N"),
        VectorIndexes=[
            vector_index(
                SearchSchema=search_schema("kind", "tenant:"),
                Projection={"ProjectionType": "INCLUDE", "NonKeyAttributes": ["title"]},
            )
        ],
    )
    expected = {
        "IndexName": "vix",
        "VectorAttribute": {"AttributeName": ATTRIBUTE},
        "Dimensions": 3,
        "DistanceFunction": "COSINE",
        "Projection": {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["title"]},
        "SearchSchema": search_schema("kind", "tenant:"),
        "IndexStatus": "CREATING",
        "IndexSizeBytes": 0,
        "ItemCount": 0,
        "IndexArn": f"{description['TableArn']}/index/vix",
    }
    assert description["VectorIndexes"] == [expected]
    assert "GlobalSecondaryIndexes" not in description
    assert vector_of(tables) == expected | {"IndexStatus": "ACTIVE"}
    assert tables.describe()["AttributeDefinitions"] == types(kind="N", p="S", tenant="S")


DEFINED = types(p="S", tenant="S", kind="S")


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (
            {"VectorIndexes": [vector_index()], "ProvisionedThroughput": units(1, 1)},
            "Vector indexes are only supported for PAY_PER_REQUEST tables",
        ),
        ({"VectorIndexes": []}, "List of VectorIndexes is empty"),
        (
            {"VectorIndexes": [vector_index(f"vix{number}") for number in range(6)]},
            "VectorIndex count exceeds the per-table limit of 5",
        ),
        (
            {"VectorIndexes": [vector_index(dimensions=4097)]},
            "Number of dimensions must be between 1 and 4096 inclusive.",
        ),
        (
            {"VectorIndexes": [vector_index(SearchSchema=search_schema("tenant:"))]},
            "One element in SearchSchema is not defined in attribute definitions",
        ),
        (
            {
                "VectorIndexes": [vector_index(SearchSchema=search_schema("tenant:", "kind:"))],
                "AttributeDefinitions": DEFINED,
            },
            "Value '2' at 'SearchSchema' failed to satisfy constraint: Member must have HASH count less than or equal "
            "to 1",
        ),
        (
            {
                "VectorIndexes": [vector_index(SearchSchema=search_schema("tenant:", "tenant"))],
                "AttributeDefinitions": types(p="S", tenant="S"),
            },
            "SearchSchema contains a duplicate AttributeName",
        ),
        (
            {"VectorIndexes": [vector_index(), vector_index("vix2", 4)]},
            f"Conflicting attribute definition for '{ATTRIBUTE}'. All VectorIndexes on the same vector attribute must "
            "use the same dimensions.",
        ),
        (
            {"VectorIndexes": [vector_index()], "AttributeDefinitions": types(p="S", embedding="B")},
            f"Conflicting attribute definition for '{ATTRIBUTE}'. An attribute cannot be defined in "
            "AttributeDefinitions when used as a VectorAttribute.",
        ),
        ({"VectorIndexes": [vector_index(), vector_index()]}, "Duplicate index name: vix"),
        (
            {
                "VectorIndexes": [vector_index("gsi")],
                "GlobalSecondaryIndexes": [index("gsi", "q")],
                "AttributeDefinitions": types(p="S", q="S"),
            },
            "Duplicate index name: gsi",
        ),
        (
            {"VectorIndexes": [vector_index(Projection={})]},
            "Unknown ProjectionType: null",
        ),
        (
            {"VectorIndexes": [vector_index(projection="INCLUDE")]},
            "ProjectionType is INCLUDE, but NonKeyAttributes is not specified",
        ),
        (
            {
                "VectorIndexes": [vector_index(SearchSchema=search_schema(*(f"f{number:02}" for number in range(19))))],
                "AttributeDefinitions": types(p="S", **{f"f{number:02}": "S" for number in range(19)}),
            },
            "Value '19' at 'SearchSchema' failed to satisfy constraint: Member must have INLINE_FILTER count less than "
            "or equal to 18",
        ),
    ],
)
def test_vector_indexes_that_can_not_be(tables: Tables, body: Body, message: str) -> None:
    assert tables.refused_table(**body) == INVALID + message


def test_five_indexes_and_4096_dimensions_can_be(tables: Tables) -> None:
    tables.create(VectorIndexes=[vector_index(f"vix{number}", 4096) for number in range(5)])
    assert len(tables.describe()["VectorIndexes"]) == 5


# --- Writes ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (vector(1, 2), f"Invalid size for parameter {ATTRIBUTE}, Expected: 3, Actual: 2 IndexName: vix"),
        (
            {"L": [{"N": "1"}, {"S": "oops"}, {"N": "0"}]},
            f"Invalid type for parameter {ATTRIBUTE}[1], Expected: 32-bit floating point number, Actual: S. "
            "IndexName: vix",
        ),
        (
            {"S": "not-a-vector"},
            f"Invalid type for parameter {ATTRIBUTE}, Expected: 32-bit floating point number list IndexName: vix",
        ),
        (
            vector("1E+39", 0, 0),
            f"Invalid value for parameter {ATTRIBUTE}[0], Value: 1E+39 is outside valid range "
            "[-3.4028235E38, 3.4028235E38]. IndexName: vix",
        ),
        (
            vector(0, 0, "-1.3e40"),
            f"Invalid value for parameter {ATTRIBUTE}[2], Value: -1.3E+40 is outside valid range "
            "[-3.4028235E38, 3.4028235E38]. IndexName: vix",
        ),
    ],
)
def test_wrong_vector_is_refused(tables: Tables, value: Body, message: str) -> None:
    with_index(tables)
    assert refused_put(tables, embedding=value) == BAD + message
    put(tables, "a", embedding=vector(1, 0, 0))
    assert tables.refused(
        "UpdateItem",
        TableName="abc",
        Key={"p": {"S": "a"}},
        UpdateExpression="SET embedding = :v",
        ExpressionAttributeValues={":v": value},
    ) == ("ValidationException", BAD + message)
    assert found(tables, 1, 0, 0) == ["a"]


def test_largest_float_is_a_float(tables: Tables) -> None:
    with_index(tables)
    put(tables, "a", embedding=vector("3.4028235E38", "-3.4028235E38", "1e-45"))


@pytest.mark.parametrize(
    ("item", "message"),
    [
        (
            {"tenant": {"S": ""}},
            "One or more parameter values are not valid. A value specified for a secondary index key is not supported. "
            "The AttributeValue for a key attribute cannot contain an empty string value. IndexName: vix, IndexKey: "
            "tenant",
        ),
        (
            {"tenant": {"N": "7"}},
            f"{BAD}Attribute 'tenant' type mismatch. Expected: S, Actual: N. IndexName: vix",
        ),
        (
            {"kind": {"BOOL": True}},
            f"{BAD}Attribute 'kind' type mismatch. Expected: S, Actual: BOOL. IndexName: vix",
        ),
        (
            {"tenant": {"S": "x" * 2049}},
            f"{INVALID}Aggregate size for HASH key attributes exceeds the maximum of 2048 bytes",
        ),
        (
            {"kind": {"S": "x" * 10241}},
            f"{INVALID}Size limit exceeded for SearchSchema attribute 'kind': maximum 10240 bytes",
        ),
    ],
)
def test_wrong_attribute_of_the_search_schema_is_refused_with_or_without_a_vector(
    tables: Tables, item: Body, message: str
) -> None:
    with_schema(tables)
    assert refused_put(tables, **{"tenant": {"S": "t"}, "embedding": vector(1, 0, 0)} | item) == message
    assert refused_put(tables, **item) == message


def test_batches_and_transactions_refuse_as_a_put_does(tables: Tables) -> None:
    with_index(tables)
    request = {"PutRequest": {"Item": {"p": {"S": "x"}, "embedding": vector(1)}}}
    message = f"{BAD}Invalid size for parameter {ATTRIBUTE}, Expected: 3, Actual: 1 IndexName: vix"
    assert tables.refused("BatchWriteItem", RequestItems={"abc": [request]})[1] == message
    name, _ = tables.refused(
        "TransactWriteItems", TransactItems=[{"Put": {"TableName": "abc", **request["PutRequest"]}}]
    )
    assert name == "TransactionCanceledException"


def test_items_without_vector_or_partition_attribute_are_written_but_not_found(tables: Tables) -> None:
    with_schema(tables)
    put(tables, "all", tenant={"S": "t"}, kind={"S": "k"}, embedding=vector(1, 0, 0))
    put(tables, "no kind", tenant={"S": "t"}, embedding=vector(1, 0, 0))
    put(tables, "no vector", tenant={"S": "t"}, kind={"S": "k"})
    put(tables, "no tenant", kind={"S": "k"}, embedding=vector(1, 0, 0))
    condition = {"SearchConditionExpression": "tenant = :t", "ExpressionAttributeValues": {":t": {"S": "t"}}}
    assert sorted(found(tables, 1, 0, 0, **condition)) == ["all", "no kind"]
    assert vector_of(tables)["ItemCount"] == 2
    assert list(check(tables.store)) == []


def test_entry_follows_its_item(tables: Tables) -> None:
    with_index(tables)
    put(tables, "a", embedding=vector(1, 0, 0))
    assert found(tables, 1, 0, 0) == ["a"]
    put(tables, "b", embedding=vector(0, 1, 0))
    assert found(tables, 0, 1, 0) == ["b", "a"]
    update(tables, "b", "REMOVE embedding")
    assert found(tables, 0, 1, 0) == ["a"]
    update(tables, "b", "SET embedding = :v", v=vector(0, 1, 0))
    update(tables, "a", "SET note = :n", n={"S": "changed"})
    assert [result["Item"] for result in search(tables, 1, 0, 0)] == [
        {"p": {"S": "a"}, "note": {"S": "changed"}},
        {"p": {"S": "b"}},
    ]
    tables.call("DeleteItem", TableName="abc", Key={"p": {"S": "a"}})
    assert found(tables, 0, 1, 0) == ["b"]
    assert list(check(tables.store)) == []
    tables.open()
    assert found(tables, 0, 1, 0) == ["b"]


def test_an_item_that_moves_to_another_part_leaves_the_first(tables: Tables) -> None:
    with_schema(tables)
    condition: Any = {"SearchConditionExpression": "tenant = :t"}
    for tenant, expected in (("one", ["a"]), ("two", [])):
        put(tables, "a", tenant={"S": "one"}, embedding=vector(1, 0, 0))
        values = {":t": {"S": tenant}}
        assert found(tables, 1, 0, 0, **condition, ExpressionAttributeValues=values) == expected
    update(tables, "a", "SET tenant = :t", t={"S": "two"})
    for tenant, expected in (("one", []), ("two", ["a"])):
        values = {":t": {"S": tenant}}
        assert found(tables, 1, 0, 0, **condition, ExpressionAttributeValues=values) == expected


# --- Capacity ----------------------------------------------------------------------------------------------------


def test_a_write_is_charged_by_what_each_index_stores(tables: Tables) -> None:
    tables.create(VectorIndexes=[vector_index("vall"), vector_index("vkeys", projection="KEYS_ONLY")])
    blob = {"S": "y" * 1500}
    capacity = put(tables, "a", embedding=vector(1, 0, 0), blob=blob)
    # p and its value 2, embedding 9 and 12, blob 4 and 1500
    assert written(capacity) == {"vall": 1527.0, "vkeys": 1024.0}
    assert capacity["CapacityUnits"] == capacity["Table"]["CapacityUnits"] == 2.0
    assert written(put(tables, "a", embedding=vector(1, 0, 0), blob=blob)) == {}
    assert written(put(tables, "a", embedding=vector(1, 0, 0), blob={"S": "z" * 1500})) == {"vall": 1527.0}
    assert written(put(tables, "a", embedding=vector(0, 1, 0), blob={"S": "z" * 1000})) == {
        "vall": 1527.0,
        "vkeys": 1024.0,
    }
    assert written(put(tables, "b", note={"S": "no vector"})) == {}
    deleted = tables.call("DeleteItem", TableName="abc", Key={"p": {"S": "a"}}, ReturnConsumedCapacity="INDEXES")
    assert written(deleted["ConsumedCapacity"]) == {"vall": 1027.0, "vkeys": 1024.0}


def test_total_capacity_says_nothing_of_vector_indexes(tables: Tables) -> None:
    with_index(tables)
    answer = tables.call(
        "PutItem",
        TableName="abc",
        Item={"p": {"S": "a"}, "embedding": vector(1, 0, 0)},
        ReturnConsumedCapacity="TOTAL",
    )
    assert answer["ConsumedCapacity"] == {"TableName": "abc", "CapacityUnits": 1.0}


def test_batches_add_up_and_transactions_do_not_double(tables: Tables) -> None:
    with_index(tables)
    items = [{"p": {"S": p}, "embedding": vector(1, 0, 0)} for p in "ab"]
    batch = tables.call(
        "BatchWriteItem",
        RequestItems={"abc": [{"PutRequest": {"Item": item}} for item in items]},
        ReturnConsumedCapacity="INDEXES",
    )
    assert written(batch["ConsumedCapacity"][0]) == {"vix": 2048.0}
    transaction = tables.call(
        "TransactWriteItems",
        TransactItems=[{"Put": {"TableName": "abc", "Item": items[0] | {"p": {"S": "c"}}}}],
        ReturnConsumedCapacity="INDEXES",
    )
    assert written(transaction["ConsumedCapacity"][0]) == {"vix": 1024.0}
    assert transaction["ConsumedCapacity"][0]["CapacityUnits"] == 2.0


@pytest.mark.parametrize("dimensions", [3, 6])
def test_a_vector_is_billed_four_bytes_a_dimension_whatever_its_numbers(tables: Tables, dimensions: int) -> None:
    with_index(tables, dimensions=dimensions)
    fixed = len("p" + "aa" + ATTRIBUTE + "pad") + 4 * dimensions
    for size, expected in ((1024, 1.0), (1025, 2.0)):
        item = {"embedding": vector(*[WIDE] * dimensions), "pad": {"S": "x" * (size - fixed)}}
        assert put(tables, "aa", **item)["CapacityUnits"] == expected
        tables.call("DeleteItem", TableName="abc", Key={"p": {"S": "aa"}})


def test_reads_and_the_size_limit_count_the_numbers(tables: Tables) -> None:
    with_index(tables, dimensions=6)
    numbers = 3 + 6 * 21
    fixed = len("p" + "aa" + ATTRIBUTE + "pad")
    item = {"p": {"S": "aa"}, "embedding": vector(*[WIDE] * 6)}
    tables.put(**item, pad={"S": "x" * (4096 - fixed - 24)})
    read = tables.call(
        "GetItem", TableName="abc", Key={"p": {"S": "aa"}}, ConsistentRead=True, ReturnConsumedCapacity="TOTAL"
    )
    assert read["ConsumedCapacity"]["CapacityUnits"] == 2.0
    pad = 409_600 - fixed - numbers
    tables.put(**item, pad={"S": "x" * pad})
    assert tables.refused("PutItem", TableName="abc", Item=item | {"pad": {"S": "x" * (pad + 1)}}) == (
        "ValidationException",
        "Item size has exceeded the maximum allowed size",
    )


# --- Other operations --------------------------------------------------------------------------------------------


def test_query_and_scan_do_not_read_vector_indexes(tables: Tables) -> None:
    with_index(tables)
    query = {
        "TableName": "abc",
        "IndexName": "vix",
        "KeyConditionExpression": "p = :p",
        "ExpressionAttributeValues": {":p": {"S": "a"}},
    }
    strong = "Consistent reads are not supported on global secondary indexes"
    scan = "Scan operation not supported on this index type"
    assert tables.refused("Query", **query)[1] == "Query operation not supported on this index type."
    assert tables.refused("Query", **query, ConsistentRead=True)[1] == strong
    assert tables.refused("Scan", TableName="abc", IndexName="vix")[1] == scan
    assert tables.refused("Scan", TableName="abc", IndexName="vix", ConsistentRead=True)[1] == scan
    for where in ("", " WHERE p = 'a'"):
        assert tables.refused("ExecuteStatement", Statement=f'SELECT * FROM "abc"."vix"{where}')[1] == scan


def test_statements_write_vectors(tables: Tables) -> None:
    with_index(tables)
    tables.call("ExecuteStatement", Statement="INSERT INTO abc VALUE {'p': 'a', 'embedding': [1, 0, 0]}")
    assert found(tables, 1, 0, 0) == ["a"]
    message = f"{BAD}Invalid size for parameter {ATTRIBUTE}, Expected: 3, Actual: 2 IndexName: vix"
    for statement in (
        "INSERT INTO abc VALUE {'p': 'b', 'embedding': [1, 0]}",
        "UPDATE abc SET embedding = [1, 0] WHERE p = 'a'",
    ):
        assert tables.refused("ExecuteStatement", Statement=statement) == ("ValidationException", message)


def test_vector_index_stays_with_on_demand_capacity(tables: Tables) -> None:
    with_index(tables)
    assert tables.refused_update(BillingMode="PROVISIONED", ProvisionedThroughput=units(1, 1)) == (
        "ValidationException",
        INVALID + "Vector indexes are only supported for PAY_PER_REQUEST tables",
    )


# --- Making and unmaking -----------------------------------------------------------------------------------------


def creating(name: str = "vix", **more: Any) -> list[Body]:
    return [{"Create": vector_index(name, **more)}]


def test_index_of_a_table_that_has_items(tables: Tables) -> None:
    tables.create()
    put(tables, "good", embedding=vector(1, 0, 0))
    put(tables, "short", embedding=vector(1, 0))
    put(tables, "word", embedding={"S": "x"})
    put(tables, "none")
    tables.update(VectorIndexUpdates=creating())
    assert refused_search(tables, 1, 0, 0) == "Cannot search backfilling vector index: vix"
    put(tables, "late", embedding=vector(0, 1, 0))
    tables.engine.run_jobs()
    assert found(tables, 1, 0, 0) == ["good", "late"]
    assert vector_of(tables)["ItemCount"] == 2
    assert list(check(tables.store)) == []


def test_item_that_was_left_out_can_be_changed_elsewhere(tables: Tables) -> None:
    tables.create()
    put(tables, "short", embedding=vector(1, 0))
    tables.update(VectorIndexUpdates=creating())
    tables.engine.run_jobs()
    update(tables, "short", "SET note = :n", n={"S": "fine"})
    assert found(tables, 1, 0, 0) == []
    size = f"{BAD}Invalid size for parameter {ATTRIBUTE}, Expected: 3, Actual: 2 IndexName: vix"
    assert tables.refused("PutItem", TableName="abc", Item={"p": {"S": "short"}, "embedding": vector(1, 0)})[1] == size
    update(tables, "short", "SET embedding = :v", v=vector(1, 0, 0))
    assert found(tables, 1, 0, 0) == ["short"]
    assert list(check(tables.store)) == []


def test_life_of_an_index() -> None:
    tables = Tables(transition_seconds=10)
    tables.create()
    tables.clock.advance(10)
    put(tables, "a", embedding=vector(1, 0, 0))
    assert tables.update(VectorIndexUpdates=creating())["TableStatus"] == "UPDATING"
    backfilling = "Cannot search backfilling vector index: vix"

    allocating = vector_of(tables)
    assert (allocating["IndexStatus"], allocating["Backfilling"]) == ("CREATING", False)
    assert refused_search(tables, 1, 0, 0) == backfilling
    assert tables.refused_update(VectorIndexUpdates=[{"Delete": {"IndexName": "vix"}}]) == (
        "ResourceInUseException",
        f"{IN_USE}Index creation is in resource allocation phase. Retry deletion during backfilling phase or when the "
        "index is active. Table: abc Index: vix",
    )
    one_at_a_time = (
        "LimitExceededException",
        "Subscriber limit exceeded: Only 1 online index can be created or deleted simultaneously per table",
    )
    assert tables.refused_update(VectorIndexUpdates=creating("vix2")) == one_at_a_time

    tables.clock.advance(10)
    filling = vector_of(tables)
    assert tables.describe()["TableStatus"] == "ACTIVE"
    assert (filling["IndexStatus"], filling["Backfilling"]) == ("CREATING", True)
    assert refused_search(tables, 1, 0, 0) == backfilling
    assert tables.refused("DeleteTable", TableName="abc") == (
        "ResourceInUseException",
        f"{IN_USE}Cannot delete table while indexes are being created, updated, or deleted.",
    )

    tables.engine.run_jobs()
    active = vector_of(tables)
    assert active["IndexStatus"] == "ACTIVE"
    assert "Backfilling" not in active
    assert found(tables, 1, 0, 0) == ["a"]
    assert tables.refused_update(VectorIndexUpdates=creating("vix2") + creating("vix3")) == one_at_a_time

    tables.update(VectorIndexUpdates=[{"Delete": {"IndexName": "vix"}}])
    assert vector_of(tables)["IndexStatus"] == "DELETING"
    assert refused_search(tables, 1, 0, 0) == "The table does not have the specified index: vix"
    tables.clock.advance(10)
    assert "VectorIndexes" not in tables.describe()
    assert list(check(tables.store)) == []
    tables.delete()


def test_backfill_goes_on_after_a_restart(tables: Tables) -> None:
    tables.create()
    for number in range(450):
        put(tables, f"{number:03}", embedding=vector(number + 1, 1, 0))
    tables.update(VectorIndexUpdates=creating())
    tables.engine.run_jobs()
    tables.open()
    assert refused_search(tables, 1, 0, 0) == "Cannot search backfilling vector index: vix"
    while tables.engine.run_jobs():
        pass
    assert found(tables, 1, 0, 0, TopK=2) == ["449", "448"]
    assert list(check(tables.store)) == []


@pytest.mark.parametrize(
    ("updates", "error"),
    [
        ([], ("ValidationException", INVALID + "List of VectorIndexUpdates is empty")),
        (
            [{}],
            (
                "ValidationException",
                INVALID + "One of VectorIndexUpdate.Create, VectorIndexUpdate.Delete must not be null",
            ),
        ),
        (creating(), ("ValidationException", "Attempting to create an index which already exists")),
        (
            creating("vix2", dimensions=4),
            (
                "ValidationException",
                f"{INVALID}Conflicting attribute definition for '{ATTRIBUTE}'. All VectorIndexes on the same vector "
                "attribute must use the same dimensions.",
            ),
        ),
        (
            creating("vix2", SearchSchema=search_schema("p:")),
            ("ValidationException", f"{INVALID}One element in SearchSchema is not defined in attribute definitions"),
        ),
        (
            [{"Delete": {"IndexName": "nope"}}],
            ("ResourceNotFoundException", "Requested resource not found: Index nope for table abc"),
        ),
        (
            [{"Delete": {"IndexName": "gsi"}}],
            ("ValidationException", "Cannot delete an index that is not a VectorIndex: gsi"),
        ),
    ],
)
def test_updates_that_can_not_be(tables: Tables, updates: list[Body], error: tuple[str, str]) -> None:
    tables.create(
        AttributeDefinitions=types(p="S", q="S"),
        GlobalSecondaryIndexes=[index("gsi", "q")],
        VectorIndexes=[vector_index()],
    )
    assert tables.refused_update(VectorIndexUpdates=updates) == error


def test_a_vector_index_is_no_global_secondary_index(tables: Tables) -> None:
    with_index(tables)
    assert tables.refused_update(GlobalSecondaryIndexUpdates=[{"Delete": {"IndexName": "vix"}}]) == (
        "ValidationException",
        "Cannot delete an index that is not a GlobalSecondaryIndex: vix",
    )
    assert tables.refused_update(
        AttributeDefinitions=types(embedding="S"),
        GlobalSecondaryIndexUpdates=[{"Create": index("gsi", "embedding")}],
    ) == (
        "ValidationException",
        f"{INVALID}Conflicting attribute definition for '{ATTRIBUTE}'. An attribute cannot be defined in "
        "AttributeDefinitions when used as a VectorAttribute.",
    )


def test_definitions_come_and_go_with_the_search_schema(tables: Tables) -> None:
    tables.create()
    tables.update(
        AttributeDefinitions=types(tenant="S"), VectorIndexUpdates=creating(SearchSchema=search_schema("tenant:"))
    )
    tables.engine.run_jobs()
    assert tables.describe()["AttributeDefinitions"] == types(p="S", tenant="S")
    tables.update(VectorIndexUpdates=[{"Delete": {"IndexName": "vix"}}])
    assert tables.describe()["AttributeDefinitions"] == types(p="S")
