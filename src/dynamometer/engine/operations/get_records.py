"""GetRecords: the next records of a shard."""

from __future__ import annotations

from typing import Any

from dynamometer.engine.catalog import World
from dynamometer.engine.engine import Engine
from dynamometer.engine.shard_reading import read_records

Body = dict[str, Any]


def run(engine: Engine, world: World, body: Body) -> Body:
    return read_records(engine, world, body)
