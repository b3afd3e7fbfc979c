"""UpdateTable: what may change, what may be combined, and when."""

from __future__ import annotations

from typing import Any

import pytest

from dynamometer.engine.operations.update_table import NOTHING
from tests.unit.engine.tables import IN_USE, INVALID, Body, Tables, index, key, types, units

HOUR = 3600.0
ONE_AT_A_TIME = (
    "LimitExceededException",
    "Subscriber limit exceeded: Only 1 online index can be created or deleted simultaneously per table",
)


@pytest.fixture
def tables() -> Tables:
    return Tables()


def creating(name: str, *names: str, **more: Any) -> Body:
    """An UpdateTable request that creates an index on string attributes."""
    kinds = types(**{each.partition(":")[0]: "S" for each in names})
    return {"AttributeDefinitions": kinds, "GlobalSecondaryIndexUpdates": [{"Create": index(name, *names, **more)}]}


def deleting(name: str) -> Body:
    return {"GlobalSecondaryIndexUpdates": [{"Delete": {"IndexName": name}}]}


def changing(name: str, **what: Any) -> Body:
    return {"GlobalSecondaryIndexUpdates": [{"Update": {"IndexName": name, **what}}]}


def with_index(tables: Tables, **more: Any) -> Tables:
    """A table with one global index."""
    extra = {"ProvisionedThroughput": units(5, 5)} if "ProvisionedThroughput" in more else {}
    tables.create(AttributeDefinitions=types(p="S", x="S"), GlobalSecondaryIndexes=[index("gsi", "x", **extra)], **more)
    tables.describe()
    return tables


def test_new_throughput_shows_when_the_change_is_done() -> None:
    tables = Tables(transition_seconds=5)
    tables.create(ProvisionedThroughput=units(5, 5))
    tables.clock.advance(5)
    answer = tables.update(ProvisionedThroughput=units(10, 4))
    assert answer["TableStatus"] == "UPDATING"
    assert answer["ProvisionedThroughput"] == {
        "NumberOfDecreasesToday": 0,
        "LastIncreaseDateTime": tables.clock.now(),
        "LastDecreaseDateTime": tables.clock.now(),
        **units(5, 5),
    }
    error = tables.refused("UpdateTable", TableName="abc", ProvisionedThroughput=units(1, 1))
    assert error == ("ResourceInUseException", f"{IN_USE}Table IOPS are currently being updated. Table: abc")
    assert tables.refused("DeleteTable", TableName="abc")[1] == (
        f"{IN_USE}Table: abc is in the process of being updated."
    )
    assert tables.update(DeletionProtectionEnabled=False)["TableStatus"] == "UPDATING"
    tables.clock.advance(5)
    described = tables.describe()
    assert described["TableStatus"] == "ACTIVE"
    assert described["ProvisionedThroughput"].items() >= {"NumberOfDecreasesToday": 1, **units(10, 4)}.items()
    assert described["WarmThroughput"]["WriteUnitsPerSecond"] == 5, "what was provisioned once stays warm"


def test_the_same_throughput_is_refused(tables: Tables) -> None:
    tables.create(ProvisionedThroughput=units(5, 5))
    text = (
        "The provisioned throughput for the table will not change. The requested value equals the current value. "
        "Current ReadCapacityUnits provisioned for the table: 5. Requested ReadCapacityUnits: 5. "
        "Current WriteCapacityUnits provisioned for the table: 5. Requested WriteCapacityUnits: 5. "
        "Refer to the Amazon DynamoDB Developer Guide for current limits and how to request higher limits."
    )
    assert tables.refused_update(ProvisionedThroughput=units(5, 5)) == ("ValidationException", text)
    assert tables.refused_update(BillingMode="PROVISIONED", ProvisionedThroughput=units(5, 5))[1] == text


