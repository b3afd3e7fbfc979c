"""CreateTable, DescribeTable, DeleteTable, ListTables and the small operations around them."""

from __future__ import annotations

import re
from typing import Any

import pytest

from dynamometer.base.config import Settings
from dynamometer.engine.check import check
from dynamometer.engine.engine import Engine
from dynamometer.engine.keyspace import successor
from tests.unit.engine.tables import ACCOUNT, IN_USE, INVALID, REGION, Body, Tables, index, key, types, units

ARN = f"arn:aws:dynamodb:{REGION}:{ACCOUNT}:table/abc"


@pytest.fixture
def tables() -> Tables:
    return Tables()


def test_create_says_creating_and_the_next_look_says_active(tables: Tables) -> None:
    created = tables.create()
    assert created["TableStatus"] == "CREATING"
    assert created["BillingModeSummary"] == {"BillingMode": "PAY_PER_REQUEST"}
    assert "WarmThroughput" not in created
    described = tables.describe()
    assert described["TableStatus"] == "ACTIVE"
    assert described["BillingModeSummary"] == {
        "BillingMode": "PAY_PER_REQUEST",
        "LastUpdateToPayPerRequestDateTime": described["CreationDateTime"],
    }
    assert described["WarmThroughput"] == {
        "ReadUnitsPerSecond": 12000,
        "WriteUnitsPerSecond": 4000,
        "Status": "ACTIVE",
    }


def test_the_whole_description_of_a_provisioned_table_with_indexes(tables: Tables) -> None:
    tables.create(
        KeySchema=key("p", "s"),
        AttributeDefinitions=types(s="N", p="S", x="B"),
        ProvisionedThroughput=units(5, 6),
        LocalSecondaryIndexes=[index("local", "p", "x", Projection={"ProjectionType": "KEYS_ONLY"})],
        GlobalSecondaryIndexes=[
            index(
                "global",
                "x",
                Projection={"ProjectionType": "INCLUDE", "NonKeyAttributes": ["b", "a"]},
                ProvisionedThroughput=units(1, 2),
            )
        ],
        DeletionProtectionEnabled=True,
        TableClass="STANDARD_INFREQUENT_ACCESS",
        SSESpecification={"Enabled": True, "SSEType": "KMS", "KMSMasterKeyId": "some-key"},
        StreamSpecification={"StreamEnabled": True, "StreamViewType": "NEW_IMAGE"},
    )
    described = tables.describe()
    assert re.fullmatch("[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}", described.pop("TableId"))
    assert described == {
        "AttributeDefinitions": types(p="S", s="N", x="B"),
        "TableName": "abc",
        "KeySchema": key("p", "s"),
        "TableStatus": "ACTIVE",
        "CreationDateTime": 1_700_000_000.0,
        "ProvisionedThroughput": {"NumberOfDecreasesToday": 0, **units(5, 6)},
        "TableSizeBytes": 0,
        "ItemCount": 0,
        "TableArn": ARN,
        "LocalSecondaryIndexes": [
            {
                "IndexName": "local",
                "KeySchema": key("p", "x"),
                "Projection": {"ProjectionType": "KEYS_ONLY"},
                "IndexSizeBytes": 0,
                "ItemCount": 0,
                "IndexArn": f"{ARN}/index/local",
            }
        ],
        "GlobalSecondaryIndexes": [
            {
                "IndexName": "global",
                "KeySchema": key("x"),
                "Projection": {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["a", "b"]},
                "IndexStatus": "ACTIVE",
                "ProvisionedThroughput": {"NumberOfDecreasesToday": 0, **units(1, 2)},
                "WarmThroughput": {"ReadUnitsPerSecond": 1, "WriteUnitsPerSecond": 2, "Status": "ACTIVE"},
                "IndexSizeBytes": 0,
                "ItemCount": 0,
                "IndexArn": f"{ARN}/index/global",
            }
        ],
        "StreamSpecification": {"StreamEnabled": True, "StreamViewType": "NEW_IMAGE"},
        "LatestStreamLabel": "2023-11-14T22:13:20.000",
        "LatestStreamArn": f"{ARN}/stream/2023-11-14T22:13:20.000",
        "SSEDescription": {
            "Status": "ENABLED",
            "SSEType": "KMS",
            "KMSMasterKeyArn": f"arn:aws:kms:{REGION}:{ACCOUNT}:key/some-key",
        },
        "TableClassSummary": {"TableClass": "STANDARD_INFREQUENT_ACCESS"},
        "DeletionProtectionEnabled": True,
        "WarmThroughput": {"ReadUnitsPerSecond": 5, "WriteUnitsPerSecond": 6, "Status": "ACTIVE"},
    }


