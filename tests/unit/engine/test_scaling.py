"""Auto scaling: settings are kept, described, and refused in the service's words."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.engine.tables import ACCOUNT, REGION, Body, Tables, index, types, units

FAILED = "Failed to update settings for global table with name"
OFF = {"AutoScalingDisabled": True, "ScalingPolicies": []}
ROLE = (
    f"arn:aws:iam::{ACCOUNT}:role/aws-service-role/dynamodb.application-autoscaling.amazonaws.com/"
    "AWSServiceRoleForApplicationAutoScaling_DynamoDBTable"
)


@pytest.fixture
def tables() -> Tables:
    tables = Tables()
    tables.create(
        AttributeDefinitions=types(p="S", q="S"),
        ProvisionedThroughput=units(1, 1),
        GlobalSecondaryIndexes=[index("gsi", "q", ProvisionedThroughput=units(1, 1))],
    )
    return tables


def setting(minimum: int = 1, maximum: int = 10, target: float = 70, **policy: Any) -> Body:
    configuration = {"TargetTrackingScalingPolicyConfiguration": {"TargetValue": target}}
    return {"MinimumUnits": minimum, "MaximumUnits": maximum, "ScalingPolicyUpdate": configuration | policy}


def shown(name: str, minimum: int = 1, maximum: int = 10, target: float = 70) -> Body:
    return {
        "MinimumUnits": minimum,
        "MaximumUnits": maximum,
        "AutoScalingRoleArn": ROLE,
        "ScalingPolicies": [{"PolicyName": name, "TargetTrackingScalingPolicyConfiguration": {"TargetValue": target}}],
    }


def update(tables: Tables, **body: Any) -> Body:
    answer = tables.call("UpdateTableReplicaAutoScaling", TableName="abc", **body)
    described: Body = tables.call("DescribeTableReplicaAutoScaling", TableName="abc")
    assert answer == described
    (replica,) = described["TableAutoScalingDescription"]["Replicas"]
    found: Body = replica
    return found


def refused(tables: Tables, **body: Any) -> tuple[str, str | None]:
    return tables.refused("UpdateTableReplicaAutoScaling", TableName="abc", **body)


def test_what_was_never_set_is_off(tables: Tables) -> None:
    assert tables.call("DescribeTableReplicaAutoScaling", TableName="abc") == {
        "TableAutoScalingDescription": {
            "TableName": "abc",
            "TableStatus": "ACTIVE",
            "Replicas": [
                {
                    "RegionName": REGION,
                    "ReplicaStatus": "ACTIVE",
                    "ReplicaProvisionedReadCapacityAutoScalingSettings": OFF,
                    "ReplicaProvisionedWriteCapacityAutoScalingSettings": OFF,
                    "GlobalSecondaryIndexes": [
                        {
                            "IndexName": "gsi",
                            "IndexStatus": "ACTIVE",
                            "ProvisionedReadCapacityAutoScalingSettings": OFF,
                            "ProvisionedWriteCapacityAutoScalingSettings": OFF,
                        }
                    ],
                }
            ],
        }
    }


def test_settings_of_table_and_index_are_kept(tables: Tables) -> None:
    reads = {
        "RegionName": REGION,
        "ReplicaProvisionedReadCapacityAutoScalingUpdate": setting(target=50, PolicyName="mine"),
        "ReplicaGlobalSecondaryIndexUpdates": [
            {"IndexName": "gsi", "ProvisionedReadCapacityAutoScalingUpdate": setting(2, 20)}
        ],
    }
    replica = update(
        tables,
        ProvisionedWriteCapacityAutoScalingUpdate=setting(),
        GlobalSecondaryIndexUpdates=[{"IndexName": "gsi", "ProvisionedWriteCapacityAutoScalingUpdate": setting()}],
        ReplicaUpdates=[reads],
    )
    write, read = "DynamoDBWriteCapacityUtilization:table/abc", "DynamoDBReadCapacityUtilization:table/abc"
    assert replica["ReplicaProvisionedWriteCapacityAutoScalingSettings"] == shown(write)
    assert replica["ReplicaProvisionedReadCapacityAutoScalingSettings"] == shown("mine", target=50)
    assert replica["GlobalSecondaryIndexes"][0] == {
        "IndexName": "gsi",
        "IndexStatus": "ACTIVE",
        "ProvisionedWriteCapacityAutoScalingSettings": shown(write + "/index/gsi"),
        "ProvisionedReadCapacityAutoScalingSettings": shown(read + "/index/gsi", 2, 20),
    }
    tables.open()
    assert update(tables) == replica
    tables.update(GlobalSecondaryIndexUpdates=[{"Delete": {"IndexName": "gsi"}}])
    assert update(tables)["GlobalSecondaryIndexes"] == []


def test_switched_off_again(tables: Tables) -> None:
    update(tables, ProvisionedWriteCapacityAutoScalingUpdate=setting())
    off = {"AutoScalingDisabled": True}
    for _ in range(2):
        replica = update(tables, ProvisionedWriteCapacityAutoScalingUpdate=off)
        assert replica["ReplicaProvisionedWriteCapacityAutoScalingSettings"] == OFF


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"AutoScalingDisabled": True, "MinimumUnits": 1, "MaximumUnits": 2},
            f"{FAILED} \u2018abc\u2019: Parameters 'MaximumUnits', 'MinimumUnits' must be left blank when disabling "
            "auto scaling.",
        ),
        (
            {"AutoScalingDisabled": False},
            f"{FAILED}: \u2018abc\u2019: Parameters 'MaximumUnits', 'ScalingPolicyUpdate', 'MinimumUnits' are required "
            "unless auto scaling is being disabled.",
        ),
        (
            {"MinimumUnits": 1, "MaximumUnits": 2},
            f"{FAILED}: \u2018abc\u2019: Parameters 'ScalingPolicyUpdate' are required unless auto scaling is being "
            "disabled.",
        ),
        (setting(3, 2), f"{FAILED}: \u2018abc\u2019: MinimumUnits must not be greater than MaximumUnits."),
        (setting(target=95), f"{FAILED}: \u2018abc\u2019: TargetValue must be between 20 and 90."),
    ],
)
def test_settings_that_can_not_be(tables: Tables, change: Body, message: str) -> None:
    assert refused(tables, ProvisionedWriteCapacityAutoScalingUpdate=change) == ("ValidationException", message)


def test_what_is_not_there(tables: Tables) -> None:
    missing = ("ResourceNotFoundException", "Global table with name: 'xyz' does not exist.")
    for operation in ("DescribeTableReplicaAutoScaling", "UpdateTableReplicaAutoScaling"):
        assert tables.refused(operation, TableName="xyz") == missing
    assert refused(tables, ReplicaUpdates=[{"RegionName": "eu-west-1"}])[0] == "ResourceNotFoundException"
    assert refused(tables, GlobalSecondaryIndexUpdates=[{"IndexName": "nope"}])[0] == "ResourceNotFoundException"
