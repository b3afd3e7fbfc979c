"""ListImports: the imports of the past 90 days, the latest first."""

from __future__ import annotations

from typing import Any

from dynamometer.engine.catalog import World
from dynamometer.engine.engine import Engine
from dynamometer.engine.transfers import descriptions
from dynamometer.engine.transfers.registry import PAGE_MAX
from dynamometer.engine.transfers.transfer import IMPORT


def run(engine: Engine, world: World, body: dict[str, Any]) -> dict[str, Any]:
    size, token = body.get("PageSize", PAGE_MAX), body.get("NextToken")
    page, following = engine.transfers.page(world, IMPORT, body.get("TableArn"), size, token)
    answer: dict[str, Any] = {"ImportSummaryList": [descriptions.import_summary(each) for each in page]}
    return answer if following is None else answer | {"NextToken": following}