def test_counts_and_sizes_are_alive(tables: Tables) -> None:
    tables.create(AttributeDefinitions=types(p="S", x="S"), GlobalSecondaryIndexes=[index("gsi", "x")])
    tables.describe()
    tables.put(p={"S": "a"}, x={"S": "b"})
    tables.put(p={"S": "c"})
    described = tables.describe()
    assert (described["ItemCount"], described["TableSizeBytes"]) == (2, 6)
    assert (tables.global_index("gsi")["ItemCount"], tables.global_index("gsi")["IndexSizeBytes"]) == (1, 4)


def test_a_global_index_may_have_many_key_attributes(tables: Tables) -> None:
    names = ["a:HASH", "b:HASH", "c:HASH", "d:HASH", "e", "f", "g", "h"]
    kinds = types(p="S", **dict.fromkeys("abcdefgh", "S"))
    tables.create(AttributeDefinitions=kinds, GlobalSecondaryIndexes=[index("gsi", *names)])
    assert tables.global_index("gsi")["KeySchema"] == key(*names)


def test_a_table_that_exists_is_told_by_its_state() -> None:
    tables = Tables(transition_seconds=5)
    tables.create()
    again = {"TableName": "abc", "KeySchema": key("p"), "AttributeDefinitions": types(p="S")}
    again |= {"BillingMode": "PAY_PER_REQUEST"}
    assert tables.refused("CreateTable", **again) == ("ResourceInUseException", f"{IN_USE}Table is being created: abc")
    tables.clock.advance(5)
    assert tables.refused("CreateTable", **again) == ("ResourceInUseException", "Table already exists: abc")


def test_states_last_as_long_as_the_setting_says() -> None:
    tables = Tables(transition_seconds=10)
    tables.create()
    assert tables.describe()["TableStatus"] == "CREATING"
    assert tables.refused("GetItem", TableName="abc", Key={"p": {"S": "a"}}) == (
        "ResourceNotFoundException",
        "Requested resource not found",
    )
    tables.clock.advance(9.9)
    assert tables.describe()["TableStatus"] == "CREATING"
    assert tables.refused("DeleteTable", TableName="abc")[1] == f"{IN_USE}Table is being created: abc"
    tables.clock.advance(0.1)
    assert tables.call("GetItem", TableName="abc", Key={"p": {"S": "a"}}) == {}
    tables.delete()
    assert tables.describe()["TableStatus"] == "DELETING"
    assert tables.refused("DeleteTable", TableName="abc")[1] == f"{IN_USE}Table is being deleted: abc"
    assert tables.refused("PutItem", TableName="abc", Item={"p": {"S": "a"}})[0] == "ResourceNotFoundException"
    tables.clock.advance(10)
    assert tables.call("ListTables") == {"TableNames": []}


