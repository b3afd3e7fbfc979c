"""ListBulkOperations: the bulk puts of the past 90 days, the latest first."""

from __future__ import annotations

from typing import Any

from dynamometer.engine.catalog import World
from dynamometer.engine.engine import Engine
from dynamometer.engine.transfers import descriptions
from dynamometer.engine.transfers.transfer import BULK

PAGE_DEFAULT = 10


def run(engine: Engine, world: World, body: dict[str, Any]) -> dict[str, Any]:
    size = body.get("MaxResults", PAGE_DEFAULT)
    page, following = engine.transfers.page(world, BULK, None, size, body.get("NextToken"))
    answer: dict[str, Any] = {"BulkOperationsSummaryList": [descriptions.bulk_summary(each) for each in page]}
    return answer if following is None else answer | {"NextToken": following}
