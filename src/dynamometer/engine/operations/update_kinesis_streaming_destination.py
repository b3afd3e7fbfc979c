"""UpdateKinesisStreamingDestination: another precision for the times in the records from now on."""

from __future__ import annotations

from typing import Any

from dynamometer.base.errors import LimitExceededException, ValidationException
from dynamometer.engine import records
from dynamometer.engine.catalog import World
from dynamometer.engine.cursors import MILLISECOND
from dynamometer.engine.engine import Engine
from dynamometer.engine.kinesis_options import active_destination, table_of

Body = dict[str, Any]

UPDATES_MAX = 3
"""Of one destination in 24 hours (developer guide: Kinesis Data Streams)."""
DAY_SECONDS = 24 * 3600
_NOTHING = (
    "Streaming destination cannot be updated with given parameters: "
    "UpdateKinesisStreamingConfiguration cannot be null or contain only null values"
)


def run(engine: Engine, world: World, body: Body) -> Body:
    table, now = table_of(engine, world, body), engine.clock.now()
    record = records.copy(table.record)
    destination = active_destination(record, body["StreamArn"], now)
    configuration = body.get("UpdateKinesisStreamingConfiguration") or {}
    precision = configuration.get("ApproximateCreationDateTimePrecision")
    if precision is None:
        raise ValidationException(_NOTHING)
    if precision == (destination.precision or MILLISECOND):
        raise ValidationException(
            f"Invalid Request: Precision is already set to the desired value of {precision} "
            f"for tableId: {record.table_id}, kdsArn: {destination.stream_arn}"
        )
    recent = [moment for moment in destination.changed_at if moment > now - DAY_SECONDS]
    if len(recent) >= UPDATES_MAX:
        # assumed: that there is such a limit is documented, its text is not
        raise LimitExceededException(
            f"Subscriber limit exceeded: The precision can be updated {UPDATES_MAX} times in 24 hours. "
            f"TableName: {record.name}, kdsArn: {destination.stream_arn}"
        )
    destination.precision, destination.until = precision, engine.catalog.until()
    destination.changed_at = [*recent, now]
    engine.catalog.save(world, table, record)
    return {
        "TableName": table.name,
        "StreamArn": destination.stream_arn,
        "DestinationStatus": "UPDATING",
        "UpdateKinesisStreamingConfiguration": configuration,
    }
