"""GetItem: one item by its key."""

from __future__ import annotations

import orjson

from dynamometer.capacity import units
from dynamometer.engine import stored
from dynamometer.engine.catalog import World
from dynamometer.engine.engine import Answer, Engine
from dynamometer.engine.requests import Body, check_key_paths, lookup_key, normalise_key, read_capacity, table_of
from dynamometer.expressions import bind, check_mixing

_KINDS = ("ProjectionExpression",)


def run(engine: Engine, world: World, body: Body) -> Answer:
    projection = None
    if len(body) > 2:
        check_mixing(body, _KINDS)
        normalise_key(body["Key"])
        projection = bind(body, _KINDS).projection
    else:
        normalise_key(body["Key"])
    table = table_of(world, body)
    key = lookup_key(table, body["Key"])
    if projection is not None:
        check_key_paths(table, projection.nested)

    value = engine.store.get(key)
    answer: Body = {}
    if value is not None:
        if projection is None:
            answer["Item"] = orjson.Fragment(value[stored.BODY :])
        else:
            answer["Item"] = projection.project(stored.decode(value))
    if "ReturnConsumedCapacity" in body:
        size = stored.size_of(value) if value is not None else 0
        capacity = read_capacity(body, units.read_units(size, body.get("ConsistentRead", False)))
        if capacity is not None:
            answer["ConsumedCapacity"] = capacity
    return answer, table.last_sequence
