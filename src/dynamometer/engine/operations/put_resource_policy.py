"""PutResourcePolicy: give a table or a stream its policy, or another one."""

from __future__ import annotations

from typing import Any

from dynamometer.engine.catalog import World
from dynamometer.engine.engine import Engine
from dynamometer.engine.policies import Slot


def run(engine: Engine, world: World, body: dict[str, Any]) -> dict[str, Any]:
    slot = Slot(engine, world, body["ResourceArn"])
    return {"RevisionId": slot.put(body["Policy"], body.get("ExpectedRevisionId"))}
