"""What descriptions of a table say about its global table. The list of replicas leaves out the one that is asked."""

from __future__ import annotations

from typing import Any

from dynamometer.engine.records import Member, TableRecord
from dynamometer.engine.replication.groups import LEGACY, READ_MEMBER

Body = dict[str, Any]


def add_to(description: Body, record: TableRecord) -> None:
    """Add the members to a description, if the table is a replica."""
    replication = record.replication
    if replication is None:
        if record.settings_mode is not None:
            description["GlobalTableSettingsReplicationMode"] = record.settings_mode
        return
    description["GlobalTableVersion"] = replication.version
    if replication.version == LEGACY:
        return
    description["Replicas"] = [replica(record, member) for member in replication.others(record.region)]
    description["MultiRegionConsistency"] = replication.consistency
    description["GlobalTableSettingsReplicationMode"] = "ENABLED_WITH_OVERRIDES"
    if replication.witness is not None:
        description["GlobalTableWitnesses"] = [{"RegionName": replication.witness, "WitnessStatus": "ACTIVE"}]
    if not replication.is_strong:
        description["DisassociationProtectionEnabled"] = replication.is_protected


def replica(record: TableRecord, member: Member) -> Body:
    """A ReplicaDescription."""
    description: Body = {
        "RegionName": member.region,
        "ReplicaStatus": member.status,
        "ReplicaArn": arn(record, member.region),
    }
    if member.encryption_key is not None:
        description["KMSMasterKeyId"] = member.encryption_key
    description |= _overrides(member.read_units, member.on_demand_read)
    indexes = [
        {"IndexName": index.name}
        | _overrides(
            member.indexes.get(index.name, {}).get("read_units"),
            member.indexes.get(index.name, {}).get("on_demand_read"),
        )
        for index in record.indexes
        if index.is_secondary and index.status != "DELETING"
    ]
    if indexes:
        description["GlobalSecondaryIndexes"] = indexes
    if member.table_class is not None:
        description["ReplicaTableClassSummary"] = {"TableClass": member.table_class}
        if member.table_class_at is not None:
            description["ReplicaTableClassSummary"]["LastUpdateDateTime"] = member.table_class_at
    return description


def arn(record: TableRecord, region: str) -> str:
    """The ARN of a replica."""
    return f"arn:aws:dynamodb:{region}:{record.account}:table/{record.name}"


def _overrides(read_units: int | None, on_demand_read: int | None) -> Body:
    description: Body = {}
    if read_units is not None:
        description["ProvisionedThroughputOverride"] = {"ReadCapacityUnits": read_units}
    if on_demand_read is not None:
        description["OnDemandThroughputOverride"] = {READ_MEMBER: on_demand_read}
    return description


def global_table(record: TableRecord) -> Body:
    """A GlobalTableDescription of version 2017.11.29, where every replica is in the list."""
    replication = record.replication
    assert replication is not None, "it is a replica"
    statuses = {member.status for member in replication.members}
    return {
        "GlobalTableName": record.name,
        "GlobalTableArn": f"arn:aws:dynamodb::{record.account}:global-table/{record.name}",
        "CreationDateTime": replication.created_at,
        "GlobalTableStatus": "ACTIVE" if statuses <= {"ACTIVE"} else "UPDATING",
        "ReplicationGroup": [
            {"RegionName": member.region, "ReplicaStatus": member.status, "ReplicaArn": arn(record, member.region)}
            for member in replication.members
        ],
    }
