"""BatchGetItem: up to 100 items by their keys, of any tables."""

from __future__ import annotations

from typing import Any

import orjson

from dynamometer.base import limits
from dynamometer.base.errors import ValidationException
from dynamometer.capacity import units
from dynamometer.engine import stored
from dynamometer.engine.catalog import Table, World
from dynamometer.engine.engine import Answer, Engine
from dynamometer.engine.requests import DUPLICATES, Body, check_key_paths, lookup_key, normalise_key, table_named
from dynamometer.expressions import bind, check_mixing

_KINDS = ("ProjectionExpression",)


class _Get:
    """The keys wanted of one table."""

    __slots__ = ("consistent", "key_items", "keys", "name", "projection", "table")

    def __init__(self, name: str, table: Table, block: Body, projection: Any) -> None:
        self.name = name
        self.table = table
        # two spellings of one number are no duplicates here; the item is answered once (measured on the service)
        by_key = {lookup_key(table, key): key for key in block["Keys"]}
        self.keys = list(by_key)
        self.key_items = list(by_key.values())
        self.consistent = block.get("ConsistentRead", False)
        self.projection = projection
        if projection is not None:
            check_key_paths(table, projection.nested)


def parse(world: World, body: Body) -> list[_Get]:
    """The request's checks in the service's order."""
    blocks: Body = body["RequestItems"]
    if not blocks:
        raise ValidationException("The requestItems parameter is required for BatchGetItem")
    if sum(len(block["Keys"]) for block in blocks.values()) > limits.BATCH_GET_KEYS_MAX:
        raise ValidationException("Too many items requested for the BatchGetItem call")
    _check_mixing(blocks)
    bounds = []
    for block in blocks.values():
        texts = [orjson.dumps(key, option=orjson.OPT_SORT_KEYS) for key in block["Keys"]]
        for key in block["Keys"]:
            normalise_key(key)
        bounds.append(bind(block, _KINDS))
        if len(set(texts)) < len(texts):
            raise ValidationException(DUPLICATES)
    gets = []
    for (name, block), bound in zip(blocks.items(), bounds, strict=True):
        gets.append(_Get(name, table_named(world, name), block, bound.projection))
    return gets


def _check_mixing(blocks: Body) -> None:
    for block in blocks.values():
        check_mixing(block, _KINDS)
    legacy = any("AttributesToGet" in block for block in blocks.values())
    expressions = any("ProjectionExpression" in block for block in blocks.values())
    if legacy and expressions:
        raise ValidationException(
            "Can not use both expression and non-expression parameters in the same request: "
            "Non-expression parameters: {AttributesToGet} Expression parameters: {ProjectionExpression}"
        )


def run(engine: Engine, world: World, body: Body) -> Answer:
    gets = parse(world, body)
    responses: Body = {}
    unprocessed: Body = {}
    capacities = []
    sequence, answered_bytes = 0, 0
    mode = body.get("ReturnConsumedCapacity", "NONE")
    for get in gets:
        items: list[Any] = []
        amount = 0.0
        left: list[int] = []
        for number, value in enumerate(engine.store.multi_get(get.keys)):
            size = stored.size_of(value) if value is not None else 0
            if answered_bytes + size > limits.BATCH_GET_BYTES_MAX:
                left.append(number)
                continue
            amount += units.read_units(size, get.consistent)
            if value is None:
                continue
            answered_bytes += size
            items.append(
                orjson.Fragment(value[stored.BODY :])
                if get.projection is None
                else get.projection.project(stored.decode(value))
            )
        responses[get.name] = items
        if left:
            block = dict(body["RequestItems"][get.name])
            block["Keys"] = [get.key_items[number] for number in left]
            unprocessed[get.name] = block
        capacity = units.consumed(get.name, mode, amount) if mode != "NONE" else None
        if capacity is not None:
            capacities.append(capacity)
        sequence = max(sequence, get.table.last_sequence)
    answer: Body = {"Responses": responses, "UnprocessedKeys": unprocessed}
    if mode != "NONE":
        answer["ConsumedCapacity"] = capacities
    return answer, sequence
