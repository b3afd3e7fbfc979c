"""DescribeKinesisStreamingDestination: the Kinesis data streams that a table has, or had, and their states."""

from __future__ import annotations

from typing import Any

from dynamometer.engine.catalog import World
from dynamometer.engine.destinations import NO_SINK
from dynamometer.engine.engine import Engine
from dynamometer.engine.kinesis_options import status_of, table_of
from dynamometer.engine.records import Destination

Body = dict[str, Any]


def run(engine: Engine, world: World, body: Body) -> Body:
    table, now = table_of(engine, world, body), engine.clock.now()
    described = [_describe(engine, each, now) for each in table.record.destinations]
    return {"TableName": table.name, "KinesisDataStreamDestinations": described}


def _describe(engine: Engine, destination: Destination, now: float) -> Body:
    described: Body = {"StreamArn": destination.stream_arn, "DestinationStatus": status_of(destination, now)}
    description = destination.description
    if destination.is_on and not engine.destinations.has_sink:
        description = NO_SINK
    if description is not None:
        described["DestinationStatusDescription"] = description
    if destination.precision is not None:
        # shown only where somebody chose it (measured on the service)
        described["ApproximateCreationDateTimePrecision"] = destination.precision
    return described
