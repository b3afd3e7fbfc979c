"""UpdateGlobalTable: add replicas to a global table of version 2017.11.29, and take replicas out."""

from __future__ import annotations

from typing import Any

from dynamometer.engine.catalog import World
from dynamometer.engine.engine import Engine
from dynamometer.engine.replication import describing, legacy

Body = dict[str, Any]


def run(engine: Engine, world: World, body: Body) -> Body:
    record = legacy.update(engine, world, body["GlobalTableName"], body["ReplicaUpdates"])
    if record.replication is None:
        return {"GlobalTableDescription": {"GlobalTableName": record.name, "ReplicationGroup": []}}
    description = describing.global_table(record)
    description["GlobalTableStatus"] = "UPDATING"
    return {"GlobalTableDescription": description}