INCLUDE = {"ProjectionType": "INCLUDE"}
NO_DEFINITION = "Invalid KeySchema: Some index key attribute have no definition"


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"KeySchema": key("p", "p")}, NO_DEFINITION),
        ({"KeySchema": key("p", "s")}, NO_DEFINITION),
        ({"KeySchema": key("p", "s"), "AttributeDefinitions": types(p="S", x="S")}, NO_DEFINITION),
        ({"AttributeDefinitions": []}, NO_DEFINITION),
        (
            {"AttributeDefinitions": types(q="S")},
            f"{INVALID}Some index key attributes are not defined in AttributeDefinitions. "
            "Keys: [p], AttributeDefinitions: [q]",
        ),
        (
            {"KeySchema": key("p", "p"), "AttributeDefinitions": types(p="S", x="S")},
            "Both the Hash Key and the Range Key element in the KeySchema have the same name",
        ),
        ({"KeySchema": key("p:RANGE")}, "Invalid KeySchema: The first KeySchemaElement is not a HASH key type"),
        (
            {"KeySchema": key("p", "s:HASH"), "AttributeDefinitions": types(p="S", s="S")},
            "Invalid KeySchema: The second KeySchemaElement is not a RANGE key type",
        ),
        (
            {"AttributeDefinitions": types(p="S", x="S")},
            f"{INVALID}Number of attributes in KeySchema does not exactly match number of attributes defined in "
            "AttributeDefinitions",
        ),
        (
            {"AttributeDefinitions": types(p="S", x="S", y="S"), "GlobalSecondaryIndexes": [index("gsi", "x")]},
            f"{INVALID}Some AttributeDefinitions are not used. AttributeDefinitions: [p, x, y], keys used: [p, x]",
        ),
        ({"AttributeDefinitions": types(p="S") * 2}, "Attribute Name is duplicated: p"),
        (
            {"BillingMode": "PROVISIONED"},
            f"{INVALID}ReadCapacityUnits and WriteCapacityUnits must both be specified when BillingMode is PROVISIONED",
        ),
        (
            {"BillingMode": "PAY_PER_REQUEST", "ProvisionedThroughput": units(1, 1)},
            f"{INVALID}Neither ReadCapacityUnits nor WriteCapacityUnits can be specified when BillingMode is "
            "PAY_PER_REQUEST",
        ),
        (
            {"ProvisionedThroughput": units(1_000_000_000_001, 1)},
            "Given value 1000000000001 for ReadCapacityUnits is out of bounds",
        ),
        (
            {"ProvisionedThroughput": units(1, 1), "OnDemandThroughput": {"MaxReadRequestUnits": 1}},
            f"{INVALID}MaxReadRequestUnits for OnDemandThroughput cannot be specified when table BillingMode is "
            "PROVISIONED.",
        ),
        (
            {"OnDemandThroughput": {"MaxWriteRequestUnits": 0}},
            f"{INVALID}Requested MaxWriteRequestUnits for OnDemandThroughput for table is outside of valid range",
        ),
        (
            {"ProvisionedThroughput": units(10, 10), "WarmThroughput": {"ReadUnitsPerSecond": 5}},
            f"{INVALID}Requested ReadUnitsPerSecond for WarmThroughput for table is lower than ReadCapacityUnits of "
            "ProvisionedThroughput",
        ),
        ({"GlobalSecondaryIndexes": []}, f"{INVALID}List of GlobalSecondaryIndexes is empty"),
        ({"LocalSecondaryIndexes": []}, f"{INVALID}List of LocalSecondaryIndexes is empty"),
        (
            {"StreamSpecification": {"StreamEnabled": True}},
            f"{INVALID}Table is being created with a stream enabled, UpdateViewType is required",
        ),
        (
            {"StreamSpecification": {"StreamEnabled": False, "StreamViewType": "NEW_IMAGE"}},
            f"{INVALID}Table is being created with a stream disabled, UpdateViewType should not be specified",
        ),
        (
            {"SSESpecification": {"Enabled": False, "SSEType": "KMS"}},
            f"{INVALID}SSEType can not be specified if Enabled is false",
        ),
        (
            {"TableClass": "COLD"},
            "Invalid table-class parameter provided. Please try again with a valid table-class value: "
            "[STANDARD, STANDARD_INFREQUENT_ACCESS].",
        ),
        (
            {"Tags": [{"Key": str(number), "Value": ""} for number in range(51)]},
            "Number of Tags exceed the current limit for the provided ResourceArn",
        ),
        ({"VectorIndexes": []}, INVALID + "List of VectorIndexes is empty"),
    ],
)
def test_tables_that_can_not_be(tables: Tables, body: Body, message: str) -> None:
    assert tables.refused_table(**body) == message


def test_more_than_an_account_may_provision(tables: Tables) -> None:
    body: Body = {"TableName": "abc", "KeySchema": key("p"), "AttributeDefinitions": types(p="S")}
    error = tables.refused("CreateTable", **body, ProvisionedThroughput=units(40_001, 1))
    assert error[0] == "LimitExceededException"
    assert (error[1] or "").startswith(
        "The requested ReadCapacityUnits, 40001, is above the per table maximum for the account in us-east-1. "
    )


