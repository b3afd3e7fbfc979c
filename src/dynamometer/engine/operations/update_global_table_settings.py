"""UpdateGlobalTableSettings: change the settings of a global table of version 2017.11.29."""

from __future__ import annotations

from typing import Any

from dynamometer.engine.catalog import World
from dynamometer.engine.engine import Engine
from dynamometer.engine.replication import legacy

Body = dict[str, Any]


def run(engine: Engine, world: World, body: Body) -> Body:
    name = body["GlobalTableName"]
    legacy.update_settings(engine, world, body)
    return {"GlobalTableName": name, "ReplicaSettings": legacy.settings(engine, world, name)}
