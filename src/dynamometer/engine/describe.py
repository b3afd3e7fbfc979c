"""A table's record as the service describes it. The descriptions of CreateTable and UpdateTable lack a few members
that DescribeTable has; the one of DeleteTable has only a few (measured on the service)."""

from __future__ import annotations

from typing import Any

from dynamometer.engine.catalog import Table
from dynamometer.engine.records import IndexRecord, TableRecord, Throughput, Warm
from dynamometer.engine.replication import describing
from dynamometer.engine.throughput import decreases_today
from dynamometer.storage.interface import Store

Body = dict[str, Any]


def table(store: Store, now: float, subject: Table) -> Body:
    """The whole description, as DescribeTable gives it."""
    record = subject.record
    description: Body = {
        "AttributeDefinitions": [
            {"AttributeName": name, "AttributeType": kind} for name, kind in sorted(record.attributes.items())
        ],
        "KeySchema": key_schema(record.partition, record.sort),
        "CreationDateTime": record.created_at,
        **_heart(store, now, subject),
        "WarmThroughput": _warm(record.warm, "UPDATING" if record.warm.is_changing else "ACTIVE"),
    }
    local = [index for index in record.indexes if not index.is_global]
    if local:
        description["LocalSecondaryIndexes"] = [_index(store, subject, index) for index in local]
    others = [index for index in record.indexes if index.is_secondary]
    if others:
        description["GlobalSecondaryIndexes"] = [_global(store, now, subject, index) for index in others]
    vectors = [index for index in record.indexes if index.vector is not None]
    if vectors:
        description["VectorIndexes"] = [_vector(store, subject, index) for index in vectors]
    _add_options(description, record)
    return description


def new_table(store: Store, now: float, subject: Table, body: Body) -> Body:
    """What CreateTable answers: not everything is known yet."""
    description = table(store, now, subject)
    if not body.get("WarmThroughput"):
        del description["WarmThroughput"]
    for index in description.get("GlobalSecondaryIndexes", ()):
        del index["WarmThroughput"]
    return description


def deleted_table(store: Store, now: float, subject: Table) -> Body:
    """What DeleteTable answers."""
    description = _heart(store, now, subject)
    _add_stream(description, subject.record)
    return description


def key_schema(partition: list[str], sort: list[str]) -> list[Body]:
    """A KeySchema from its attributes."""
    return [
        *({"AttributeName": name, "KeyType": "HASH"} for name in partition),
        *({"AttributeName": name, "KeyType": "RANGE"} for name in sort),
    ]


def _heart(store: Store, now: float, subject: Table) -> Body:
    record = subject.record
    items, size_bytes = store.counters(subject.counters_key, 2)
    description: Body = {
        "TableName": record.name,
        "TableStatus": record.status,
        "TableArn": record.arn,
        "TableId": record.table_id,
        "TableSizeBytes": size_bytes,
        "ItemCount": items,
        "ProvisionedThroughput": _throughput(record.throughput, now),
        "DeletionProtectionEnabled": record.deletion_protection,
    }
    if record.on_demand_since is not None:
        summary: Body = {"BillingMode": record.billing_mode}
        if record.status in ("ACTIVE", "DELETING"):
            summary["LastUpdateToPayPerRequestDateTime"] = record.on_demand_since
        description["BillingModeSummary"] = summary
    return description


def _throughput(throughput: Throughput, now: float) -> Body:
    description: Body = {
        "NumberOfDecreasesToday": decreases_today(throughput, now),
        "ReadCapacityUnits": throughput.read,
        "WriteCapacityUnits": throughput.write,
    }
    if throughput.increased_at is not None:
        description["LastIncreaseDateTime"] = throughput.increased_at
    if throughput.decreased_at is not None:
        description["LastDecreaseDateTime"] = throughput.decreased_at
    return description


def _warm(warm: Warm, status: str) -> Body:
    return {"ReadUnitsPerSecond": warm.read, "WriteUnitsPerSecond": warm.write, "Status": status}


def _index(store: Store, subject: Table, record: IndexRecord) -> Body:
    return {
        "IndexName": record.name,
        "KeySchema": key_schema(record.partition, record.sort),
        **_contents(store, subject, record),
    }


def _contents(store: Store, subject: Table, record: IndexRecord) -> Body:
    items, size_bytes = store.counters(subject.indexes[record.name].counters_key, 2)
    projection: Body = {"ProjectionType": record.projection_type}
    if record.non_key_attributes:
        projection["NonKeyAttributes"] = record.non_key_attributes
    return {
        "Projection": projection,
        "IndexSizeBytes": size_bytes,
        "ItemCount": items,
        "IndexArn": f"{subject.arn}/index/{record.name}",
    }


def _vector(store: Store, subject: Table, record: IndexRecord) -> Body:
    description = {
        "IndexName": record.name,
        **vector_definition(record),
        **_contents(store, subject, record),
        "IndexStatus": record.status,
    }
    _add_backfilling(description, record)
    return description


def vector_definition(record: IndexRecord) -> Body:
    """What a vector index was made with, name and projection apart."""
    vector = record.vector
    assert vector is not None, "it is a vector index"
    definition: Body = {
        "VectorAttribute": {"AttributeName": vector.attribute},
        "Dimensions": vector.dimensions,
        "DistanceFunction": vector.function,
    }
    if vector.search_schema:
        definition["SearchSchema"] = [
            {"AttributeName": name, "SearchSchemaElementType": "HASH" if name in record.partition else "INLINE_FILTER"}
            for name in vector.search_schema
        ]
    return definition


def _add_backfilling(description: Body, record: IndexRecord) -> None:
    if record.backfilling and record.status == "CREATING":
        # false while the service finds room for the index, which takes as long as the table is UPDATING
        description["Backfilling"] = record.until is None


def _global(store: Store, now: float, subject: Table, record: IndexRecord) -> Body:
    warm_status = "UPDATING" if record.warm.is_changing else "ACTIVE"
    description = {
        **_index(store, subject, record),
        "IndexStatus": record.status,
        "ProvisionedThroughput": _throughput(record.throughput, now),
        "WarmThroughput": _warm(record.warm, warm_status),
    }
    _add_backfilling(description, record)
    if record.on_demand:
        description["OnDemandThroughput"] = record.on_demand
    return description


def _add_options(description: Body, record: TableRecord) -> None:
    if record.on_demand:
        description["OnDemandThroughput"] = record.on_demand
    if record.table_class is not None:
        summary: Body = {"TableClass": record.table_class}
        if record.table_class_at is not None:
            summary["LastUpdateDateTime"] = record.table_class_at
        description["TableClassSummary"] = summary
    if record.encryption_key is not None:
        description["SSEDescription"] = {
            "Status": "ENABLED",
            "SSEType": "KMS",
            "KMSMasterKeyArn": record.encryption_key,
        }
    _add_stream(description, record)
    describing.add_to(description, record)
    restore = record.restore
    if restore is not None:
        restored: Body = {"SourceTableArn": restore.source_arn, "RestoreDateTime": restore.at}
        if restore.backup_arn is not None:
            restored["SourceBackupArn"] = restore.backup_arn
        description["RestoreSummary"] = restored | {"RestoreInProgress": restore.is_running}


def _add_stream(description: Body, record: TableRecord) -> None:
    stream = record.stream
    if stream is None:
        return
    description["LatestStreamLabel"] = stream.label
    description["LatestStreamArn"] = f"{record.arn}/stream/{stream.label}"
    if stream.enabled:
        description["StreamSpecification"] = {"StreamEnabled": True, "StreamViewType": stream.view_type}
