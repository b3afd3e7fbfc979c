"""Scan: all items of a table or an index in hash order, or one segment of them."""

from __future__ import annotations

from dynamometer.base.errors import ValidationException
from dynamometer.engine import reading
from dynamometer.engine.catalog import World
from dynamometer.engine.engine import Answer, Engine
from dynamometer.engine.keyspace import successor
from dynamometer.engine.partitions import partitions_of
from dynamometer.engine.requests import Body, check_key_paths, table_of
from dynamometer.engine.selection import (
    INVALID_START,
    check_projection,
    check_select,
    index_of,
    normalise_start_key,
    start_position,
)
from dynamometer.expressions import bind, check_mixing

_KINDS = ("FilterExpression", "ProjectionExpression")


def _segment(body: Body) -> tuple[int, int]:
    """Segment and TotalSegments. Raises ValidationException."""
    segment, total = body.get("Segment"), body.get("TotalSegments")
    if segment is None and total is None:
        return 0, 1
    if total is None:
        raise ValidationException(
            "The TotalSegments parameter is required but was not present in the request when Segment parameter is "
            "present"
        )
    if segment is None:
        raise ValidationException(
            "The Segment parameter is required but was not present in the request when parameter TotalSegments is "
            "present"
        )
    if segment >= total:
        raise ValidationException(
            "The Segment parameter is zero-based and must be less than parameter TotalSegments: "
            f"Segment: {segment} is not less than TotalSegments: {total}"
        )
    return segment, total


def parse(world: World, body: Body) -> reading.PageRequest:
    """The request's checks in the service's order."""
    check_mixing(body, _KINDS)
    start_key = normalise_start_key(body)
    check_select(body, "Scanning")
    segment, total = _segment(body)
    bound = bind(body, _KINDS)
    table = table_of(world, body)
    index = index_of(table, body)
    whole_items = check_projection(table, index, body, bound.projection)
    prefix = table.prefix if index is None else index.prefix
    start, end = (prefix, successor(prefix)) if total == 1 else reading.segment_bounds(prefix, segment, total)
    if start_key is not None:
        position = start_position(table, index, start_key, detail=index is None)
        if not start <= position < end:
            raise ValidationException(
                f"{INVALID_START}: Invalid ExclusiveStartKey. Please use ExclusiveStartKey with correct Segment. "
                f"TotalSegments: {total} Segment: {segment}"
            )
        start = position + b"\x00"
    for paths in (bound.projection, bound.filter):
        if paths is not None:
            check_key_paths(table, paths.nested)
    return reading.PageRequest(
        table=table,
        index=index,
        start=start,
        end=end,
        reverse=False,
        limit=body.get("Limit", 0),
        consistent=body.get("ConsistentRead", False),
        filter=bound.filter,
        values=bound.values,
        projection=bound.projection,
        count_only=body.get("Select") == "COUNT",
        whole_items=whole_items,
        partitions=partitions_of(table.record),
    )


def run(engine: Engine, world: World, body: Body) -> Answer:
    request = parse(world, body)
    return reading.page_answer(engine.store, request, body)