@pytest.mark.parametrize(
    ("indexes", "message"),
    [
        (
            [index("gsi", "q")],
            f"{INVALID}Some index key attributes are not defined in AttributeDefinitions. "
            "Keys: [q], AttributeDefinitions: [p, x]",
        ),
        (
            [index("gsi", "p", "p")],
            "Both the Hash Key and the Range Key element in the KeySchema have the same name",
        ),
        ([index("gsi", "x:RANGE")], "Invalid KeySchema: The first KeySchemaElement is not a HASH key type"),
        (
            [index("gsi", "x", "x")],
            "Both the Hash Key and the Range Key element in the KeySchema have the same name",
        ),
        (
            [index("gsi", "x", "p:HASH", "x")],
            "The KeySchema contains multiple key attributes with the same name",
        ),
        ([index("gsi", "x", Projection={})], f"{INVALID}Unknown ProjectionType: null"),
        (
            [index("gsi", "x", Projection=INCLUDE)],
            f"{INVALID}ProjectionType is INCLUDE, but NonKeyAttributes is not specified",
        ),
        (
            [index("gsi", "x", Projection={"ProjectionType": "ALL", "NonKeyAttributes": ["a"]})],
            f"{INVALID}ProjectionType is ALL, but NonKeyAttributes is specified",
        ),
        (
            [index("gsi", "x", Projection=INCLUDE | {"NonKeyAttributes": ["a", "b", "a"]})],
            f"{INVALID}Duplicate element in NonKeyAttributes: a",
        ),
        (
            [index("gsi", "x", ProvisionedThroughput=units(1, 1))],
            f"{INVALID}ProvisionedThroughput should not be specified for index: gsi when BillingMode is "
            "PAY_PER_REQUEST",
        ),
        ([index("gsi", "x"), index("gsi", "x")], f"{INVALID}Duplicate index name: gsi"),
        (
            [index(f"gsi{number}", "x") for number in range(21)],
            f"{INVALID}GlobalSecondaryIndex count exceeds the per-table limit of 20",
        ),
        (
            [index("gsi", "x", OnDemandThroughput={"MaxReadRequestUnits": -1})],
            f"{INVALID}Requested MaxReadRequestUnits for OnDemandThroughput for index : gsi is outside of valid range",
        ),
        (
            [
                index(
                    f"gsi{number}",
                    "x",
                    Projection=INCLUDE | {"NonKeyAttributes": [f"a{each}" for each in range(20)]},
                )
                for number in range(6)
            ],
            f"{INVALID}Number of attributes projected into all indexes exceeds the per-table limit of 100",
        ),
    ],
)
def test_global_indexes_that_can_not_be(tables: Tables, indexes: list[Body], message: str) -> None:
    kinds = types(p="S", x="S")
    assert tables.refused_table(AttributeDefinitions=kinds, GlobalSecondaryIndexes=indexes) == message


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["a", "b", "c:HASH"], "All HASH key attributes must precede RANGE key attributes in the KeySchema"),
        (
            ["a:HASH", "b:HASH", "c:HASH", "d:HASH", "e:HASH"],
            "The KeySchema exceeds the maximum allowed number of HASH key attributes",
        ),
        (
            ["a", "b", "c", "d", "e", "f"],
            "The KeySchema exceeds the maximum allowed number of RANGE key attributes",
        ),
    ],
)
def test_too_many_or_mixed_key_attributes(tables: Tables, names: list[str], message: str) -> None:
    kinds = types(p="S", **{name[0]: "S" for name in names})
    indexes = [index("gsi", *names)]
    assert tables.refused_table(AttributeDefinitions=kinds, GlobalSecondaryIndexes=indexes) == INVALID + message


def test_a_provisioned_table_wants_throughput_for_its_indexes(tables: Tables) -> None:
    message = tables.refused_table(
        AttributeDefinitions=types(p="S", x="S"),
        ProvisionedThroughput=units(1, 1),
        GlobalSecondaryIndexes=[index("gsi", "x")],
    )
    assert message == f"{INVALID}ProvisionedThroughput is not specified for index: gsi"


@pytest.mark.parametrize(
    ("indexes", "message"),
    [
        (
            [index("lsi", "x", "p")],
            f"{INVALID}Index KeySchema does not have the same leading hash key as table KeySchema for index: lsi. "
            "index hash key: x, table hash key: p",
        ),
        ([index("lsi", "p")], f"{INVALID}Index KeySchema does not have a range key for index: lsi"),
        ([index("lsi", "p", "x"), index("lsi", "p", "x")], f"{INVALID}Duplicate index name: lsi"),
        (
            [index(f"lsi{number}", "p", "x") for number in range(6)],
            f"{INVALID}Number of LocalSecondaryIndexes exceeds per-table limit of 5",
        ),
    ],
)
def test_local_indexes_that_can_not_be(tables: Tables, indexes: list[Body], message: str) -> None:
    kinds = types(p="S", s="S", x="S")
    if len(indexes[0]["KeySchema"]) == 1:
        kinds = types(p="S", s="S")
    body = {"KeySchema": key("p", "s"), "AttributeDefinitions": kinds, "LocalSecondaryIndexes": indexes}
    assert tables.refused_table(**body) == message


