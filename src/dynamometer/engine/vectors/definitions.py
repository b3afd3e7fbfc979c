"""What CreateTable and UpdateTable say of vector indexes, checked and made into records (measured on the service,
unless said otherwise)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from dynamometer.engine.records import ON_DEMAND, IndexRecord, Vector
from dynamometer.engine.schemas import invalid, projection_of

Body = dict[str, Any]

VECTOR_INDEXES_MAX = 5
DIMENSIONS_MAX = 4096
INLINE_FILTERS_MAX = 18
"""Developer guide: vector search, quotas."""


def check_list(raw: list[Body] | None, mode: str) -> None:
    """Raise for a list that is there but empty or too long, and for vector indexes of a provisioned table."""
    if raw is None:
        return
    check_mode(mode)
    if not raw:
        raise invalid("List of VectorIndexes is empty")
    if len(raw) > VECTOR_INDEXES_MAX:
        raise invalid(f"VectorIndex count exceeds the per-table limit of {VECTOR_INDEXES_MAX}")


def check_mode(mode: str) -> None:
    """Raise unless the table's billing mode may have vector indexes."""
    if mode != ON_DEMAND:
        raise invalid("Vector indexes are only supported for PAY_PER_REQUEST tables")


def schema_names(raw: Body) -> list[str]:
    """The attributes of a SearchSchema, in order."""
    return [element["AttributeName"] for element in raw.get("SearchSchema", ())]


def vector_index(raw: Body, types: dict[str, str]) -> IndexRecord:
    """A vector index from its request. `types`: the request's AttributeDefinitions. Raises ValidationException."""
    dimensions = int(raw["Dimensions"])
    if not 1 <= dimensions <= DIMENSIONS_MAX:
        raise invalid(f"Number of dimensions must be between 1 and {DIMENSIONS_MAX} inclusive.")
    names = schema_names(raw)
    kinds = [element["SearchSchemaElementType"] for element in raw.get("SearchSchema", ())]
    if kinds.count("HASH") > 1:
        raise invalid(
            f"Value '{kinds.count('HASH')}' at 'SearchSchema' failed to satisfy constraint: Member must have HASH "
            "count less than or equal to 1"
        )
    filters = kinds.count("INLINE_FILTER")
    if filters > INLINE_FILTERS_MAX:
        # assumed, after the text for HASH
        raise invalid(
            f"Value '{filters}' at 'SearchSchema' failed to satisfy constraint: Member must have INLINE_FILTER count "
            f"less than or equal to {INLINE_FILTERS_MAX}"
        )
    if len(set(names)) < len(names):
        raise invalid("SearchSchema contains a duplicate AttributeName")
    if not types.keys() >= set(names):
        raise invalid("One element in SearchSchema is not defined in attribute definitions")
    kind, non_key = projection_of(raw)
    return IndexRecord(
        name=raw["IndexName"],
        number=0,
        is_global=True,
        partition=[name for name, element in zip(names, kinds, strict=True) if element == "HASH"],
        sort=[],
        projection_type=kind,
        non_key_attributes=non_key,
        vector=Vector(raw["VectorAttribute"]["AttributeName"], dimensions, raw["DistanceFunction"], names),
    )


def check_attributes(indexes: Iterable[IndexRecord], types: dict[str, str]) -> None:
    """Raise when vector indexes contradict each other, or the types of key attributes."""
    dimensions: dict[str, int] = {}
    for index in indexes:
        vector = index.vector
        if vector is None:
            continue
        conflict = f"Conflicting attribute definition for '{vector.attribute}'. "
        if vector.attribute in types:
            raise invalid(
                f"{conflict}An attribute cannot be defined in AttributeDefinitions when used as a VectorAttribute."
            )
        if dimensions.setdefault(vector.attribute, vector.dimensions) != vector.dimensions:
            raise invalid(f"{conflict}All VectorIndexes on the same vector attribute must use the same dimensions.")