def test_four_decreases_a_day_and_then_one_an_hour(tables: Tables) -> None:
    tables.create(ProvisionedThroughput=units(10, 10))
    tables.clock.advance(2 * HOUR)  # 00:13 UTC
    for read in (9, 8, 7, 6):
        tables.update(ProvisionedThroughput=units(read, 10))
    assert tables.describe()["ProvisionedThroughput"]["NumberOfDecreasesToday"] == 4
    name, message = tables.refused_update(ProvisionedThroughput=units(5, 11))
    assert name == "LimitExceededException"
    assert message == (
        "Subscriber limit exceeded: Provisioned throughput decreases are limited within a given UTC day. After the "
        "first 4 decreases, each subsequent decrease in the same UTC day can be performed at most once every 3600 "
        "seconds. Number of decreases today: 4. Last decrease at Wednesday, November 15, 2023 at 12:13:20 AM "
        "Coordinated Universal Time. Next decrease can be made at Wednesday, November 15, 2023 at 1:13:20 AM "
        "Coordinated Universal Time"
    )
    tables.update(ProvisionedThroughput=units(6, 11))
    tables.clock.advance(HOUR)
    tables.update(ProvisionedThroughput=units(5, 11))
    assert tables.refused_update(ProvisionedThroughput=units(4, 11))[0] == "LimitExceededException"
    tables.clock.advance(23 * HOUR)
    assert tables.describe()["ProvisionedThroughput"]["NumberOfDecreasesToday"] == 0
    tables.update(ProvisionedThroughput=units(4, 11))


def test_switching_the_billing_mode_there_and_back(tables: Tables) -> None:
    with_index(tables, ProvisionedThroughput=units(5, 5))
    assert "BillingModeSummary" not in tables.describe()
    tables.clock.advance(60)
    answer = tables.update(BillingMode="PAY_PER_REQUEST")
    assert answer["BillingModeSummary"] == {"BillingMode": "PAY_PER_REQUEST"}
    assert answer["ProvisionedThroughput"].items() >= units(0, 0).items()
    described = tables.describe()
    assert described["BillingModeSummary"]["LastUpdateToPayPerRequestDateTime"] == tables.clock.now()
    assert described["WarmThroughput"]["ReadUnitsPerSecond"] == 12000
    assert tables.global_index("gsi")["ProvisionedThroughput"].items() >= units(0, 0).items()

    alone = {"BillingMode": "PROVISIONED", "ProvisionedThroughput": units(2, 3)}
    assert tables.refused_update(BillingMode="PROVISIONED")[1] == (
        f"{INVALID}ProvisionedThroughput must be specified when BillingMode is PROVISIONED"
    )
    assert tables.refused_update(**alone)[1] == f"{INVALID}ProvisionedThroughput must be specified for index: gsi"
    tables.update(**alone, **changing("gsi", ProvisionedThroughput=units(4, 4)))
    described = tables.describe()
    assert described["BillingModeSummary"]["BillingMode"] == "PROVISIONED"
    assert described["ProvisionedThroughput"] == {"NumberOfDecreasesToday": 0, **units(2, 3)}
    assert tables.global_index("gsi")["ProvisionedThroughput"].items() >= units(4, 4).items()


def test_the_same_billing_mode_again_is_fine(tables: Tables) -> None:
    tables.create()
    before = tables.describe()
    assert tables.update(BillingMode="PAY_PER_REQUEST")["TableStatus"] == "UPDATING"
    assert tables.describe() == before


def test_provisioned_units_and_on_demand_do_not_mix(tables: Tables) -> None:
    tables.create()
    text = (
        f"{INVALID}Neither ReadCapacityUnits nor WriteCapacityUnits can be specified when BillingMode is "
        "PAY_PER_REQUEST"
    )
    assert tables.refused_update(ProvisionedThroughput=units(1, 1))[1] == text
    assert tables.refused_update(BillingMode="PAY_PER_REQUEST", ProvisionedThroughput=units(1, 1))[1] == text


def test_a_ceiling_on_demand_merges_and_minus_one_clears(tables: Tables) -> None:
    tables.create()
    tables.update(OnDemandThroughput={"MaxReadRequestUnits": 1000, "MaxWriteRequestUnits": 500})
    answer = tables.update(OnDemandThroughput={"MaxReadRequestUnits": -1})
    assert answer["OnDemandThroughput"] == {"MaxReadRequestUnits": -1, "MaxWriteRequestUnits": 500}
    assert answer["TableStatus"] == "ACTIVE"
    assert tables.describe()["OnDemandThroughput"] == {"MaxWriteRequestUnits": 500}
    tables.update(OnDemandThroughput={"MaxWriteRequestUnits": -1})
    assert "OnDemandThroughput" not in tables.describe()
    assert tables.refused_update(OnDemandThroughput={"MaxReadRequestUnits": 0})[1] == (
        f"{INVALID}Requested MaxReadRequestUnits for OnDemandThroughput for table is outside of valid range"
    )


