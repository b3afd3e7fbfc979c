"""DescribeTimeToLive: which attribute says when items expire, and whether they do."""

from __future__ import annotations

from typing import Any

from dynamometer.base.errors import ValidationException
from dynamometer.engine.catalog import World
from dynamometer.engine.engine import Engine

Body = dict[str, Any]


def run(engine: Engine, world: World, body: Body) -> Body:
    table = engine.catalog.find(world, body["TableName"])
    status = table.record.status
    if status in ("CREATING", "DELETING"):
        raise ValidationException(
            f"Cannot describe time to live while table is in {status} state: Current table state is {status}"
        )
    ttl = table.record.ttl
    description: Body = {"TimeToLiveStatus": "DISABLED"}
    if ttl is not None:
        changing = ttl.until is not None and engine.clock.now() < ttl.until
        if ttl.enabled:
            description["TimeToLiveStatus"] = "ENABLING" if changing else "ENABLED"
        elif changing:
            description["TimeToLiveStatus"] = "DISABLING"
        if ttl.enabled or changing:
            description["AttributeName"] = ttl.attribute
    return {"TimeToLiveDescription": description}
