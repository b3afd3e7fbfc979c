"""CreateGlobalTable: join empty tables of several regions in a global table of version 2017.11.29."""

from __future__ import annotations

from typing import Any

from dynamometer.engine.catalog import World
from dynamometer.engine.engine import Engine
from dynamometer.engine.replication import describing, legacy

Body = dict[str, Any]


def run(engine: Engine, world: World, body: Body) -> Body:
    regions = [replica["RegionName"] for replica in body["ReplicationGroup"] if "RegionName" in replica]
    record = legacy.create(engine, world, body["GlobalTableName"], regions)
    description = describing.global_table(record)
    # the answer is given while the global table is made
    description["GlobalTableStatus"] = "CREATING"
    for replica in description["ReplicationGroup"]:
        replica["ReplicaStatus"] = "CREATING"
    return {"GlobalTableDescription": description}
