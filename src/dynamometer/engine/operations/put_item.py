"""PutItem: a whole item, new or instead of the old one."""

from __future__ import annotations

import orjson

from dynamometer.base.errors import ValidationException
from dynamometer.engine.actions import Put
from dynamometer.engine.catalog import World
from dynamometer.engine.engine import Answer, Engine
from dynamometer.engine.requests import Body, check_item_size, item_key, table_of, write_answer
from dynamometer.expressions import bind, check_mixing
from dynamometer.model import values

_KINDS = ("ConditionExpression",)


def parse(world: World, body: Body) -> Put:
    """The request's checks in the service's order."""
    bound = None
    item = body["Item"]
    if len(body) > 2:
        check_mixing(body, _KINDS)
        size = values.normalize_item(item)
        check_item_size(size)
        bound = bind(body, _KINDS)
        if body.get("ReturnValues", "NONE") not in ("NONE", "ALL_OLD"):
            raise ValidationException("ReturnValues can only be ALL_OLD or NONE")
    else:
        size = values.normalize_item(item)
        check_item_size(size)
    table = table_of(world, body)
    key = item_key(table, item)
    return Put(table, key, item, size, bound, body.get("ReturnValuesOnConditionCheckFailure") == "ALL_OLD")


def run(engine: Engine, world: World, body: Body) -> Answer:
    put = parse(world, body)
    (before, _, charge), sequence = engine.transact(put.stage)
    if len(body) == 2:
        return {}, sequence
    answer = write_answer(body, put.table, put.key_item, charge)
    if before is not None and body.get("ReturnValues") == "ALL_OLD":
        answer["Attributes"] = orjson.Fragment(before.json)
    return answer, sequence
