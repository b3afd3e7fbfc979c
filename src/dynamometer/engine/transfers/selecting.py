"""Which items an export's FilterSpecification asks for, by the same rules as Query and Scan."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import orjson

from dynamometer.engine.catalog import Table
from dynamometer.engine.commit import PREFIX_LENGTH
from dynamometer.engine.reading import key_range
from dynamometer.expressions import Bound, bind, check_filter_keys, check_mixing, check_scalar_keys


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
    _, start, end = key_range(table.prefix, table.key, bound)
    return Selection(bound, (start[PREFIX_LENGTH:], end[PREFIX_LENGTH:]))
