"""EnableKinesisStreamingDestination: deliver a table's changes to a Kinesis data stream from now on.

Whether there is such a stream is found out afterwards, as on the service.
"""

from __future__ import annotations

from typing import Any

from dynamometer.base.errors import ValidationException
from dynamometer.engine import records
from dynamometer.engine.catalog import World
from dynamometer.engine.engine import Engine
from dynamometer.engine.kinesis_options import MUST_BE_OVER, OVER, status_of, table_of
from dynamometer.engine.records import Destination

Body = dict[str, Any]

_ELSEWHERE = "The kinesis Arn used to enable kinesis replication belongs to a stream which is not in the current region"


def run(engine: Engine, world: World, body: Body) -> Body:
    table, now = table_of(engine, world, body), engine.clock.now()
    arn, configuration = body["StreamArn"], body.get("EnableKinesisStreamingConfiguration") or {}
    record = records.copy(table.record)
    if record.status == "DELETING" or any(status_of(each, now) not in OVER for each in record.destinations):
        raise ValidationException(MUST_BE_OVER)
    precision = configuration.get("ApproximateCreationDateTimePrecision")
    made = Destination(arn, "ACTIVE", engine.catalog.until(), precision, is_unconfirmed=True)
    parts = arn.split(":")
    if len(parts) < 4 or parts[3] != world.region:
        made.status, made.until, made.description = "ENABLE_FAILED", None, _ELSEWHERE
    record.destinations = [made, *(each for each in record.destinations if each.stream_arn != arn)]
    engine.catalog.save(world, table, record)
    return {
        "TableName": table.name,
        "StreamArn": arn,
        "DestinationStatus": "ENABLING",
        "EnableKinesisStreamingConfiguration": configuration,
    }
