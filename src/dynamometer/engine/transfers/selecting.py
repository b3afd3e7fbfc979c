"""Which items an export's FilterSpecification asks for, by the same rules as Query and Scan."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import orjson

from dynamometer.base.errors import ValidationException
from dynamometer.engine.catalog import Table
from dynamometer.engine.commit import PREFIX_LENGTH
from dynamometer.engine.keyspace import successor
from dynamometer.engine.reading import collection_prefix, sort_bounds
from dynamometer.expressions import Bound, bind, check_filter_keys, check_mixing, check_scalar_keys, match_key_schema
from dynamometer.model import keys


@dataclass(frozen=True, slots=True)
class Selection:
    """The expressions, if there are any, and the places (low, high) that a key condition names."""

    bound: Bound | None = None
    places: tuple[bytes, bytes | None] | None = None


def parse(table: Table, specification: dict[str, Any] | None) -> Selection:
    """The checks of the expressions, and what they ask for. Raises ValidationException."""
    if not specification:
        return Selection()
    body = orjson.loads(orjson.dumps(specification))  # values are normalised in place
    has_key = "KeyConditionExpression" in body
    kinds = ("KeyConditionExpression",) * has_key + ("FilterExpression", "ProjectionExpression")
    check_mixing(body, kinds, with_legacy=False)
    bound = bind(body, kinds, with_legacy=False)
    if bound.filter is not None:
        check_scalar_keys(bound.filter.nested, table.key.names)
    if bound.key_condition is None:
        return Selection(bound)
    if bound.filter is not None:
        check_filter_keys(bound.filter.attributes, table.key, bound.filter.source)
    start, end = _bounds(table, bound)
    return Selection(bound, (start[PREFIX_LENGTH:], end[PREFIX_LENGTH:]))


def _bounds(table: Table, bound: Bound) -> tuple[bytes, bytes]:
    """The range of keys that the key condition names."""
    assert bound.key_condition is not None, "it was asked for"
    partition, leading, last = match_key_schema(bound.key_condition.resolve(bound.values), table.key)
    key_type = table.key.partition[0].type
    prefix = collection_prefix(table.prefix, [key_type], [partition[0][key_type]])
    try:
        for attribute, value in zip(table.key.sort, leading, strict=False):
            prefix += keys.sort_bytes(attribute.type, value[attribute.type])
        if last is None:
            return prefix, successor(prefix)
        operator, sort_type, operands = last
        return sort_bounds(prefix, operator, sort_type, [operand[sort_type] for operand in operands])
    except keys.KeyTooLong:
        raise ValidationException(
            "One or more parameter values were invalid: Aggregated size of all range keys has exceeded the size "
            "limit of 1024 bytes"
        ) from None