def test_a_ceiling_on_demand_needs_on_demand(tables: Tables) -> None:
    tables.create(ProvisionedThroughput=units(1, 1))
    assert tables.refused_update(OnDemandThroughput={"MaxWriteRequestUnits": 1})[1] == (
        f"{INVALID}MaxWriteRequestUnits for OnDemandThroughput cannot be specified when the table BillingMode is "
        "PROVISIONED"
    )
    tables.update(BillingMode="PAY_PER_REQUEST", OnDemandThroughput={"MaxWriteRequestUnits": 7})
    assert tables.describe()["OnDemandThroughput"] == {"MaxWriteRequestUnits": 7}


def test_warm_throughput_rises_while_the_table_stays_active() -> None:
    tables = Tables(transition_seconds=5)
    tables.create()
    tables.clock.advance(5)
    answer = tables.update(WarmThroughput={"ReadUnitsPerSecond": 13000})
    assert answer["TableStatus"] == "ACTIVE"
    old = {"ReadUnitsPerSecond": 12000, "WriteUnitsPerSecond": 4000, "Status": "UPDATING"}
    assert answer["WarmThroughput"] == old
    tables.clock.advance(5)
    new = {"ReadUnitsPerSecond": 13000, "WriteUnitsPerSecond": 4000, "Status": "ACTIVE"}
    assert tables.describe()["WarmThroughput"] == new
    assert tables.refused_update(WarmThroughput={"ReadUnitsPerSecond": 12000})[1] == (
        f"{INVALID}Requested ReadUnitsPerSecond for WarmThroughput for table is lower than current WarmThroughput, "
        "decreasing WarmThroughput is not supported"
    )


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({}, NOTHING),
        ({"AttributeDefinitions": types(p="S")}, NOTHING),
        ({"GlobalSecondaryIndexUpdates": []}, NOTHING),
        ({"WarmThroughput": {}}, NOTHING),
        (
            {"GlobalSecondaryIndexUpdates": [], "DeletionProtectionEnabled": True},
            f"{INVALID}List of GlobalSecondaryIndexUpdates is empty",
        ),
        (
            {"SSESpecification": {"Enabled": True}, "DeletionProtectionEnabled": True},
            f"{INVALID}Server-Side Encryption modification must be the only operation in the request",
        ),
        (
            {"BillingMode": "PAY_PER_REQUEST", "DeletionProtectionEnabled": True},
            f"{INVALID}DeletionProtection modification must be the only operation in the request",
        ),
        (
            {"BillingMode": "PAY_PER_REQUEST", "TableClass": "STANDARD"},
            f"{INVALID}TableClass modification must be the only operation in the request",
        ),
        (
            creating("new", "y") | {"WarmThroughput": {"ReadUnitsPerSecond": 13000}},
            f"{INVALID}Create global secondary index cannot be specified when updating WarmThroughput",
        ),
        (
            {"OnDemandThroughput": {"MaxReadRequestUnits": 1}, "StreamSpecification": {"StreamEnabled": False}},
            f"{INVALID}OnDemandThroughput can only be combined with BillingMode in an UpdateTable request",
        ),
        (
            creating("new", "y") | {"ProvisionedThroughput": units(1, 1)},
            f"{INVALID}You cannot create or delete index while updating table IOPS",
        ),
        (
            deleting("gsi") | {"StreamSpecification": {"StreamEnabled": False}},
            f"{INVALID}You cannot create or delete index while changing stream status",
        ),
        (
            {"ProvisionedThroughput": units(1, 1), "StreamSpecification": {"StreamEnabled": False}},
            f"{INVALID}You cannot modify stream status while updating table IOPS",
        ),
        ({"ReplicaUpdates": []}, f"{INVALID}List of ReplicaUpdates is empty"),
        (
            {"GlobalSecondaryIndexUpdates": [{}]},
            f"{INVALID}One of GlobalSecondaryIndexUpdate.Update, GlobalSecondaryIndexUpdate.Create, "
            "GlobalSecondaryIndexUpdate.Delete must not be null",
        ),
        (
            {
                "GlobalSecondaryIndexUpdates": [
                    {"Create": index("new", "y"), "Delete": {"IndexName": "gsi"}},
                ]
            },
            f"{INVALID}Only one global secondary index action is allowed per GlobalSecondaryIndexUpdate object",
        ),
        (
            {"GlobalSecondaryIndexUpdates": [{"Delete": {"IndexName": "gsi"}}, {"Create": index("gsi", "x")}]},
            f"{INVALID}Only one global secondary index update per index is allowed simultaneously. Index: gsi",
        ),
    ],
)
def test_requests_that_can_not_be(tables: Tables, body: Body, message: str) -> None:
    with_index(tables)
    assert tables.refused_update(**body) == ("ValidationException", message)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (creating("gsi", "y"), "Attempting to create an index which already exists"),
        (creating("lsi", "y"), "Attempting to create an index which already exists"),
        (
            {"GlobalSecondaryIndexUpdates": [{"Create": index("new", "x")}]},
            f"{INVALID}AttributeDefinitions is not specified for index: new",
        ),
        (
            creating("new", "x") | {"AttributeDefinitions": types(y="S")},
            f"{INVALID}Some index key attributes are not defined in AttributeDefinitions. "
            "Keys: [x], AttributeDefinitions: [y]",
        ),
        (
            creating("new", "x") | {"AttributeDefinitions": types(x="N")},
            f"{INVALID}Attributes cannot be redefined. Please check that your attribute has the same type as "
            "previously defined. Existing schema: Schema:[SchemaElement: key{x:S:HASH}] "
            "New schema: Schema:[SchemaElement: key{x:N:HASH}]",
        ),
        (
            creating("new", "y", ProvisionedThroughput=units(1, 1)),
            f"{INVALID}Neither ReadCapacityUnits nor WriteCapacityUnits can be specified for index: new when "
            "BillingMode is PAY_PER_REQUEST",
        ),
        (deleting("lsi"), "Cannot delete an index that is not a GlobalSecondaryIndex: lsi"),
        (
            changing("lsi", WarmThroughput={"ReadUnitsPerSecond": 13000}),
            "Cannot update an index that is not a GlobalSecondaryIndex: lsi",
        ),
        (
            changing("gsi", ProvisionedThroughput=units(1, 1)),
            f"{INVALID}The only Updates for index: gsi when TableThroughputMode is PAY_PER_REQUEST can be to "
            "OnDemandThroughput, WarmThroughput",
        ),
        (
            changing("gsi", WarmThroughput={}),
            f"{INVALID}WarmThroughput must have at least one of ReadUnitsPerSecond or WriteUnitsPerSecond specified "
            "for index: gsi",
        ),
    ],
)
def test_index_updates_that_can_not_be(tables: Tables, body: Body, message: str) -> None:
    tables.create(
        KeySchema=key("p", "s"),
        AttributeDefinitions=types(p="S", s="S", x="S"),
        LocalSecondaryIndexes=[index("lsi", "p", "x")],
        GlobalSecondaryIndexes=[index("gsi", "x")],
    )
    assert tables.refused_update(**body) == ("ValidationException", message)


