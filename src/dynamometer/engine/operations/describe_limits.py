"""DescribeLimits: an account's capacity quotas, which are the defaults."""

from __future__ import annotations

from typing import Any

from dynamometer.engine.catalog import World
from dynamometer.engine.engine import Engine
from dynamometer.engine.throughput import ACCOUNT_UNITS_MAX, TABLE_UNITS_MAX


def run(engine: Engine, world: World, body: dict[str, Any]) -> dict[str, Any]:
    return {
        "AccountMaxReadCapacityUnits": ACCOUNT_UNITS_MAX,
        "AccountMaxWriteCapacityUnits": ACCOUNT_UNITS_MAX,
        "TableMaxReadCapacityUnits": TABLE_UNITS_MAX,
        "TableMaxWriteCapacityUnits": TABLE_UNITS_MAX,
    }
