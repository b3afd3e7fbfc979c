"""What a table and its indexes look like: key attributes, projections. Values only; storage keys are in `keys`."""

from __future__ import annotations

from dataclasses import dataclass, field

PRIMARY_INDEX = 0
"""The index number of the table itself."""


@dataclass(frozen=True, slots=True)
class KeyAttribute:
    """One attribute of a key schema; `type` is S, N or B."""

    name: str
    type: str


@dataclass(frozen=True, slots=True)
class KeySchema:
    """One to four partition key attributes and none to four sort key attributes (a table: one, and at most one)."""

    partition: tuple[KeyAttribute, ...]
    sort: tuple[KeyAttribute, ...] = ()
    attributes: tuple[KeyAttribute, ...] = field(init=False, repr=False, compare=False)
    names: tuple[str, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "attributes", self.partition + self.sort)
        object.__setattr__(self, "names", tuple(attribute.name for attribute in self.attributes))


@dataclass(frozen=True, slots=True)
class VectorSchema:
    """What makes an index a vector index: the vector's attribute and how it is compared. `filters` are inline."""

    attribute: str
    dimensions: int
    function: str
    filters: tuple[KeyAttribute, ...]


@dataclass(frozen=True, slots=True)
class IndexSchema:
    """A secondary index. `projected`: every attribute that an entry may hold, keys included; None for ALL.

    A vector index counts as global. Its key is the partition attribute of its search schema, if it has one.
    """

    name: str
    number: int
    is_global: bool
    key: KeySchema
    projection_type: str
    non_key_attributes: tuple[str, ...]
    projected: frozenset[str] | None
    vector: VectorSchema | None = None
