"""ListBackups: the backups of an account in a region, or of one table, in pages; by table, and oldest first."""

from __future__ import annotations

from typing import Any

from dynamometer.engine import backup_descriptions
from dynamometer.engine.arns import table_name_of
from dynamometer.engine.backups import ALL, USER
from dynamometer.engine.catalog import World
from dynamometer.engine.engine import Engine

Body = dict[str, Any]
PAGE_MAX = 100


def run(engine: Engine, world: World, body: Body) -> Body:
    name = None if "TableName" not in body else table_name_of(world, body["TableName"])
    kind = body.get("BackupType", USER)
    lower, upper = body.get("TimeRangeLowerBound", 0), body.get("TimeRangeUpperBound", float("inf"))
    limit, now = body.get("Limit", PAGE_MAX), engine.clock.now()
    page: list[Body] = []
    for backup in engine.backups.listed(world, name, body.get("ExclusiveStartBackupArn")):
        if kind not in (ALL, backup.kind) or not lower <= backup.created_at < upper:
            continue
        if len(page) == limit:
            return {"BackupSummaries": page, "LastEvaluatedBackupArn": page[-1]["BackupArn"]}
        page.append(backup_descriptions.summary(backup, now))
    return {"BackupSummaries": page}
