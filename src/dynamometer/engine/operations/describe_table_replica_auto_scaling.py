"""DescribeTableReplicaAutoScaling: what is set for the capacity of a table and its global indexes."""

from __future__ import annotations

from typing import Any

from dynamometer.engine import scaling
from dynamometer.engine.catalog import World
from dynamometer.engine.engine import Engine


def run(engine: Engine, world: World, body: dict[str, Any]) -> dict[str, Any]:
    table = scaling.find(engine.catalog, world, body["TableName"])
    return {"TableAutoScalingDescription": scaling.description(table, world.region)}
