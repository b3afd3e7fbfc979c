"""DescribeGlobalTableSettings: the settings of a global table of version 2017.11.29, region by region."""

from __future__ import annotations

from typing import Any

from dynamometer.engine.catalog import World
from dynamometer.engine.engine import Engine
from dynamometer.engine.replication import legacy

Body = dict[str, Any]


def run(engine: Engine, world: World, body: Body) -> Body:
    name = body["GlobalTableName"]
    return {"GlobalTableName": name, "ReplicaSettings": legacy.settings(engine, world, name)}
