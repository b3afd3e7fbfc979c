"""DeleteTable: a table with all that belongs to it."""

from __future__ import annotations

from typing import Any

from dynamometer.base.errors import ResourceInUseException, ValidationException
from dynamometer.engine import describe, records
from dynamometer.engine.catalog import World
from dynamometer.engine.engine import Engine
from dynamometer.engine.index_updates import IN_USE
from dynamometer.engine.records import TableRecord

Body = dict[str, Any]

_INDEXES = "Cannot delete table while indexes are being created, updated, or deleted."


def run(engine: Engine, world: World, body: Body) -> Body:
    table = engine.catalog.find(world, body["TableName"])
    record = records.copy(table.record)
    _check(record)
    record.status, record.until = "DELETING", engine.catalog.until()
    engine.catalog.save(world, table, record)
    description = describe.deleted_table(engine.store, engine.clock.now(), table)
    engine.catalog.settle(world, table)
    return {"TableDescription": description}


def _check(record: TableRecord) -> None:
    if record.status == "CREATING":
        raise ResourceInUseException(f"{IN_USE}Table is being created: {record.name}")
    if record.status == "DELETING":
        raise ResourceInUseException(f"{IN_USE}Table is being deleted: {record.name}")
    if any(index.status != "ACTIVE" for index in record.indexes):
        raise ResourceInUseException(IN_USE + _INDEXES)
    if record.status == "UPDATING":
        raise ResourceInUseException(f"{IN_USE}Table: {record.name} is in the process of being updated.")
    if record.deletion_protection:
        raise ValidationException(
            "Resource cannot be deleted as it is currently protected against deletion. "
            "Disable deletion protection first."
        )