def test_unknown_indexes(tables: Tables) -> None:
    with_index(tables)
    error = ("ResourceNotFoundException", "Requested resource not found: Index ghost for table abc")
    assert tables.refused_update(**deleting("ghost")) == error
    assert tables.refused_update(**changing("ghost", OnDemandThroughput={"MaxReadRequestUnits": 1})) == error


def test_a_new_index_of_a_provisioned_table_wants_throughput(tables: Tables) -> None:
    tables.create(ProvisionedThroughput=units(1, 1))
    assert tables.refused_update(**creating("new", "y"))[1] == (
        f"{INVALID}Both ReadCapacityUnits and WriteCapacityUnits must be specified for index: new"
    )


def test_the_twenty_first_global_index(tables: Tables) -> None:
    indexes = [index(f"gsi{number}", "x") for number in range(20)]
    tables.create(AttributeDefinitions=types(p="S", x="S"), GlobalSecondaryIndexes=indexes)
    assert tables.refused_update(**creating("new", "y")) == (
        "LimitExceededException",
        "Subscriber limit exceeded: Number of global secondary indexes exceeds per-table limit of 20",
    )


def test_one_index_at_a_time(tables: Tables) -> None:
    with_index(tables)
    for second in ({"Create": index("two", "y")}, {"Delete": {"IndexName": "gsi"}}):
        body = creating("one", "y")
        body["GlobalSecondaryIndexUpdates"] = [*body["GlobalSecondaryIndexUpdates"], second]
        assert tables.refused_update(**body) == ONE_AT_A_TIME
    two = {"GlobalSecondaryIndexUpdates": [{"Delete": {"IndexName": name}} for name in ("ghost", "gsi")]}
    assert tables.refused_update(**two) == ONE_AT_A_TIME
    tables.update(**creating("one", "y"))
    tables.describe()
    assert tables.refused_update(**creating("two", "z")) == ONE_AT_A_TIME
    assert tables.refused_update(**deleting("gsi")) == ONE_AT_A_TIME
    assert tables.refused("DeleteTable", TableName="abc")[1] == (
        f"{IN_USE}Cannot delete table while indexes are being created, updated, or deleted."
    )
    tables.update(**deleting("one"))
    tables.describe()
    tables.update(**creating("two", "z"))


