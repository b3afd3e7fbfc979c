"""SearchVectors: the items of a vector index whose vectors are nearest to a given one."""

from __future__ import annotations

from array import array
from math import isfinite
from typing import Any

from dynamometer.base import limits
from dynamometer.base.errors import ValidationException
from dynamometer.capacity import units
from dynamometer.engine import stored
from dynamometer.engine.catalog import Index, Table, World
from dynamometer.engine.codec import Item
from dynamometer.engine.engine import Answer, Engine
from dynamometer.engine.requests import Body, table_of
from dynamometer.engine.vectors import conditions
from dynamometer.engine.vectors.codec import as_list, packed_in, to_bytes
from dynamometer.expressions import bind, check_mixing
from dynamometer.model import numbers

RESULTS_MAX = 100
_KINDS = (conditions.KIND, "ProjectionExpression")
_INVALID = (
    "Search vector contains invalid values. All values in the search vector must be a 32-bit floating-point number "
    "attribute"
)


class _Search:
    """The request's checks in the service's order; where that is not known, in Query's."""

    def __init__(self, world: World, body: Body) -> None:
        self.count: int = body["TopK"]
        if not 1 <= self.count <= RESULTS_MAX:
            raise ValidationException(
                f"Provided TopK value '{self.count}' is out of valid range. The value must be between 1 and "
                f"{RESULTS_MAX} inclusive"
            )
        check_mixing(body, _KINDS, with_legacy=False)
        bound = bind(body, _KINDS, with_legacy=False)
        pairs = [] if bound.condition is None else conditions.pairs_of(bound.condition.tree)
        self.projection = bound.projection
        self.table = table_of(world, body)
        self.index = _index(self.table, body["IndexName"])
        vector: Any = self.index.schema.vector
        self.attribute: str = vector.attribute
        self.dimensions: int = vector.dimensions
        self.packed = _packed(body["SearchVector"], self.dimensions)
        self.scope = conditions.Scope(self.index.schema, pairs, bound.values)


def _index(table: Table, name: str) -> Index:
    index = table.indexes.get(name)
    if index is None or index.schema.vector is None or index.status == "DELETING":
        raise ValidationException(f"The table does not have the specified index: {name}")
    if index.backfilling:
        raise ValidationException(f"Cannot search backfilling vector index: {name}")
    return index


def _packed(elements: list[Item], dimensions: int) -> bytes:
    try:
        floats = array("f", [float(numbers.normalize(element["N"])) for element in elements if len(element) == 1])
    except (KeyError, ValidationException):
        raise ValidationException(_INVALID) from None
    if len(floats) < len(elements) or not isfinite(sum(floats)):
        raise ValidationException(_INVALID)
    if len(elements) != dimensions:
        raise ValidationException(
            f"Input search vector dimension {len(elements)} does not match vector index dimension {dimensions}"
        )
    return to_bytes(floats)


def run(engine: Engine, world: World, body: Body) -> Answer:
    search = _Search(world, body)
    found: list[tuple[float, bytes]] = []
    index, scope = search.index, search.scope
    if scope.position is not None and index.vectors is not None:
        prefix = index.prefix + scope.position
        found = index.vectors.nearest(engine.store, prefix, search.packed, search.count, scope.filters)
    entries = engine.store.multi_get([key for _, key in found])
    results, read_bytes, vectors, answer_bytes = [], 0, 0, 0
    for (score, _), value in zip(found, entries, strict=True):
        assert value is not None, "an entry that was just compared is there"
        answer_bytes += stored.size_of(value)
        if answer_bytes > limits.SEARCH_BYTES_MAX:
            break
        read_bytes += stored.size_of(value) - units.vector_bytes(search.attribute, search.dimensions)
        item = _shown(stored.decode(value), search)
        vectors += search.attribute in item
        results.append({"Item": item, "Score": score})
    answer: Body = {"SearchResults": results}
    if body.get("ReturnConsumedCapacity", "NONE") != "NONE":
        used = units.vector_search_bytes(search.dimensions, len(results), read_bytes, vectors)
        answer["ConsumedCapacity"] = {"VectorSearchRequestBytes": used}
    return answer, search.table.last_sequence


def _shown(content: Item, search: _Search) -> Item:
    """What is given back of an entry: without the vector, unless it is asked for."""
    packed = packed_in(content, search.attribute)
    projection = search.projection
    if projection is None:
        del content[search.attribute]
        return content
    if search.attribute in projection.attributes:
        content[search.attribute] = as_list(packed)
    else:
        del content[search.attribute]
    shown: Item = projection.project(content)
    return shown