def test_a_local_index_needs_a_table_with_a_sort_key(tables: Tables) -> None:
    body = {"AttributeDefinitions": types(p="S", x="S"), "LocalSecondaryIndexes": [index("lsi", "p", "x")]}
    assert tables.refused_table(**body) == (
        f"{INVALID}Table KeySchema does not have a range key, which is required when specifying a LocalSecondaryIndex"
    )


def test_a_local_and_a_global_index_may_not_share_a_name(tables: Tables) -> None:
    message = tables.refused_table(
        KeySchema=key("p", "s"),
        AttributeDefinitions=types(p="S", s="S", x="S"),
        LocalSecondaryIndexes=[index("one", "p", "x")],
        GlobalSecondaryIndexes=[index("one", "x")],
    )
    assert message == f"{INVALID}Duplicate index name: one"


def test_unknown_tables(tables: Tables) -> None:
    missing = ("ResourceNotFoundException", "Requested resource not found: Table: abc not found")
    for operation in ("DescribeTable", "DeleteTable", "DescribeTimeToLive"):
        assert tables.refused(operation, TableName="abc") == missing
    assert tables.refused("UpdateTable", TableName="abc", BillingMode="PAY_PER_REQUEST") == missing
    assert tables.refused("DescribeContinuousBackups", TableName="abc") == (
        "TableNotFoundException",
        "Table not found: abc",
    )
    assert tables.refused("GetItem", TableName="abc", Key={"p": {"S": "a"}}) == (
        "ResourceNotFoundException",
        "Requested resource not found",
    )


def test_an_arn_stands_for_a_name(tables: Tables) -> None:
    tables.create(ARN)
    assert tables.describe(ARN)["TableName"] == "abc"
    tables.call("PutItem", TableName=ARN, Item={"p": {"S": "a"}})
    assert tables.describe()["ItemCount"] == 1
    far = ARN.replace(REGION, "eu-west-1")
    assert tables.refused("DescribeTable", TableName=far)[1] == (
        f"1 validation error detected: Invalid AWS region in '{far}'"
    )
    other = ARN.replace(ACCOUNT, "000000000000")
    assert tables.refused("DescribeTable", TableName=other)[0] == "ResourceNotFoundException"
    assert tables.refused("DescribeTable", TableName=f"{ARN}/index/gsi")[0] == "ValidationException"


def test_delete_answers_little_and_leaves_nothing(tables: Tables) -> None:
    tables.create(
        KeySchema=key("p", "s"),
        AttributeDefinitions=types(p="S", s="S", x="S"),
        LocalSecondaryIndexes=[index("lsi", "p", "x")],
        GlobalSecondaryIndexes=[index("gsi", "x")],
    )
    tables.put(p={"S": "a"}, s={"S": "b"}, x={"S": "c"})
    deleted = tables.delete()
    assert deleted["TableStatus"] == "DELETING"
    assert deleted["BillingModeSummary"]["LastUpdateToPayPerRequestDateTime"]
    assert not deleted.keys() & {"CreationDateTime", "KeySchema", "AttributeDefinitions", "GlobalSecondaryIndexes"}
    assert list(tables.store.range(b"\x01", b"\xff")) == []


def test_a_table_of_the_same_name_is_a_new_one(tables: Tables) -> None:
    first = tables.create()
    tables.put(p={"S": "a"})
    tables.delete()
    second = tables.create()
    assert second["TableId"] != first["TableId"]
    assert tables.describe()["ItemCount"] == 0


def test_a_protected_table_stays(tables: Tables) -> None:
    tables.create(DeletionProtectionEnabled=True)
    assert tables.refused("DeleteTable", TableName="abc") == (
        "ValidationException",
        "Resource cannot be deleted as it is currently protected against deletion. Disable deletion protection first.",
    )
    tables.update(DeletionProtectionEnabled=False)
    tables.delete()