def test_what_must_wait_for_an_index() -> None:
    tables = Tables(transition_seconds=5)
    tables.create(ProvisionedThroughput=units(1, 1))
    tables.clock.advance(5)
    tables.update(**creating("one", "y", ProvisionedThroughput=units(1, 1)))
    where = "Table: abc Index: one"
    refusals: list[tuple[Body, str]] = [
        (
            {"ProvisionedThroughput": units(2, 2)},
            "Can't change table IOPS when an index is being created. Table: abc Indexes: [one]",
        ),
        (
            {"StreamSpecification": {"StreamEnabled": True, "StreamViewType": "NEW_IMAGE"}},
            "Can't change stream status when an index is being created. Table: abc Indexes: [one]",
        ),
        (
            deleting("one"),
            "Index creation is in resource allocation phase. Retry deletion during backfilling phase or when the "
            f"index is active. {where}",
        ),
        (
            changing("one", ProvisionedThroughput=units(2, 2)),
            f"Index is being created but is not backfilling yet. {where}",
        ),
    ]
    for body, text in refusals:
        assert tables.refused_update(**body) == ("ResourceInUseException", IN_USE + text)
    tables.clock.advance(5)
    tables.engine.run_jobs(2)
    tables.update(**deleting("one"))
    assert tables.refused_update(**deleting("one"))[1] == f"{IN_USE}Index is being deleted. {where}"
    assert tables.refused_update(**creating("one", "y"))[1] == f"{IN_USE}Index is being deleted. {where}"
    assert tables.refused_update(BillingMode="PAY_PER_REQUEST")[1] == (
        f"{IN_USE}Can't change table IOPS when an index is being deleted. Table: abc Indexes: [one]"
    )
    tables.clock.advance(5)
    assert "GlobalSecondaryIndexes" not in tables.describe()


def test_throughput_of_an_index() -> None:
    tables = with_index(Tables(transition_seconds=5), ProvisionedThroughput=units(5, 5))
    tables.clock.advance(5)
    answer = tables.update(**changing("gsi", ProvisionedThroughput=units(9, 5)))
    assert answer["TableStatus"] == "ACTIVE"
    assert answer["GlobalSecondaryIndexes"][0]["IndexStatus"] == "UPDATING"
    assert answer["GlobalSecondaryIndexes"][0]["ProvisionedThroughput"].items() >= units(5, 5).items()
    assert tables.refused_update(**changing("gsi", ProvisionedThroughput=units(1, 1)))[1] == (
        f"{IN_USE}Index is being updated. Table: abc Index: gsi"
    )
    tables.clock.advance(5)
    assert tables.global_index("gsi")["ProvisionedThroughput"].items() >= units(9, 5).items()
    assert tables.global_index("gsi")["IndexStatus"] == "ACTIVE"
    message = tables.refused_update(**changing("gsi", ProvisionedThroughput=units(9, 5)))[1] or ""
    assert message.startswith(
        "The provisioned throughput for the index gsi will not change. The requested value equals the current value. "
        "Current ReadCapacityUnits provisioned for index gsi: 9. Requested ReadCapacityUnits: 9. "
    )


