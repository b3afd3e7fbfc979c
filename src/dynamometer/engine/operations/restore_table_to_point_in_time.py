"""RestoreTableToPointInTime: a new table with the items that a table had at a second of its recovery window."""

from __future__ import annotations

from typing import Any

from dynamometer.base.errors import (
    InvalidRestoreTimeException,
    PointInTimeRecoveryUnavailableException,
    TableNotFoundException,
    ValidationException,
)
from dynamometer.engine import describe, recovery, restored_tables
from dynamometer.engine.arns import source_of
from dynamometer.engine.catalog import Table, World
from dynamometer.engine.engine import Engine
from dynamometer.engine.records import Recovery, Restore

Body = dict[str, Any]


def run(engine: Engine, world: World, body: Body) -> Body:
    _check(body)
    restored_tables.check_overrides(body, is_past=True)
    source = _source(engine, world, body)
    restored_tables.check_target(engine, world, body["TargetTableName"])
    kept = source.record.recovery
    if kept is None or source.record.status == "DELETING":
        raise PointInTimeRecoveryUnavailableException(
            f"Point in time recovery is not enabled for table '{source.name}'"
        )
    restore = Restore(source.arn, None, _moment(engine, body, kept), source.number)
    record = restored_tables.record_of(engine, world, body, source.record, restore)
    table = engine.restores.begin(world, record, source)
    return {"TableDescription": describe.new_table(engine.store, engine.clock.now(), table, {})}


def _check(body: Body) -> None:
    """Raise unless the request names one table and one moment. (Assumed texts.)"""
    if ("SourceTableName" in body) == ("SourceTableArn" in body):
        raise ValidationException("Exactly one of SourceTableName and SourceTableArn must be specified")
    if ("RestoreDateTime" in body) == bool(body.get("UseLatestRestorableTime")):
        raise ValidationException("Exactly one of RestoreDateTime and UseLatestRestorableTime must be specified")


def _source(engine: Engine, world: World, body: Body) -> Table:
    """The table, which its ARN may find in another Region. Raises TableNotFoundException."""
    arn = body.get("SourceTableArn")
    if arn is None:
        return recovery.find(engine, world, body["SourceTableName"])
    place = source_of(arn)
    if place is None or place[0] != world.account:
        raise TableNotFoundException(f"Table not found: {arn}")
    return recovery.find(engine, engine.world(place[0], place[1]), place[2])


def _moment(engine: Engine, body: Body, kept: Recovery) -> float:
    """The second to restore. Raises InvalidRestoreTimeException for one that is not in the window."""
    earliest, latest = recovery.window(kept, engine.clock.now(), engine.settings.recovery_lag_seconds)
    at: float = body.get("RestoreDateTime", latest)
    if not earliest <= at <= latest:
        # the service model's words
        raise InvalidRestoreTimeException(
            "An invalid restore time was specified. RestoreDateTime must be between EarliestRestorableDateTime and "
            "LatestRestorableDateTime."
        )
    return at
