"""UpdateItem: change some attributes of an item, or make one that holds only its key and them."""

from __future__ import annotations

from typing import Any

import orjson

from dynamometer.engine.actions import Update
from dynamometer.engine.catalog import World
from dynamometer.engine.commit import Image
from dynamometer.engine.engine import Answer, Engine
from dynamometer.engine.requests import (
    Body,
    check_index_types,
    check_key_paths,
    check_not_key,
    lookup_key,
    normalise_key,
    table_of,
    write_answer,
)
from dynamometer.expressions import bind, check_mixing

_KINDS = ("UpdateExpression", "ConditionExpression")


def parse(world: World, body: Body) -> Update:
    """The request's checks in the service's order."""
    check_mixing(body, _KINDS)
    normalise_key(body["Key"])
    bound = bind(body, _KINDS)
    table = table_of(world, body)
    key = lookup_key(table, body["Key"])
    if bound.update is not None:
        check_not_key(table, bound.update.targets)
        check_index_types(table, bound.update, bound.values)
        check_key_paths(table, bound.update.nested)
    return Update(table, key, body["Key"], bound, body.get("ReturnValuesOnConditionCheckFailure") == "ALL_OLD")


def run(engine: Engine, world: World, body: Body) -> Answer:
    update = parse(world, body)
    (before, after, charge), sequence = engine.transact(update.stage)
    answer = write_answer(body, update.table, update.key_item, charge)
    wanted = body.get("ReturnValues", "NONE")
    if wanted != "NONE":
        attributes = _attributes(update, wanted, before, after)
        if attributes is not None:
            answer["Attributes"] = attributes
    return answer, sequence


def _attributes(update: Update, wanted: str, before: Image | None, after: Image | None) -> Any:
    """What ReturnValues asks for; None when there is nothing of it."""
    if wanted == "ALL_OLD":
        return None if before is None else orjson.Fragment(before.json)
    if wanted == "ALL_NEW":
        return None if after is None else orjson.Fragment(after.json)
    bound = update.bound
    if bound is None or bound.update is None:
        return None
    image = before if wanted == "UPDATED_OLD" else after
    return None if image is None else bound.update.updated(image.item) or None
