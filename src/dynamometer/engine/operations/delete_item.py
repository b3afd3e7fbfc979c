"""DeleteItem: remove one item by its key."""

from __future__ import annotations

import orjson

from dynamometer.base.errors import ValidationException
from dynamometer.engine.actions import Delete
from dynamometer.engine.catalog import World
from dynamometer.engine.engine import Answer, Engine
from dynamometer.engine.requests import Body, lookup_key, normalise_key, table_of, write_answer
from dynamometer.expressions import bind, check_mixing

_KINDS = ("ConditionExpression",)


def parse(world: World, body: Body) -> Delete:
    """The request's checks in the service's order."""
    check_mixing(body, _KINDS)
    normalise_key(body["Key"])
    bound = bind(body, _KINDS)
    if body.get("ReturnValues", "NONE") not in ("NONE", "ALL_OLD"):
        raise ValidationException("ReturnValues can only be ALL_OLD or NONE")
    table = table_of(world, body)
    key = lookup_key(table, body["Key"])
    return Delete(table, key, body["Key"], bound, body.get("ReturnValuesOnConditionCheckFailure") == "ALL_OLD")


def run(engine: Engine, world: World, body: Body) -> Answer:
    delete = parse(world, body)
    (before, _, charge), sequence = engine.transact(delete.stage)
    answer = write_answer(body, delete.table, delete.key_item, charge)
    if before is not None and body.get("ReturnValues") == "ALL_OLD":
        answer["Attributes"] = orjson.Fragment(before.json)
    return answer, sequence
