"""Auto scaling of tables and their global indexes: settings, kept and described for each replica.

On the service these operations are a face of Application Auto Scaling, and only for global tables. Here they serve a
table of one Region too, as its only replica: there is no other way to give it settings. Nothing acts on them yet.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dynamometer.base.errors import ResourceInUseException, ResourceNotFoundException, ValidationException
from dynamometer.engine import records
from dynamometer.engine.catalog import Catalog, Table, World
from dynamometer.engine.records import Scaling, TableRecord

Body = dict[str, Any]

READ, WRITE = "Read", "Write"
TARGET_MIN, TARGET_MAX = 20, 90
"""Percent of the provisioned capacity (developer guide: auto scaling)."""
_MEMBERS = ("MaximumUnits", "ScalingPolicyUpdate", "MinimumUnits")
"""In the order in which the service prints them."""
_ROLE = (
    "aws-service-role/dynamodb.application-autoscaling.amazonaws.com/"
    "AWSServiceRoleForApplicationAutoScaling_DynamoDBTable"
)


def find(catalog: Catalog, world: World, name_or_arn: str) -> Table:
    """The table in the words of these operations. Raises ResourceNotFoundException."""
    try:
        return catalog.find(world, name_or_arn)
    except ResourceNotFoundException:
        name = name_or_arn.rpartition("/")[2]
        raise ResourceNotFoundException(f"Global table with name: '{name}' does not exist.") from None


# --- Descriptions ------------------------------------------------------------------------------------------------


def description(table: Table, region: str) -> Body:
    """What is set for a table and its indexes, replica by replica."""
    record = table.record
    return {
        "TableName": record.name,
        "TableStatus": record.status,
        "Replicas": [_replica(record, region)],
    }


def _replica(record: TableRecord, region: str) -> Body:
    return {
        "RegionName": region,
        "ReplicaStatus": record.status,
        "ReplicaProvisionedReadCapacityAutoScalingSettings": settings(record, READ),
        "ReplicaProvisionedWriteCapacityAutoScalingSettings": settings(record, WRITE),
        "GlobalSecondaryIndexes": [
            {
                "IndexName": index.name,
                "IndexStatus": index.status,
                "ProvisionedReadCapacityAutoScalingSettings": settings(record, READ, index.name),
                "ProvisionedWriteCapacityAutoScalingSettings": settings(record, WRITE, index.name),
            }
            for index in record.indexes
            if index.is_secondary and index.status != "CREATING"
        ],
    }


def settings(record: TableRecord, kind: str, index: str = "") -> Body:
    scaling = record.scaling.get(_key(kind, index))
    if scaling is None:
        # measured: what was never set reads like what was switched off
        return {"AutoScalingDisabled": True, "ScalingPolicies": []}
    configuration = {"TargetValue": scaling.target, **scaling.options}
    return {
        "MinimumUnits": scaling.minimum,
        "MaximumUnits": scaling.maximum,
        "AutoScalingRoleArn": f"arn:aws:iam::{record.account}:role/{_ROLE}",
        "ScalingPolicies": [{"PolicyName": scaling.policy, "TargetTrackingScalingPolicyConfiguration": configuration}],
    }


def _key(kind: str, index: str) -> str:
    return f"{kind}/{index}"


# --- Updates -----------------------------------------------------------------------------------------------------


def update(catalog: Catalog, world: World, table: Table, body: Body) -> None:
    """Change settings. Raises what the service says of a request that can't be (texts of unknown names: assumed)."""
    record = records.copy(table.record)
    if record.status != "ACTIVE":
        raise ResourceInUseException(
            f"Attempt to change a resource which is still in use: Table is being updated: {record.name}"
        )
    for kind, name, change in _changes(record, world.region, body):
        if name and not any(index.name == name and index.is_secondary for index in record.indexes):
            raise ResourceNotFoundException(
                f"{_failed(record, ':')} because the global secondary indexes with names: {name} do not exist"
            )
        if change is not None:
            set_one(record, kind, name, change)
    if record.scaling != table.record.scaling:
        catalog.save(world, table, record)


def _changes(record: TableRecord, region: str, body: Body) -> Iterator[tuple[str, str, Body | None]]:
    """Kind of capacity, index ("" for the table) and its update, for each one in the request."""
    yield WRITE, "", body.get("ProvisionedWriteCapacityAutoScalingUpdate")
    for index in body.get("GlobalSecondaryIndexUpdates", ()):
        yield WRITE, index.get("IndexName", ""), index.get("ProvisionedWriteCapacityAutoScalingUpdate")
    for replica in body.get("ReplicaUpdates", ()):
        if replica["RegionName"] != region:
            raise ResourceNotFoundException(
                f"{_failed(record, ':')} because a replica does not exist in regions: {replica['RegionName']}"
            )
        yield READ, "", replica.get("ReplicaProvisionedReadCapacityAutoScalingUpdate")
        for index in replica.get("ReplicaGlobalSecondaryIndexUpdates", ()):
            yield READ, index.get("IndexName", ""), index.get("ProvisionedReadCapacityAutoScalingUpdate")


def set_one(record: TableRecord, kind: str, index: str, change: Body) -> None:
    given = [member for member in _MEMBERS if member in change]
    if change.get("AutoScalingDisabled"):
        if given:
            raise ValidationException(
                f"{_failed(record, '')}: Parameters {_listed(given)} must be left blank when disabling auto scaling."
            )
        record.scaling.pop(_key(kind, index), None)
        return
    missing = [member for member in _MEMBERS if member not in change]
    if missing:
        raise ValidationException(
            f"{_failed(record, ':')}: Parameters {_listed(missing)} are required unless auto scaling is being disabled."
        )
    minimum, maximum = change["MinimumUnits"], change["MaximumUnits"]
    if minimum > maximum:
        raise ValidationException(
            f"{_failed(record, ':')}: MinimumUnits must not be greater than MaximumUnits."  # assumed
        )
    policy = change["ScalingPolicyUpdate"]
    options = dict(policy["TargetTrackingScalingPolicyConfiguration"])
    target = float(options.pop("TargetValue"))
    if not TARGET_MIN <= target <= TARGET_MAX:
        raise ValidationException(
            f"{_failed(record, ':')}: TargetValue must be between {TARGET_MIN} and {TARGET_MAX}."  # assumed
        )
    place = f"table/{record.name}" + (f"/index/{index}" if index else "")
    name = policy.get("PolicyName", f"DynamoDB{kind}CapacityUtilization:{place}")
    record.scaling[_key(kind, index)] = Scaling(minimum, maximum, name, target, options)


def _failed(record: TableRecord, colon: str) -> str:
    # the service prints typographic quotation marks, and not always the colon
    return f"Failed to update settings for global table with name{colon} \u2018{record.name}\u2019"


def _listed(members: list[str]) -> str:
    return ", ".join(f"'{member}'" for member in members)
