"""Query: the items of one item collection, of a table or an index, in the order of their sort keys."""

from __future__ import annotations

from dynamometer.base.errors import ValidationException
from dynamometer.engine import reading
from dynamometer.engine.catalog import Index, Table, World
from dynamometer.engine.codec import Item
from dynamometer.engine.engine import Answer, Engine
from dynamometer.engine.keyspace import successor
from dynamometer.engine.requests import Body, check_key_paths, table_of
from dynamometer.engine.selection import (
    check_projection,
    check_select,
    index_of,
    normalise_start_key,
    start_position,
)
from dynamometer.expressions import Bound, bind, check_filter_keys, check_mixing
from dynamometer.model.schema import KeySchema

_KINDS = ("KeyConditionExpression", "FilterExpression", "ProjectionExpression")


def parse(world: World, body: Body) -> reading.PageRequest:
    """The request's checks in the service's order."""
    check_mixing(body, _KINDS)
    start_key = normalise_start_key(body)
    check_select(body, "Querying")
    bound = bind(body, _KINDS)
    if bound.key_condition is None:
        raise ValidationException(
            "Either the KeyConditions or KeyConditionExpression parameter must be specified in the request."
        )
    table = table_of(world, body)
    index = index_of(table, body, "Query")
    schema = table.key if index is None else index.schema.key
    start, end = _bounds(table, index, schema, bound, "KeyConditions" in body)
    forward = body.get("ScanIndexForward", True)
    if start_key is not None:
        start, end = _resume(table, index, start_key, start, end, forward)
    if bound.projection is not None:
        check_key_paths(table, bound.projection.nested)
    if bound.filter is not None:
        check_filter_keys(bound.filter.attributes, schema, bound.filter.source)
    whole_items = check_projection(table, index, body, bound.projection)
    if bound.filter is not None:
        check_key_paths(table, bound.filter.nested)
    return reading.PageRequest(
        table=table,
        index=index,
        start=start,
        end=end,
        reverse=not forward,
        limit=body.get("Limit", 0),
        consistent=body.get("ConsistentRead", False),
        filter=bound.filter,
        values=bound.values,
        projection=bound.projection,
        count_only=body.get("Select") == "COUNT",
        whole_items=whole_items,
    )


def _bounds(table: Table, index: Index | None, schema: KeySchema, bound: Bound, legacy: bool) -> tuple[bytes, bytes]:
    """The range that the key condition selects."""
    prefix, insights = (table.prefix, table.insights) if index is None else (index.prefix, index.insights)
    payloads, start, end = reading.key_range(prefix, schema, bound, legacy)
    if insights is not None:
        insights.queried(payloads)
    return start, end


def _resume(
    table: Table, index: Index | None, start_key: Item, start: bytes, end: bytes, forward: bool
) -> tuple[bytes, bytes]:
    """The rest of the range behind the ExclusiveStartKey."""
    position = start_position(table, index, start_key, detail=False)
    if index is None and not table.key.sort:
        raise ValidationException("The query can return at most one row and cannot be restarted")
    if not start <= position < end:
        raise _outside(position, start, end)
    return (position + b"\x00", end) if forward else (start, position)


def _outside(position: bytes, start: bytes, end: bytes) -> ValidationException:
    """What the service says of a starting key outside the range: the sort key counts first, and of a wrong partition
    beside a right sort key it speaks oddly (measured)."""
    collection = start[: reading.collection_length(start)]
    in_collection = collection + position[reading.collection_length(position) :]
    if not start <= in_collection < end:
        return ValidationException("The provided starting key does not match the range key predicate")
    if (start, end) == (collection, successor(collection)):
        return ValidationException("The provided starting key is outside query boundaries based on provided conditions")
    return ValidationException("The query can return at most one row and cannot be restarted")


def run(engine: Engine, world: World, body: Body) -> Answer:
    request = parse(world, body)
    return reading.page_answer(engine.store, request, body)
