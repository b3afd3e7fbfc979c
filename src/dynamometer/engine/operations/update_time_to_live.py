"""UpdateTimeToLive: name the attribute that says when items expire, or stop expiring them.

The service allows one change an hour; here, the change and its announced states take `table_transition_seconds`.
"""

from __future__ import annotations

from typing import Any

from dynamometer.base.errors import ResourceInUseException, ValidationException
from dynamometer.engine import keyspace, records
from dynamometer.engine.catalog import World
from dynamometer.engine.engine import Engine
from dynamometer.engine.reaper import ExpiryBackfill
from dynamometer.engine.records import TableRecord, TimeToLive
from dynamometer.engine.replication.groups import LEGACY

Body = dict[str, Any]


def run(engine: Engine, world: World, body: Body) -> Body:
    specification = body["TimeToLiveSpecification"]
    attribute, enabled = specification["AttributeName"], specification["Enabled"]
    table = engine.catalog.find(world, body["TableName"])
    if table.record.status in ("CREATING", "DELETING"):
        raise ResourceInUseException(f"Table is not in ACTIVE state: {table.name}")
    now = engine.clock.now()
    _check(table.record.ttl, attribute, enabled, now)
    record = records.copy(table.record)
    record.ttl = TimeToLive(attribute, enabled, now, engine.catalog.until(), backfilling=enabled)
    if record.replication is None or record.replication.version == LEGACY:
        engine.catalog.save(world, table, record)
    else:
        _check_replicas(record)
        engine.replication.save(world, table, record)
    if enabled:
        engine.jobs.append(ExpiryBackfill(engine, table))
    else:
        prefix = keyspace.due_prefix(table.number)
        engine.store.delete_range(prefix, keyspace.successor(prefix))
    return {"TimeToLiveSpecification": {"Enabled": enabled, "AttributeName": attribute}}


def _check_replicas(record: TableRecord) -> None:
    if record.replication is not None and record.replication.is_strong:
        # assumed text; that it is not supported says the developer guide
        raise ValidationException("Time to live is not supported by global tables with strong consistency")


def _check(current: TimeToLive | None, attribute: str, enabled: bool, now: float) -> None:
    is_enabled = current is not None and current.enabled
    if current is not None and is_enabled and current.attribute != attribute:
        raise ValidationException(
            f"TimeToLive is active on a different AttributeName: current AttributeName is {current.attribute}"
        )
    if enabled and is_enabled:
        raise ValidationException("TimeToLive is already enabled")
    if not enabled and not is_enabled:
        raise ValidationException("TimeToLive is already disabled")
    if current is not None and current.until is not None and now < current.until:
        raise ValidationException("Time to live has been modified multiple times within a fixed interval")
