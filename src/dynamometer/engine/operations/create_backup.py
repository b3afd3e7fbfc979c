"""CreateBackup: a copy of a table as it is now, made while the table serves."""

from __future__ import annotations

from typing import Any

from dynamometer.base.errors import TableInUseException
from dynamometer.engine import backup_descriptions, recovery
from dynamometer.engine.catalog import World
from dynamometer.engine.engine import Engine


def run(engine: Engine, world: World, body: dict[str, Any]) -> dict[str, Any]:
    table = recovery.find(engine, world, body["TableName"])
    if table.record.status in ("CREATING", "DELETING"):
        verb = "created" if table.record.status == "CREATING" else "deleted"
        raise TableInUseException(f"Table is being {verb}: {table.name}")  # assumed text
    backup = engine.backups.create(table, body["BackupName"])
    details = backup_descriptions.details(backup, engine.clock.now())
    return {"BackupDetails": details | {"BackupStatus": "CREATING"}}
