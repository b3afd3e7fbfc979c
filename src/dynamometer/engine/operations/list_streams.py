"""ListStreams: the streams of an account and region, or of one table; those of the last 24 hours too."""

from __future__ import annotations

from typing import Any

from dynamometer.base.errors import ValidationException
from dynamometer.engine.catalog import World
from dynamometer.engine.engine import Engine

Body = dict[str, Any]
PAGE_MAX = 100


def run(engine: Engine, world: World, body: Body) -> Body:
    name, after = body.get("TableName"), body.get("ExclusiveStartStreamArn", "")
    if after and not after.startswith("arn:"):
        raise ValidationException(f"Invalid StreamArn: {after}")
    if name is not None and name.startswith("arn:"):
        name = name.rpartition("/")[2]
    streams = [stream for stream in engine.streams.of_world(world) if name in (None, stream.table_name)]
    streams = [stream for stream in streams if stream.arn > after]
    limit = body.get("Limit", PAGE_MAX)
    page = streams[:limit]
    answer: Body = {
        "Streams": [
            {"StreamArn": stream.arn, "TableName": stream.table_name, "StreamLabel": stream.label} for stream in page
        ]
    }
    if len(page) == limit and page:
        # a full page always names its last stream, even when none follows (measured on the service)
        answer["LastEvaluatedStreamArn"] = page[-1].arn
    return answer
