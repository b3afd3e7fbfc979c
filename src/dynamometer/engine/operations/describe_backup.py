"""DescribeBackup: a backup, and the table that it shows."""

from __future__ import annotations

from typing import Any

from dynamometer.engine import backup_descriptions
from dynamometer.engine.catalog import World
from dynamometer.engine.engine import Engine


def run(engine: Engine, world: World, body: dict[str, Any]) -> dict[str, Any]:
    backup = backup_descriptions.own(engine, world, body["BackupArn"])
    return {"BackupDescription": backup_descriptions.description(backup, engine.clock.now())}
