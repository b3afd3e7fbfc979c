"""TransactGetItems: up to 100 items of any tables, all from one moment."""

from __future__ import annotations

from typing import Any

import orjson

from dynamometer.base.errors import ServiceError, TransactionCanceledException, ValidationException
from dynamometer.capacity import units
from dynamometer.engine import stored
from dynamometer.engine.catalog import World
from dynamometer.engine.engine import Answer, Engine
from dynamometer.engine.requests import Body, lookup_key, normalise_key, table_of
from dynamometer.engine.transactions import (
    DISTINCT,
    cancelled,
    check_consistency,
    check_key_not_empty,
    check_payload_size,
)
from dynamometer.expressions import bind, check_mixing

_KINDS = ("ProjectionExpression",)


def parse(world: World, body: Body) -> list[tuple[Any, bytes, Any, Body]]:
    """The request's checks: (table, storage key, projection, the get) of each action."""
    parsed = []
    for element in body["TransactItems"]:
        get = element["Get"]
        check_mixing(get, _KINDS, with_legacy=False)
        normalise_key(get["Key"])
        parsed.append((get, bind(get, _KINDS, with_legacy=False).projection))
    tables = [table_of(world, get) for get, _ in parsed]
    check_consistency(tables)
    reasons: list[ServiceError | None] = []
    gets = []
    for (get, projection), table in zip(parsed, tables, strict=True):
        check_key_not_empty(table, get["Key"])
        try:
            gets.append((table, lookup_key(table, get["Key"]), projection, get))
            reasons.append(None)
        except ValidationException as error:
            reasons.append(error)
    if any(reasons):
        raise TransactionCanceledException(cancelled(reasons))
    if len({key for _, key, _, _ in gets}) < len(gets):
        raise ValidationException(DISTINCT)
    return gets


def run(engine: Engine, world: World, body: Body) -> Answer:
    gets = parse(world, body)
    mode = body.get("ReturnConsumedCapacity", "NONE")
    responses: list[Body] = []
    used: dict[str, units.Consumption] = {}
    sequence = size_bytes = 0
    for (table, _, projection, get), value in zip(
        gets, engine.store.multi_get([key for _, key, _, _ in gets]), strict=True
    ):
        size = stored.size_of(value) if value is not None else 0
        size_bytes += size
        used.setdefault(get["TableName"], units.Consumption()).add(units.transact_read_units(size))
        sequence = max(sequence, table.last_sequence)
        responses.append(_response(value, projection))
    check_payload_size(size_bytes)
    answer: Body = {"Responses": responses}
    if mode != "NONE":
        answer["ConsumedCapacity"] = units.consumed_list(mode, used, "Read")
    return answer, sequence


def _response(value: bytes | None, projection: Any) -> Body:
    if value is None:
        return {}
    if projection is None:
        return {"Item": orjson.Fragment(value[stored.BODY :])}
    item = projection.project(stored.decode(value))
    return {"Item": item} if item else {}
