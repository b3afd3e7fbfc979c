"""GetShardIterator: a place in a shard to read from."""

from __future__ import annotations

from typing import Any

from dynamometer.engine.catalog import World
from dynamometer.engine.engine import Engine
from dynamometer.engine.shard_reading import find_shard, iterator_of, position_of

Body = dict[str, Any]


def run(engine: Engine, world: World, body: Body) -> Body:
    stream = engine.streams.find(world, body["StreamArn"])
    shard = find_shard(engine, stream, body["ShardId"])
    return {"ShardIterator": iterator_of(engine, stream, shard, position_of(engine, shard, body))}
