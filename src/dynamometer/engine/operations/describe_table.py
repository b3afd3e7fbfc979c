"""DescribeTable: everything that is known of a table."""

from __future__ import annotations

from typing import Any

from dynamometer.engine import describe
from dynamometer.engine.catalog import World
from dynamometer.engine.engine import Engine


def run(engine: Engine, world: World, body: dict[str, Any]) -> dict[str, Any]:
    table = engine.catalog.find(world, body["TableName"])
    return {"Table": describe.table(engine.store, engine.clock.now(), table)}
