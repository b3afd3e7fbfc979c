"""Backups as the service describes them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dynamometer.base.errors import BackupNotFoundException
from dynamometer.engine.backups import Backup
from dynamometer.engine.catalog import World
from dynamometer.engine.describe import key_schema, vector_definition
from dynamometer.engine.records import ON_DEMAND, IndexRecord, TableRecord, Throughput

if TYPE_CHECKING:
    from dynamometer.engine.engine import Engine

Body = dict[str, Any]


def own(engine: Engine, world: World, arn: str) -> Backup:
    """The backup, if it is the caller's. Raises BackupNotFoundException."""
    backup = engine.backups.find(arn)
    if backup.account != world.account:
        raise BackupNotFoundException(f"Backup not found: {arn}")
    return backup


def details(backup: Backup, now: float) -> Body:
    """BackupDetails."""
    described: Body = {
        "BackupArn": backup.arn,
        "BackupName": backup.name,
        "BackupSizeBytes": backup.size_bytes,
        "BackupStatus": backup.status(now),
        "BackupType": backup.kind,
        "BackupCreationDateTime": backup.created_at,
    }
    if backup.expires_at is not None:
        described["BackupExpiryDateTime"] = backup.expires_at
    return described


def summary(backup: Backup, now: float) -> Body:
    """A BackupSummary."""
    return {
        "TableName": backup.table_name,
        "TableId": backup.table["table_id"],
        "TableArn": backup.table_arn,
        **details(backup, now),
    }


def description(backup: Backup, now: float) -> Body:
    """A BackupDescription."""
    record = backup.source()
    source: Body = {
        "TableName": record.name,
        "TableId": record.table_id,
        "TableArn": record.arn,
        "TableSizeBytes": backup.size_bytes,
        "KeySchema": key_schema(record.partition, record.sort),
        "TableCreationDateTime": record.created_at,
        "ProvisionedThroughput": _units(record.throughput),
        "ItemCount": backup.items,
        "BillingMode": record.billing_mode,
    }
    if record.on_demand and record.billing_mode == ON_DEMAND:
        source["OnDemandThroughput"] = record.on_demand
    return {
        "BackupDetails": details(backup, now),
        "SourceTableDetails": source,
        "SourceTableFeatureDetails": _features(record),
    }


def _features(record: TableRecord) -> Body:
    features: Body = {}
    local = [_index(index) for index in record.indexes if not index.is_global]
    others = [_index(index) for index in record.indexes if index.is_secondary]
    vectors = [_vector(index) for index in record.indexes if index.vector is not None]
    if local:
        features["LocalSecondaryIndexes"] = local
    if others:
        features["GlobalSecondaryIndexes"] = others
    if vectors:
        features["VectorIndexes"] = vectors
    if record.stream is not None and record.stream.enabled:
        features["StreamDescription"] = {"StreamEnabled": True, "StreamViewType": record.stream.view_type}
    if record.ttl is not None and record.ttl.enabled:
        features["TimeToLiveDescription"] = {"TimeToLiveStatus": "ENABLED", "AttributeName": record.ttl.attribute}
    if record.encryption_key is not None:
        features["SSEDescription"] = {
            "Status": "ENABLED",
            "SSEType": "KMS",
            "KMSMasterKeyArn": record.encryption_key,
        }
    return features


def _projection(index: IndexRecord) -> Body:
    projection: Body = {"ProjectionType": index.projection_type}
    if index.non_key_attributes:
        projection["NonKeyAttributes"] = index.non_key_attributes
    return projection


def _index(index: IndexRecord) -> Body:
    described: Body = {
        "IndexName": index.name,
        "KeySchema": key_schema(index.partition, index.sort),
        "Projection": _projection(index),
    }
    if index.is_global:
        described["ProvisionedThroughput"] = _units(index.throughput)
        if index.on_demand:
            described["OnDemandThroughput"] = index.on_demand
    return described


def _vector(index: IndexRecord) -> Body:
    assert index.vector is not None, "it is a vector index"
    return {"IndexName": index.name, **vector_definition(index), "Projection": _projection(index)}


def _units(throughput: Throughput) -> Body:
    return {"ReadCapacityUnits": throughput.read, "WriteCapacityUnits": throughput.write}
