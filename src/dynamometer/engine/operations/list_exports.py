"""ListExports: the exports of the past 90 days, in falling order of their ARNs."""

from __future__ import annotations

from typing import Any

from dynamometer.engine.catalog import World
from dynamometer.engine.engine import Engine
from dynamometer.engine.transfers import descriptions
from dynamometer.engine.transfers.registry import PAGE_MAX
from dynamometer.engine.transfers.transfer import EXPORT


def run(engine: Engine, world: World, body: dict[str, Any]) -> dict[str, Any]:
    size, token = body.get("MaxResults", PAGE_MAX), body.get("NextToken")
    page, following = engine.transfers.page(world, EXPORT, body.get("TableArn"), size, token, by_arn=True)
    answer: dict[str, Any] = {"ExportSummaries": [descriptions.export_summary(each) for each in page]}
    return answer if following is None else answer | {"NextToken": following}
