"""UpdateContributorInsights: switch the insights of a table or a global index on or off, or to another mode."""

from __future__ import annotations

from typing import Any

from dynamometer.engine import insights, records
from dynamometer.engine.catalog import World
from dynamometer.engine.engine import Engine

Body = dict[str, Any]


def run(engine: Engine, world: World, body: Body) -> Body:
    table = engine.catalog.find(world, body["TableName"])
    insights.check_state(table.record)
    index = insights.subject(table.record, body.get("IndexName"))
    name = "" if index is None else index.name
    record, now = records.copy(table.record), round(engine.clock.now(), 3)
    action, mode = body["ContributorInsightsAction"], body.get("ContributorInsightsMode")
    insights.change(record, name, action, mode, now, engine.catalog.until())
    answer = insights.summary(record, name, now)
    if record.insights != table.record.insights:
        engine.catalog.save(world, table, record)
        # as on the service the answer tells what has begun, even where it takes no time
        answer["ContributorInsightsStatus"] = "ENABLING" if action == "ENABLE" else "DISABLING"
    return answer
