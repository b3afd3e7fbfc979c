"""DeleteResourcePolicy: a table or a stream without a policy. There need not have been one."""

from __future__ import annotations

from typing import Any

from dynamometer.engine.catalog import World
from dynamometer.engine.engine import Engine
from dynamometer.engine.policies import Slot


def run(engine: Engine, world: World, body: dict[str, Any]) -> dict[str, Any]:
    revision = Slot(engine, world, body["ResourceArn"]).delete(body.get("ExpectedRevisionId"))
    return {} if revision is None else {"RevisionId": revision}
