"""DescribeContinuousBackups: whether a table's past is kept, and from when to when it can be restored."""

from __future__ import annotations

from typing import Any

from dynamometer.engine import recovery
from dynamometer.engine.catalog import World
from dynamometer.engine.engine import Engine


def run(engine: Engine, world: World, body: dict[str, Any]) -> dict[str, Any]:
    table = recovery.find(engine, world, body["TableName"])
    return {"ContinuousBackupsDescription": recovery.describe(engine, table.record)}
