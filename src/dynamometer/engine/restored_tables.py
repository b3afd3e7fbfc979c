"""The record of a restored table: what it takes over from its source, and what the request has otherwise.

A restored table has its source's keys, indexes, capacity, class and encryption. It does not have its stream, time to
live, tags, policies, deletion protection and point-in-time recovery (service model: RestoreTableFromBackup; that it is
not protected is assumed). Overrides can leave indexes out, but not change or add any. Texts are those of CreateTable
where there is such a check; the others are assumed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from dynamometer.base.errors import TableAlreadyExistsException, TableInUseException
from dynamometer.engine import options, schemas, throughput
from dynamometer.engine.catalog import World
from dynamometer.engine.records import ON_DEMAND, IndexRecord, Restore, TableRecord, Throughput, Warm
from dynamometer.engine.schemas import invalid
from dynamometer.engine.vectors import definitions

if TYPE_CHECKING:
    from dynamometer.engine.engine import Engine

Body = dict[str, Any]

_NO_CEILING = "cannot be specified when table BillingMode is PROVISIONED."
_MISSING = "ProvisionedThroughput is not specified for index: {}"
_UNWANTED = "ProvisionedThroughput should not be specified for index: {} when BillingMode is PAY_PER_REQUEST"


def check_target(engine: Engine, world: World, name: str) -> None:
    """Raise when there is a table of the name already."""
    existing = world.tables.get(name)
    if existing is None or engine.catalog.settle(world, existing) is None:
        return
    state = existing.record.status
    if state in ("CREATING", "DELETING"):
        verb = "created" if state == "CREATING" else "deleted"
        raise TableInUseException(f"Table is being {verb}: {name}")  # assumed text
    raise TableAlreadyExistsException(f"Table already exists: {name}")


def check_overrides(body: Body, is_past: bool) -> None:
    """Raise for overrides that no source allows. `is_past`: of RestoreTableToPointInTime."""
    for raw in body.get("GlobalSecondaryIndexOverride") or ():
        if is_past and "WarmThroughput" in raw:
            # service model: RestoreTableToPointInTime refuses what the shared index definition allows
            raise invalid(f"WarmThroughput is not supported for index: {raw['IndexName']}")


def record_of(engine: Engine, world: World, body: Body, source: TableRecord, restore: Restore) -> TableRecord:
    """The record of the table that a restore makes. Raises ValidationException."""
    now = round(engine.clock.now(), 3)
    mode = body.get("BillingModeOverride", source.billing_mode)
    units = _units(body, source, mode, world.region)
    ceiling = body.get("OnDemandThroughputOverride")
    throughput.check_on_demand(ceiling, mode, 1, _NO_CEILING)
    encryption_key = source.encryption_key
    if "SSESpecificationOverride" in body:
        encryption_key = options.encryption_key(body["SSESpecificationOverride"], world.account, world.region)
    indexes = _indexes(body, source, mode, world.region)
    record = TableRecord(
        account=world.account,
        region=world.region,
        name=body["TargetTableName"],
        number=0,
        table_id="",
        created_at=now,
        attributes=dict(source.attributes),
        partition=source.partition,
        sort=source.sort,
        billing_mode=mode,
        on_demand_since=now if mode == ON_DEMAND else None,
        throughput=units,
        warm=throughput.warm_of_new(None, mode, units),
        on_demand=_ceiling(source.on_demand, ceiling, mode),
        indexes=indexes,
        next_index=len(indexes) + 1,
        table_class=source.table_class,
        encryption_key=encryption_key,
        restore=restore,
    )
    record.prune_attributes()
    return record


def _units(body: Body, source: TableRecord, mode: str, region: str) -> Throughput:
    given = body.get("ProvisionedThroughputOverride")
    if given is None and mode == source.billing_mode:
        return Throughput(source.throughput.read, source.throughput.write)
    asked = {"BillingMode": mode} | ({} if given is None else {"ProvisionedThroughput": given})
    return throughput.of_new_table(asked, region)


def _ceiling(source: dict[str, int], given: Body | None, mode: str) -> dict[str, int]:
    if mode != ON_DEMAND:
        return {}
    return dict(given) if given else dict(source)


_KINDS: tuple[tuple[str, str, Callable[[IndexRecord], bool]], ...] = (
    ("local secondary", "LocalSecondaryIndexOverride", lambda index: not index.is_global),
    ("global secondary", "GlobalSecondaryIndexOverride", lambda index: index.is_secondary),
    ("vector", "VectorIndexOverride", lambda index: index.vector is not None),
)


def _indexes(body: Body, source: TableRecord, mode: str, region: str) -> list[IndexRecord]:
    """The source's indexes without those that the overrides leave out, numbered anew."""
    kept = []
    for kind, member, is_kind in _KINDS:
        there = [index for index in source.indexes if is_kind(index) and index.status != "DELETING"]
        given = body.get(member)
        if given is None:
            kept += [_index(index, {}, source, mode, region) for index in there]
            continue
        wanted = {raw["IndexName"]: raw for raw in given}
        for number, raw in enumerate(given):
            if any(raw["IndexName"] == other["IndexName"] for other in given[:number]):
                raise invalid(f"Duplicate index name: {raw['IndexName']}")
            _check_same(kind, raw, there, source)
        kept += [_index(index, wanted[index.name], source, mode, region) for index in there if index.name in wanted]
    if any(index.vector is not None for index in kept):
        definitions.check_mode(mode)
    for number, index in enumerate(kept, 1):
        index.number = number
    return kept


def _check_same(kind: str, raw: Body, there: list[IndexRecord], source: TableRecord) -> None:
    """Raise unless the index is one of the source's, as it is there."""
    name = raw["IndexName"]
    index = next((index for index in there if index.name == name), None)
    if index is None:
        raise invalid(f"The {kind} index {name} does not exist in the source table")
    asked = definitions.vector_index(raw, source.attributes) if kind == "vector" else schemas.global_index(raw)
    if _identity(asked) != _identity(index):
        raise invalid(f"The {kind} index {name} does not match the one of the source table")


def _identity(index: IndexRecord) -> tuple[Any, ...]:
    return index.partition, index.sort, index.projection_type, index.non_key_attributes, index.vector


def _index(index: IndexRecord, raw: Body, source: TableRecord, mode: str, region: str) -> IndexRecord:
    units, ceiling, warm = Throughput(), raw.get("OnDemandThroughput"), Warm()
    if index.is_secondary:
        if "ProvisionedThroughput" in raw or mode != source.billing_mode:
            units = throughput.of_new_index(raw | {"IndexName": index.name}, mode, region, _MISSING, _UNWANTED)
        else:
            units = Throughput(index.throughput.read, index.throughput.write)
        throughput.check_on_demand(ceiling, mode, 1, _NO_CEILING, index.name)
        warm = throughput.warm_of_new(raw.get("WarmThroughput"), mode, units, index.name)
    return IndexRecord(
        name=index.name,
        number=0,
        is_global=index.is_global,
        partition=index.partition,
        sort=index.sort,
        projection_type=index.projection_type,
        non_key_attributes=index.non_key_attributes,
        status="CREATING",
        throughput=units,
        warm=warm,
        on_demand=_ceiling(index.on_demand, ceiling, mode) if index.is_secondary else {},
        vector=index.vector,
    )
