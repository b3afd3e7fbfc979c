"""DescribeEndpoints: where to send requests, which is here."""

from __future__ import annotations

from typing import Any

from dynamometer.engine.catalog import World
from dynamometer.engine.engine import Engine

CACHE_MINUTES = 1440
_EVERYWHERE = {"0.0.0.0": "localhost", "::": "localhost"}  # listened on, but no address to connect to


def run(engine: Engine, world: World, body: dict[str, Any]) -> dict[str, Any]:
    host = _EVERYWHERE.get(engine.settings.host, engine.settings.host)
    if ":" in host:
        host = f"[{host}]"
    return {"Endpoints": [{"Address": f"{host}:{engine.settings.port}", "CachePeriodInMinutes": CACHE_MINUTES}]}
