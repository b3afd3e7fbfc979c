"""RestoreTableFromBackup: a new table with the items of a backup, of this Region or another."""

from __future__ import annotations

from typing import Any

from dynamometer.base.errors import BackupInUseException
from dynamometer.engine import backup_descriptions, describe, restored_tables
from dynamometer.engine.catalog import World
from dynamometer.engine.engine import Engine
from dynamometer.engine.records import Restore


def run(engine: Engine, world: World, body: dict[str, Any]) -> dict[str, Any]:
    restored_tables.check_overrides(body, is_past=False)
    backup = backup_descriptions.own(engine, world, body["BackupArn"])
    restored_tables.check_target(engine, world, body["TargetTableName"])
    if backup.status(engine.clock.now()) == "CREATING":
        raise BackupInUseException(f"Backup is being created: {backup.arn}")  # assumed text
    restore = Restore(backup.table_arn, backup.arn, backup.created_at)
    record = restored_tables.record_of(engine, world, body, backup.source(), restore)
    table = engine.restores.begin(world, record, backup)
    return {"TableDescription": describe.new_table(engine.store, engine.clock.now(), table, {})}
