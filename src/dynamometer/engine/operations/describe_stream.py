"""DescribeStream: a stream and its shards, a page at a time."""

from __future__ import annotations

from typing import Any

from dynamometer.base.errors import ValidationException
from dynamometer.engine.catalog import World
from dynamometer.engine.engine import Engine
from dynamometer.engine.shards import Shard
from dynamometer.engine.streams import sequence_text

Body = dict[str, Any]
PAGE_MAX = 100


def run(engine: Engine, world: World, body: Body) -> Body:
    stream = engine.streams.find(world, body["StreamArn"])
    shards = engine.streams.shards(stream)
    wanted = body.get("ShardFilter")
    if wanted is not None:
        if "Type" not in wanted or "ShardId" not in wanted:
            raise ValidationException("ShardFilter must have both Type and ShardId")
        shards = [shard for shard in shards if shard.parent == wanted["ShardId"]]
    after = body.get("ExclusiveStartShardId")
    if after is not None:
        shards = _after(shards, after)
    page = shards[: body.get("Limit", PAGE_MAX)]
    description: Body = {
        "StreamArn": stream.arn,
        "StreamLabel": stream.label,
        "StreamStatus": engine.streams.status(stream),
        "StreamViewType": stream.view_type,
        "CreationRequestDateTime": round(stream.created_at, 3),
        "TableName": stream.table_name,
        "KeySchema": _key_schema(stream.partition, stream.sort),
        "Shards": [_describe(shard) for shard in page],
    }
    if len(page) < len(shards):
        description["LastEvaluatedShardId"] = page[-1].shard_id
    return {"StreamDescription": description}


def _after(shards: list[Shard], shard_id: str) -> list[Shard]:
    """What follows a shard in the list. That of a page that was read before may be trimmed by now."""
    for number, shard in enumerate(shards, 1):
        if shard.shard_id == shard_id:
            return shards[number:]
    return [shard for shard in shards if shard.shard_id > shard_id]


def _key_schema(partition: str, sort: str | None) -> list[Body]:
    schema = [{"AttributeName": partition, "KeyType": "HASH"}]
    if sort is not None:
        schema.append({"AttributeName": sort, "KeyType": "RANGE"})
    return schema


def _describe(shard: Shard) -> Body:
    numbers = {"StartingSequenceNumber": sequence_text(shard.start)}
    if shard.end is not None:
        numbers["EndingSequenceNumber"] = sequence_text(shard.end - 1)
    described: Body = {"ShardId": shard.shard_id, "SequenceNumberRange": numbers}
    if shard.parent is not None:
        described["ParentShardId"] = shard.parent
    return described
