"""GetResourcePolicy: the policy of a table or a stream."""

from __future__ import annotations

from typing import Any

from dynamometer.engine.catalog import World
from dynamometer.engine.engine import Engine
from dynamometer.engine.policies import Slot


def run(engine: Engine, world: World, body: dict[str, Any]) -> dict[str, Any]:
    return Slot(engine, world, body["ResourceArn"]).get()