def test_list_tables_in_pages(tables: Tables) -> None:
    for name in ("bcd", "abc", "Zed"):
        tables.create(name)
    assert tables.call("ListTables") == {"TableNames": ["Zed", "abc", "bcd"]}
    assert tables.call("ListTables", Limit=2) == {
        "TableNames": ["Zed", "abc"],
        "LastEvaluatedTableName": "abc",
    }
    assert tables.call("ListTables", Limit=2, ExclusiveStartTableName="abc") == {"TableNames": ["bcd"]}
    assert tables.call("ListTables", ExclusiveStartTableName="aaa") == {"TableNames": ["abc", "bcd"]}
    assert tables.call("ListTables", ExclusiveStartTableName="zzz") == {"TableNames": []}


def test_worlds_are_apart_unless_they_are_shared() -> None:
    tables = Tables()
    tables.create()
    assert tables.engine.world(ACCOUNT, "eu-west-1").tables == {}
    assert tables.engine.world("000000000000", REGION).tables == {}
    shared = Tables(shared_world=True)
    shared.create()
    assert "abc" in shared.engine.world("1", "eu-west-1").tables


def test_a_world_is_kept_while_it_is_used_or_has_tables() -> None:
    tables = Tables()
    tables.create()
    engine = tables.engine
    used = engine.world("1", REGION)
    assert engine.world("1", REGION) is used
    assert engine.world(ACCOUNT, REGION) is engine.world(ACCOUNT, REGION)
    assert [(world.account, world.region) for world in engine.catalog.worlds()] == [(ACCOUNT, REGION)]
    for number in range(10_000):
        engine.world(f"{number:012}", REGION)
    assert len(engine.catalog._worlds) == 2
    tables.call("DeleteTable", TableName="abc")
    tables.call("ListTables")
    assert engine.catalog.worlds() == []


def test_everything_is_there_after_a_restart(tables: Tables) -> None:
    tables.create(
        AttributeDefinitions=types(p="S", x="S"),
        ProvisionedThroughput=units(5, 5),
        GlobalSecondaryIndexes=[index("gsi", "x", ProvisionedThroughput=units(1, 1))],
        Tags=[{"Key": "a", "Value": "b"}],
        StreamSpecification={"StreamEnabled": True, "StreamViewType": "NEW_IMAGE"},
    )
    tables.put(p={"S": "a"}, x={"S": "b"})
    before = tables.describe()
    tables.open()
    assert tables.describe() == before
    assert tables.call("ListTagsOfResource", ResourceArn=ARN) == {"Tags": [{"Key": "a", "Value": "b"}]}


def test_a_deletion_that_was_interrupted_is_finished_after_a_restart() -> None:
    tables = Tables(transition_seconds=10)
    tables.create()
    tables.clock.advance(10)
    tables.put(p={"S": "a"})
    tables.delete()
    tables.clock.advance(10)
    tables.open()
    assert tables.call("ListTables") == {"TableNames": []}
    assert list(tables.store.range(b"\x01", b"\xff")) == []


def test_small_answers(tables: Tables) -> None:
    assert tables.call("DescribeLimits") == {
        "AccountMaxReadCapacityUnits": 80000,
        "AccountMaxWriteCapacityUnits": 80000,
        "TableMaxReadCapacityUnits": 40000,
        "TableMaxWriteCapacityUnits": 40000,
    }
    tables.create()
    assert tables.call("DescribeTimeToLive", TableName="abc") == {
        "TimeToLiveDescription": {"TimeToLiveStatus": "DISABLED"}
    }
    assert tables.call("DescribeContinuousBackups", TableName="abc") == {
        "ContinuousBackupsDescription": {
            "ContinuousBackupsStatus": "ENABLED",
            "PointInTimeRecoveryDescription": {"PointInTimeRecoveryStatus": "DISABLED"},
        }
    }


@pytest.mark.parametrize(
    ("host", "address"),
    [("127.0.0.1", "127.0.0.1:8000"), ("0.0.0.0", "localhost:8000"), ("::1", "[::1]:8000")],
)
def test_the_endpoint_is_this_server(tables: Tables, host: str, address: str) -> None:
    tables.settings = Settings(host=host)
    tables.engine = Engine(tables.store, tables.clock, settings=tables.settings)
    assert tables.call("DescribeEndpoints") == {"Endpoints": [{"Address": address, "CachePeriodInMinutes": 1440}]}


def tag(name: str, value: str = "v") -> Body:
    return {"Key": name, "Value": value}


