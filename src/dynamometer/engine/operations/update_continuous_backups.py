"""UpdateContinuousBackups: keep a table's past from now on, for how long, or forget it."""

from __future__ import annotations

from typing import Any

from dynamometer.base.errors import ContinuousBackupsUnavailableException
from dynamometer.engine import records, recovery
from dynamometer.engine.catalog import World
from dynamometer.engine.engine import Engine


def run(engine: Engine, world: World, body: dict[str, Any]) -> dict[str, Any]:
    specification = body["PointInTimeRecoverySpecification"]
    is_enabled = specification["PointInTimeRecoveryEnabled"]
    table = recovery.find(engine, world, body["TableName"])
    if table.record.status in ("CREATING", "DELETING"):
        # what the service says of a table that has just been made
        raise ContinuousBackupsUnavailableException(
            f"Backups are being enabled for the table: {table.name}. Please retry later"
        )
    if not is_enabled and recovery.is_read(engine, table):
        raise ContinuousBackupsUnavailableException(  # assumed: the past is still being read
            f"The table is being restored to a point in time: {table.name}. Please retry later"
        )
    record = records.copy(table.record)
    record.recovery = None
    if is_enabled:
        period_days = specification.get("RecoveryPeriodInDays", recovery.PERIOD_DAYS)
        record.recovery = recovery.changed(table.record.recovery, period_days, engine.clock.now())
    engine.catalog.save(world, table, record)
    return {"ContinuousBackupsDescription": recovery.describe(engine, record)}
