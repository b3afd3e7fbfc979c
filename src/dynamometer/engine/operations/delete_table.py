"""DeleteTable: a table with all that belongs to it."""

from __future__ import annotations

from functools import partial
from typing import Any

from dynamometer.base.errors import ResourceInUseException, ValidationException
from dynamometer.engine import describe, records, recovery
from dynamometer.engine.catalog import Table, World
from dynamometer.engine.engine import Engine
from dynamometer.engine.index_updates import IN_USE
from dynamometer.engine.records import TableRecord
from dynamometer.engine.replication.updates import check_source

Body = dict[str, Any]

_INDEXES = "Cannot delete table while indexes are being created, updated, or deleted."


def run(engine: Engine, world: World, body: Body) -> Body:
    table = engine.catalog.find(world, body["TableName"])
    record = records.copy(table.record)
    _check(record)
    _check_readers(engine, table)
    record.status, record.until = "DELETING", engine.catalog.until()
    if record.replication is not None:
        if not _leave(engine, world, table):
            return {"TableDescription": describe.deleted_table(engine.store, engine.clock.now(), table)}
        record.replication = None
    # the items of a table whose past is kept become a backup (developer guide: point-in-time recovery)
    archive = None if record.recovery is None else partial(engine.backups.archive, table, record)
    engine.catalog.save(world, table, record, archive)
    description = describe.deleted_table(engine.store, engine.clock.now(), table)
    engine.catalog.settle(world, table)
    return {"TableDescription": description}


def _check_readers(engine: Engine, table: Table) -> None:
    """Raise while a backup is made of the table, as the developer guide says (the text is assumed), or a restore."""
    if engine.backups.is_copying(table):
        raise ResourceInUseException(f"{IN_USE}Table is being backed up: {table.name}")
    if recovery.is_read(engine, table):
        raise ResourceInUseException(f"{IN_USE}Table is being restored: {table.name}")


def _leave(engine: Engine, world: World, table: Table) -> bool:
    """Let the other replicas go on without this one; False if they have not got all that was written in it yet.

    Raises ValidationException where the developer guide forbids that.
    """
    replication = table.record.replication
    assert replication is not None, "it is a replica"
    if replication.is_strong:
        raise ValidationException(  # assumed text
            "A replica of a global table with strong consistency cannot be deleted by itself: delete two replicas, or "
            "a replica and the witness, with UpdateTable"
        )
    check_source(table.record, engine.clock.now())
    if not engine.replication.drain(world, table):
        return False
    engine.replication.leave(world, table)
    return True


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