def test_tags(tables: Tables) -> None:
    tables.create(Tags=[tag("a"), tag("b")])
    assert tables.call("TagResource", ResourceArn=ARN, Tags=[tag("b", "new"), tag("c", "")]) == {}
    assert tables.call("ListTagsOfResource", ResourceArn=ARN) == {"Tags": [tag("a"), tag("b", "new"), tag("c", "")]}
    assert tables.call("UntagResource", ResourceArn=ARN, TagKeys=["a", "missing"]) == {}
    assert tables.call("ListTagsOfResource", ResourceArn=ARN) == {"Tags": [tag("b", "new"), tag("c", "")]}


@pytest.mark.parametrize(
    ("tags", "message"),
    [
        ([], "Atleast one Tag needs to be provided as Input."),
        ([tag("k" * 129)], f"The Tag Key provided is invalid, Key: {'k' * 129}"),
        ([tag("")], "The Tag Key provided is invalid, Key: "),
        ([tag("a,b")], "The Tag Key provided is invalid, Key: a,b"),
        ([tag("a", "v" * 257)], f"The Tag Value provided is invalid, Value: {'v' * 257}"),
        ([{"Key": "a"}], "The Tag Value provided is invalid, Value: null"),
        ([tag("a", "100%")], "The Tag Value provided is invalid, Value: 100%"),
        ([tag("aws:x")], "Tag Key cannot be prefixed with aws:, Key: aws:x"),
        ([tag("a"), tag("a")], "Duplicate Tag Keys provided as input: Duplicate Tag Key found a"),
        (
            [tag(str(number)) for number in range(51)],
            "Number of Tags exceed the current limit for the provided ResourceArn",
        ),
        (
            [tag(str(number), "ü" * 256) for number in range(20)],
            "Tag set size 10270 bytes is above max size limit of 10240 bytes",
        ),
    ],
)
def test_tags_that_can_not_be(tables: Tables, tags: list[Body], message: str) -> None:
    tables.create()
    assert tables.refused("TagResource", ResourceArn=ARN, Tags=tags) == ("ValidationException", message)


def test_tags_of_all_scripts_are_fine(tables: Tables) -> None:
    tables.create(Tags=[tag("ключ café 表", "a+b-c=d.e_f:g/h@i")])


@pytest.mark.parametrize(
    ("arn", "error"),
    [
        ("nonsense", ("ValidationException", f"{INVALID}ARNs must start with 'arn:': nonsense")),
        (
            "arn:aws:s3:::bucket",
            ("ValidationException", f"{INVALID}Provided Arn is not a DynamoDB resource arn: arn:aws:s3:::bucket"),
        ),
        (
            f"{ARN}/index/gsi",
            (
                "ValidationException",
                f"{INVALID}Invalid resource arn provided, only table or stream is accepted. "
                f"Provided resource arn: {ARN}/index/gsi",
            ),
        ),
        (f"{ARN}x", ("ResourceNotFoundException", f"Requested resource not found: ResourcArn: {ARN}x not found")),
    ],
)
def test_resources_without_tags(tables: Tables, arn: str, error: tuple[str, str]) -> None:
    tables.create()
    calls: list[tuple[str, dict[str, Any]]] = [
        ("ListTagsOfResource", {}),
        ("TagResource", {"Tags": [tag("a")]}),
        ("UntagResource", {"TagKeys": ["a"]}),
    ]
    for operation, body in calls:
        assert tables.refused(operation, ResourceArn=arn, **body) == error


def test_another_account_is_denied(tables: Tables) -> None:
    arn = ARN.replace(ACCOUNT, "000000000000")
    assert tables.refused("ListTagsOfResource", ResourceArn=arn)[0] == "AccessDeniedException"


def test_a_removal_that_was_interrupted_is_no_finding() -> None:
    tables = Tables(transition_seconds=10.0)
    tables.create()
    tables.clock.advance(11)
    tables.call("PutItem", TableName="abc", Item={"p": {"S": "a"}})
    tables.call("DeleteTable", TableName="abc")
    table = tables.world.tables["abc"]
    tables.store.delete_range(table.prefix, successor(table.prefix))
    assert list(check(tables.store)) == []
    tables.clock.advance(11)
    tables.open()
    assert tables.call("ListTables")["TableNames"] == []
    assert list(check(tables.store)) == []
