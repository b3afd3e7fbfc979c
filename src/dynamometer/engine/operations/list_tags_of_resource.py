"""ListTagsOfResource: all tags of a table. The service gives fifty, the most there are, without a second page."""

from __future__ import annotations

from typing import Any

from dynamometer.engine.arns import tagged_table
from dynamometer.engine.catalog import World
from dynamometer.engine.engine import Engine


def run(engine: Engine, world: World, body: dict[str, Any]) -> dict[str, Any]:
    table = tagged_table(engine.catalog, world, body, "ListTagsOfResource")
    return {"Tags": [{"Key": key, "Value": value} for key, value in table.record.tags.items()]}
