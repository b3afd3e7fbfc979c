"""ListContributorInsights: the tables and global indexes that have insights, or are about to have none any more."""

from __future__ import annotations

from typing import Any

import orjson

from dynamometer.base.errors import ValidationException
from dynamometer.engine import insights
from dynamometer.engine.catalog import World
from dynamometer.engine.engine import Engine
from dynamometer.model.values import decode_binary, encode_binary

Body = dict[str, Any]

PAGE = 100


def run(engine: Engine, world: World, body: Body) -> Body:
    now, behind = engine.clock.now(), _place(body.get("NextToken"))
    if "TableName" in body:
        tables = [engine.catalog.find(world, body["TableName"])]
    else:
        tables = [world.tables[name] for name in engine.catalog.names(world)]
    summaries = []
    for table in tables:
        for name in sorted(table.record.insights):
            summary = insights.summary(table.record, name, now)
            if summary["ContributorInsightsStatus"] != "DISABLED" and [table.name, name] > behind:
                summaries.append(summary)
    count = body.get("MaxResults", PAGE)
    answer: Body = {"ContributorInsightsSummaries": summaries[:count]}
    if len(summaries) > count:
        last = summaries[count - 1]
        answer["NextToken"] = encode_binary(orjson.dumps([last["TableName"], last.get("IndexName", "")]))
    return answer


def _place(token: str | None) -> list[str]:
    """Table and index behind which a page starts."""
    if token is None:
        return []
    try:
        place = orjson.loads(decode_binary(token))
        if type(place) is list and len(place) == 2 and all(type(name) is str for name in place):
            return place
    except (ValueError, ValidationException):
        pass
    raise ValidationException("Invalid NextToken")  # assumed
