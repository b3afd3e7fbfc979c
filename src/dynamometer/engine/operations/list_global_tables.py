"""ListGlobalTables: the global tables of version 2017.11.29, by name."""

from __future__ import annotations

from typing import Any

from dynamometer.engine.catalog import World
from dynamometer.engine.engine import Engine
from dynamometer.engine.replication import legacy

Body = dict[str, Any]

LIMIT = 100


def run(engine: Engine, world: World, body: Body) -> Body:
    region, after, limit = (
        body.get("RegionName"),
        body.get("ExclusiveStartGlobalTableName", ""),
        body.get("Limit", LIMIT),
    )
    found = [
        {"GlobalTableName": name, "ReplicationGroup": [{"RegionName": member.region} for member in members]}
        for name, record in legacy.listed(engine, world).items()
        if name > after and (members := record.replication.members if record.replication is not None else [])
        if region is None or any(member.region == region for member in members)
    ]
    answer: Body = {"GlobalTables": found[:limit]}
    if len(found) > limit:
        answer["LastEvaluatedGlobalTableName"] = found[limit - 1]["GlobalTableName"]
    return answer
