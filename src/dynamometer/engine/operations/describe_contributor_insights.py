"""DescribeContributorInsights: the insights of a table or a global index."""

from __future__ import annotations

from typing import Any

from dynamometer.engine import insights
from dynamometer.engine.catalog import World
from dynamometer.engine.engine import Engine


def run(engine: Engine, world: World, body: dict[str, Any]) -> dict[str, Any]:
    record = engine.catalog.find(world, body["TableName"]).record
    index = insights.subject(record, body.get("IndexName"))
    return insights.description(record, index, engine.clock.now())
