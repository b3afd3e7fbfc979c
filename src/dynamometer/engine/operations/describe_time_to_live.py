"""DescribeTimeToLive: infrastructure tools read it for every table. Expiry itself is not built yet: it is disabled."""

from __future__ import annotations

from typing import Any

from dynamometer.base.errors import ValidationException
from dynamometer.engine.catalog import World
from dynamometer.engine.engine import Engine


def run(engine: Engine, world: World, body: dict[str, Any]) -> dict[str, Any]:
    table = engine.catalog.find(world, body["TableName"])
    status = table.record.status
    if status in ("CREATING", "DELETING"):
        raise ValidationException(
            f"Cannot describe time to live while table is in {status} state: Current table state is {status}"
        )
    return {"TimeToLiveDescription": {"TimeToLiveStatus": "DISABLED"}}
