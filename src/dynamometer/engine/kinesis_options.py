"""What the Kinesis streaming operations have in common: states, their names, and what may be done in which.

All states, texts and transitions were measured on the service.
"""

from __future__ import annotations

from typing import Any

from dynamometer.base.errors import ResourceNotFoundException, ValidationException
from dynamometer.engine.catalog import Table, World
from dynamometer.engine.engine import Engine
from dynamometer.engine.records import Destination, TableRecord

Body = dict[str, Any]

OVER = ("DISABLED", "ENABLE_FAILED")
_INVALID = "Table is not in a valid state to enable Kinesis Streaming Destination: "
MUST_BE_OVER = (
    _INVALID + "EnableKinesisStreamingDestination must be DISABLED or ENABLE_FAILED to perform ENABLE operation."
)
MUST_BE_ACTIVE = _INVALID + "KinesisStreamingDestination must be ACTIVE to perform DISABLE operation."
_NOT_ACTIVE = (
    _INVALID + "Kinesis streaming is not in ACTIVE state. Updates are only allowed in ACTIVE state. "
    "TableName: {}, kdsArn: {}"
)
_UNKNOWN = _INVALID + "No streaming destination with streamArn: {} found for table with tableName: {}"


def table_of(engine: Engine, world: World, body: Body) -> Table:
    """The table; one that is being created is not there yet. Raises ResourceNotFoundException."""
    table = engine.catalog.find(world, body["TableName"])
    if table.record.status == "CREATING":
        raise ResourceNotFoundException(f"Requested resource not found: Table: {table.name} not found")
    return table


def status_of(destination: Destination, now: float) -> str:
    """The state that a destination shows: on the way to its status until its time has come."""
    is_changing = destination.until is not None and now < destination.until
    if destination.status == "ACTIVE":
        if destination.is_unconfirmed or (is_changing and not destination.changed_at):
            return "ENABLING"
        return "UPDATING" if is_changing else "ACTIVE"
    return "DISABLING" if is_changing and destination.status == "DISABLED" else destination.status


def destination_of(record: TableRecord, stream_arn: str) -> Destination | None:
    """The destination with this stream."""
    return next((each for each in record.destinations if each.stream_arn == stream_arn), None)


def active_destination(record: TableRecord, stream_arn: str, now: float) -> Destination:
    """The destination to update. Raises ValidationException unless it is ACTIVE."""
    destination = destination_of(record, stream_arn)
    if destination is None:
        raise ValidationException(_UNKNOWN.format(stream_arn, record.name))
    if status_of(destination, now) != "ACTIVE":
        raise ValidationException(_NOT_ACTIVE.format(record.name, stream_arn))
    return destination
