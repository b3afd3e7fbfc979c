"""DisableKinesisStreamingDestination: deliver no changes from now on. Those from before are still delivered."""

from __future__ import annotations

from typing import Any

from dynamometer.base.errors import ValidationException
from dynamometer.engine import records
from dynamometer.engine.catalog import World
from dynamometer.engine.engine import Engine
from dynamometer.engine.kinesis_options import MUST_BE_ACTIVE, destination_of, status_of, table_of

Body = dict[str, Any]


def run(engine: Engine, world: World, body: Body) -> Body:
    table, now = table_of(engine, world, body), engine.clock.now()
    if body.get("EnableKinesisStreamingConfiguration"):
        raise ValidationException("Stream cannot be disabled using EnableKinesisStreamingConfiguration parameters")
    record = records.copy(table.record)
    destination = destination_of(record, body["StreamArn"])
    status = None if destination is None or record.status == "DELETING" else status_of(destination, now)
    if destination is None or status not in ("ACTIVE", "DISABLING"):
        raise ValidationException(MUST_BE_ACTIVE)
    if status == "ACTIVE":
        destination.status, destination.until = "DISABLED", engine.catalog.until()
        destination.precision = destination.description = None
        destination.changed_at = []
        engine.catalog.save(world, table, record)
    return {"TableName": table.name, "StreamArn": destination.stream_arn, "DestinationStatus": "DISABLING"}
