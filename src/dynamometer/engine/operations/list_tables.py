"""ListTables: the names of an account's tables in a region, sorted, in pages."""

from __future__ import annotations

from bisect import bisect_right
from typing import Any

from dynamometer.engine.catalog import World
from dynamometer.engine.engine import Engine

NAMES_MAX = 100


def run(engine: Engine, world: World, body: dict[str, Any]) -> dict[str, Any]:
    names = engine.catalog.names(world)
    start = body.get("ExclusiveStartTableName")
    first = 0 if start is None else bisect_right(names, start)
    page = names[first : first + body.get("Limit", NAMES_MAX)]
    answer: dict[str, Any] = {"TableNames": page}
    if page and page[-1] != names[-1]:
        answer["LastEvaluatedTableName"] = page[-1]
    return answer