def test_a_ceiling_of_an_index_on_demand(tables: Tables) -> None:
    with_index(tables)
    tables.update(**changing("gsi", OnDemandThroughput={"MaxReadRequestUnits": 50}))
    assert tables.global_index("gsi")["OnDemandThroughput"] == {"MaxReadRequestUnits": 50}
    assert "OnDemandThroughput" not in tables.describe()


def test_definitions_come_and_go_with_the_indexes_that_use_them(tables: Tables) -> None:
    with_index(tables)
    body = creating("new", "y")
    body["AttributeDefinitions"] += types(unused="S", p="N")
    tables.update(**body)
    tables.engine.run_jobs(2)
    assert tables.describe()["AttributeDefinitions"] == types(p="S", x="S", y="S")
    tables.update(**deleting("gsi"))
    assert tables.describe()["AttributeDefinitions"] == types(p="S", y="S")
    tables.put(p={"S": "a"}, x={"N": "1"})


def test_streams(tables: Tables) -> None:
    tables.create()
    on = {"StreamSpecification": {"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"}}
    off = {"StreamSpecification": {"StreamEnabled": False}}
    assert tables.refused_update(**off)[1] == "Table has no stream to disable: TableName: abc"
    assert tables.refused_update(StreamSpecification={"StreamEnabled": True})[1] == (
        f"{INVALID}If stream is being enabled then UpdateViewType is required"
    )
    tables.update(**on)
    assert tables.refused_update(**on)[1] == "Table already has an enabled stream: TableName: abc"
    arn = tables.describe()["LatestStreamArn"]
    assert tables.refused_update(StreamSpecification={"StreamEnabled": False, "StreamViewType": "KEYS_ONLY"})[1] == (
        f"{INVALID}If stream is being disabled, then UpdateViewType must not be specified"
    )
    tables.update(**off)
    assert "StreamSpecification" not in tables.describe()
    assert tables.describe()["LatestStreamArn"] == arn
    tables.clock.advance(1)
    tables.update(**on)
    assert tables.describe()["LatestStreamArn"] != arn


def test_encryption(tables: Tables) -> None:
    tables.create()
    assert tables.refused_update(SSESpecification={"Enabled": False})[1] == (
        f"{INVALID}Table is already encrypted by default"
    )
    tables.update(SSESpecification={"Enabled": True})
    own = tables.describe()["SSEDescription"]["KMSMasterKeyArn"]
    assert own.startswith("arn:aws:kms:us-east-1:123456789012:key/")
    tables.update(SSESpecification={"Enabled": True, "SSEType": "KMS", "KMSMasterKeyId": "alias/mine"})
    assert tables.describe()["SSEDescription"]["KMSMasterKeyArn"] == "arn:aws:kms:us-east-1:123456789012:alias/mine"
    again = {"Enabled": True, "SSEType": "KMS", "KMSMasterKeyId": "alias/mine"}
    assert (tables.refused_update(SSESpecification=again)[1] or "").startswith(
        f"{INVALID}Table is already encrypted with given KMSMasterKeyId."
    )
    tables.update(SSESpecification={"Enabled": False})
    assert "SSEDescription" not in tables.describe()


@pytest.mark.parametrize(
    ("specification", "message"),
    [
        ({"Enabled": False, "KMSMasterKeyId": "k"}, "KMSMasterKeyId can not be specified if Enabled is false"),
        ({"Enabled": True, "SSEType": "AES256"}, "SSEType AES256 is not supported"),
        ({"Enabled": True, "KMSMasterKeyId": "k"}, "SSEType KMS is required if KMSMasterKeyId is specified"),
    ],
)
def test_encryption_that_can_not_be(tables: Tables, specification: Body, message: str) -> None:
    tables.create()
    assert tables.refused_update(SSESpecification=specification)[1] == INVALID + message


def test_the_table_class(tables: Tables) -> None:
    tables.create()
    tables.update(TableClass="STANDARD")
    assert "TableClassSummary" not in tables.describe()
    tables.update(TableClass="STANDARD_INFREQUENT_ACCESS")
    summary = {"TableClass": "STANDARD_INFREQUENT_ACCESS", "LastUpdateDateTime": tables.clock.now()}
    assert tables.describe()["TableClassSummary"] == summary
