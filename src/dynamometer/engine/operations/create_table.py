"""CreateTable: a new table with its indexes, empty."""

from __future__ import annotations

from typing import Any

from dynamometer.base.errors import ResourceInUseException, ValidationException
from dynamometer.engine import describe, options, policies, schemas, throughput
from dynamometer.engine.arns import table_name_of
from dynamometer.engine.catalog import World
from dynamometer.engine.engine import Engine
from dynamometer.engine.index_updates import IN_USE
from dynamometer.engine.records import ON_DEMAND, IndexRecord, TableRecord
from dynamometer.engine.schemas import invalid
from dynamometer.engine.vectors import definitions

Body = dict[str, Any]

NOT_BUILT = ("GlobalTableSourceArn",)
_NO_SORT_KEY = "Table KeySchema does not have a range key, which is required when specifying a LocalSecondaryIndex"
_NO_CEILING = "cannot be specified when table BillingMode is PROVISIONED."
_MISSING = "ProvisionedThroughput is not specified for index: {}"
_UNWANTED = "ProvisionedThroughput should not be specified for index: {} when BillingMode is PAY_PER_REQUEST"


def run(engine: Engine, world: World, body: Body) -> Body:
    record = record_of(engine, world, body)
    check_free(engine, world, record.name)
    table, _ = engine.catalog.create(world, record)
    return {"TableDescription": describe.new_table(engine.store, engine.clock.now(), table, body)}


def check_free(engine: Engine, world: World, name: str) -> None:
    """Raise ResourceInUseException when there is a table of the name."""
    existing = world.tables.get(name)
    if existing is None or engine.catalog.settle(world, existing) is None:
        return
    state = existing.record.status
    if state in ("CREATING", "DELETING"):
        state = "created" if state == "CREATING" else "deleted"
        raise ResourceInUseException(f"{IN_USE}Table is being {state}: {name}")
    raise ResourceInUseException(f"Table already exists: {name}")


def record_of(engine: Engine, world: World, body: Body) -> TableRecord:
    """The request's checks in the service's order, and what it makes."""
    for member in NOT_BUILT:
        if member in body:
            raise ValidationException(f"{member} is not supported yet")
    now, mode = round(engine.clock.now(), 3), throughput.mode_of(body)
    units = throughput.of_new_table(body, world.region)
    throughput.check_on_demand(body.get("OnDemandThroughput"), mode, 1, _NO_CEILING)
    warm = throughput.warm_of_new(body.get("WarmThroughput"), mode, units)
    types = schemas.definitions_of(body)
    indexes = _indexes(body, types, mode, world.region)
    name = table_name_of(world, body["TableName"])
    stream = options.new_stream(body.get("StreamSpecification"), now, engine.streams.labels(world, name))
    options.check_class(body)
    tags = options.tags_of(body.get("Tags", []))
    options.check_tag_count(tags)
    options.check_tag_bytes(tags)
    partition, sort = schemas.split_key(body["KeySchema"])
    until = engine.catalog.until()
    for number, index in enumerate(indexes, 1):
        index.number, index.status, index.until = number, "CREATING", until
    record = TableRecord(
        account=world.account,
        region=world.region,
        name=name,
        number=0,
        table_id="",
        created_at=now,
        attributes=types,
        partition=partition,
        sort=sort,
        billing_mode=mode,
        until=until,
        on_demand_since=now if mode == ON_DEMAND else None,
        throughput=units,
        warm=warm,
        on_demand=dict(body.get("OnDemandThroughput") or {}),
        indexes=indexes,
        next_index=len(indexes) + 1,
        table_class=body.get("TableClass"),
        encryption_key=options.encryption_key(body.get("SSESpecification"), world.account, world.region),
        stream=stream,
        deletion_protection=body.get("DeletionProtectionEnabled", False),
        tags=tags,
        settings_mode=_settings_mode(body),
    )
    if "ResourcePolicy" in body:
        policies.attach(record, body["ResourcePolicy"], now)
    return record


def _settings_mode(body: Body) -> str | None:
    """What the settings of a global table will be, once the table is part of one. Raises ValidationException."""
    mode: str | None = body.get("GlobalTableSettingsReplicationMode")
    if mode == "ENABLED_WITH_OVERRIDES":
        raise invalid("GlobalTableSettingsReplicationMode can only be ENABLED or DISABLED for a table of one Region")
    return mode


def _indexes(body: Body, types: dict[str, str], mode: str, region: str) -> list[IndexRecord]:
    key_schema = body["KeySchema"]
    raw_local, raw_global = body.get("LocalSecondaryIndexes"), body.get("GlobalSecondaryIndexes")
    raw_vectors = body.get("VectorIndexes")
    definitions.check_list(raw_vectors, mode)
    has_indexes = any(raw is not None for raw in (raw_local, raw_global, raw_vectors))
    schemas.check_table_key(key_schema, types, has_indexes)
    schemas.check_lists(raw_local, raw_global)
    if raw_local and len(key_schema) != 2:
        raise invalid(_NO_SORT_KEY)
    keys = schemas.names_of(key_schema)
    for raw in raw_local or ():
        schemas.check_local_key(raw, types)
        keys += schemas.names_of(raw["KeySchema"])
    for raw in raw_global or ():
        schemas.check_global_key(raw, types)
        keys += schemas.names_of(raw["KeySchema"])
    vectors = [definitions.vector_index(raw, types) for raw in raw_vectors or ()]
    keys += [name for raw in raw_vectors or () for name in definitions.schema_names(raw)]
    definitions.check_attributes(vectors, types)
    schemas.check_all_used(types, keys)
    local = [schemas.local_index(raw, key_schema) for raw in raw_local or ()]
    if len(local) > schemas.LOCAL_INDEXES_MAX:
        raise invalid(f"Number of LocalSecondaryIndexes exceeds per-table limit of {schemas.LOCAL_INDEXES_MAX}")
    others = [_global_index(raw, mode, region) for raw in raw_global or ()]
    if len(others) > schemas.GLOBAL_INDEXES_MAX:
        raise invalid(f"GlobalSecondaryIndex count exceeds the per-table limit of {schemas.GLOBAL_INDEXES_MAX}")
    indexes = local + others + vectors
    schemas.check_names(indexes)
    schemas.check_projected(indexes)
    return indexes


def _global_index(raw: Body, mode: str, region: str) -> IndexRecord:
    index = schemas.global_index(raw)
    index.throughput = throughput.of_new_index(raw, mode, region, _MISSING, _UNWANTED)
    throughput.check_on_demand(raw.get("OnDemandThroughput"), mode, 1, _NO_CEILING, index.name)
    index.on_demand = dict(raw.get("OnDemandThroughput") or {})
    index.warm = throughput.warm_of_new(raw.get("WarmThroughput"), mode, index.throughput, index.name)
    return index
