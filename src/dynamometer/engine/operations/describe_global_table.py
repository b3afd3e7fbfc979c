"""DescribeGlobalTable: a global table of version 2017.11.29 and its replicas."""

from __future__ import annotations

from typing import Any

from dynamometer.engine.catalog import World
from dynamometer.engine.engine import Engine
from dynamometer.engine.replication import describing, legacy

Body = dict[str, Any]


def run(engine: Engine, world: World, body: Body) -> Body:
    _, table = legacy.find(engine, world, body["GlobalTableName"])
    return {"GlobalTableDescription": describing.global_table(table.record)}
