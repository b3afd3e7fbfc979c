"""What CreateTable and UpdateTable say of keys, attributes, indexes and projections, checked and made into records.

Texts and their order were measured on the service. A table's key has one partition and at most one sort attribute; a
local index shares the partition attribute; a global index has one to four partition and up to four sort attributes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from dynamometer.base.errors import ValidationException
from dynamometer.engine.records import IndexRecord

Body = dict[str, Any]

INVALID = "One or more parameter values were invalid: "
SAME_NAME = "Both the Hash Key and the Range Key element in the KeySchema have the same name"
NO_DEFINITION = "Invalid KeySchema: Some index key attribute have no definition"
NOT_HASH = "Invalid KeySchema: The first KeySchemaElement is not a HASH key type"
NOT_RANGE = "Invalid KeySchema: The second KeySchemaElement is not a RANGE key type"

LOCAL_INDEXES_MAX = 5
GLOBAL_INDEXES_MAX = 20
KEY_ATTRIBUTES_MAX = 4
"""Partition attributes of a global index, and sort attributes of one."""
PROJECTED_MAX = 100
"""NonKeyAttributes of all indexes of a table together (developer guide: quotas)."""


def invalid(text: str) -> ValidationException:
    """The error that most of these checks raise."""
    return ValidationException(INVALID + text)


def listed(names: Iterable[str]) -> str:
    """Names as the service prints a list."""
    return f"[{', '.join(names)}]"


def definitions_of(body: Body) -> dict[str, str]:
    """AttributeDefinitions as names and types. Raises for a name that comes twice."""
    types: dict[str, str] = {}
    for definition in body.get("AttributeDefinitions", ()):
        name = definition["AttributeName"]
        if name in types:
            raise ValidationException(f"Attribute Name is duplicated: {name}")
        types[name] = definition["AttributeType"]
    return types


def names_of(key_schema: Sequence[Body]) -> list[str]:
    """The attributes of a KeySchema, in order."""
    return [element["AttributeName"] for element in key_schema]


def split_key(key_schema: Sequence[Body]) -> tuple[list[str], list[str]]:
    """The partition and the sort attributes of a KeySchema."""
    partition = [element["AttributeName"] for element in key_schema if element["KeyType"] == "HASH"]
    return partition, [element["AttributeName"] for element in key_schema if element["KeyType"] == "RANGE"]


def check_table_key(key_schema: Sequence[Body], types: dict[str, str], has_indexes: bool) -> None:
    """Raise for a table's KeySchema that is no key or does not go with the definitions."""
    names = names_of(key_schema)
    if len(names) > len(types) or (len(names) == 2 and not types.keys() >= set(names)):
        raise ValidationException(NO_DEFINITION)
    check_defined(names, types)
    _check_pair(key_schema)
    if not has_indexes and len(names) != len(types):
        raise invalid(
            "Number of attributes in KeySchema does not exactly match number of attributes defined in "
            "AttributeDefinitions"
        )


def _check_pair(key_schema: Sequence[Body]) -> None:
    names = names_of(key_schema)
    if len(names) == 2 and names[0] == names[1]:
        raise ValidationException(SAME_NAME)
    if key_schema[0]["KeyType"] != "HASH":
        raise ValidationException(NOT_HASH)
    if len(names) == 2 and key_schema[1]["KeyType"] != "RANGE":
        raise ValidationException(NOT_RANGE)


def check_defined(names: Sequence[str], types: dict[str, str]) -> None:
    """Raise when a key attribute has no definition."""
    if not types.keys() >= set(names):
        raise invalid(
            "Some index key attributes are not defined in AttributeDefinitions. "
            f"Keys: {listed(names)}, AttributeDefinitions: {listed(types)}"
        )


def check_all_used(types: dict[str, str], keys: Iterable[str]) -> None:
    """Raise when an attribute is defined that is no key."""
    used = dict.fromkeys(keys)
    if types.keys() - used.keys():
        raise invalid(
            f"Some AttributeDefinitions are not used. AttributeDefinitions: {listed(types)}, keys used: {listed(used)}"
        )


def check_lists(local: list[Body] | None, indexes: list[Body] | None) -> None:
    """Raise for index lists that are there but empty."""
    if local is not None and not local:
        raise invalid("List of LocalSecondaryIndexes is empty")
    if indexes is not None and not indexes:
        raise invalid("List of GlobalSecondaryIndexes is empty")


def check_local_key(raw: Body, types: dict[str, str]) -> None:
    """Raise for a local index's KeySchema that is no key or does not go with the definitions."""
    check_defined(names_of(raw["KeySchema"]), types)
    _check_pair(raw["KeySchema"])


def check_global_key(raw: Body, types: dict[str, str]) -> None:
    """Raise for a global index's KeySchema that is no key or does not go with the definitions."""
    key_schema = raw["KeySchema"]
    names, kinds = names_of(key_schema), [element["KeyType"] for element in key_schema]
    check_defined(names, types)
    if len(names) == 2 and names[0] == names[1]:
        raise ValidationException(SAME_NAME)
    if len(set(names)) != len(names):
        raise ValidationException("The KeySchema contains multiple key attributes with the same name")
    if kinds[0] != "HASH":
        raise ValidationException(NOT_HASH)
    if kinds != sorted(kinds):
        raise invalid("All HASH key attributes must precede RANGE key attributes in the KeySchema")
    for kind in ("HASH", "RANGE"):
        if kinds.count(kind) > KEY_ATTRIBUTES_MAX:
            raise invalid(f"The KeySchema exceeds the maximum allowed number of {kind} key attributes")


def local_index(raw: Body, table_key: Sequence[Body]) -> IndexRecord:
    """A local index from its request, whose key has been checked. Raises ValidationException."""
    key_schema, name = raw["KeySchema"], raw["IndexName"]
    if len(key_schema) != 2:
        raise invalid(f"Index KeySchema does not have a range key for index: {name}")
    table_hash, index_hash = names_of(table_key)[0], names_of(key_schema)[0]
    if index_hash != table_hash:
        raise invalid(
            f"Index KeySchema does not have the same leading hash key as table KeySchema for index: {name}. "
            f"index hash key: {index_hash}, table hash key: {table_hash}"
        )
    return _index(raw, is_global=False)


def global_index(raw: Body) -> IndexRecord:
    """A global index from its request, throughput apart; its key has been checked. Raises ValidationException."""
    return _index(raw, is_global=True)


def _index(raw: Body, is_global: bool) -> IndexRecord:
    kind, non_key = projection_of(raw)
    partition, sort = split_key(raw["KeySchema"])
    return IndexRecord(raw["IndexName"], 0, is_global, partition, sort, kind, non_key)


def projection_of(raw: Body) -> tuple[str, list[str]]:
    """The type and the NonKeyAttributes of an index's projection. Raises ValidationException."""
    projection = raw["Projection"]
    kind, non_key = projection.get("ProjectionType"), projection.get("NonKeyAttributes")
    if kind is None:
        raise invalid("Unknown ProjectionType: null")
    if kind == "INCLUDE" and non_key is None:
        raise invalid("ProjectionType is INCLUDE, but NonKeyAttributes is not specified")
    if kind != "INCLUDE" and non_key is not None:
        raise invalid(f"ProjectionType is {kind}, but NonKeyAttributes is specified")
    non_key = non_key or []
    for number, name in enumerate(non_key):
        if name in non_key[:number]:
            raise invalid(f"Duplicate element in NonKeyAttributes: {name}")
    return kind, sorted(non_key)


def check_names(indexes: Iterable[IndexRecord]) -> None:
    """Raise when two indexes of a table have one name."""
    seen: set[str] = set()
    for index in indexes:
        if index.name in seen:
            raise invalid(f"Duplicate index name: {index.name}")
        seen.add(index.name)


def check_projected(indexes: Iterable[IndexRecord]) -> None:
    """Raise when a table's indexes project more attributes by name than they may."""
    if sum(len(index.non_key_attributes) for index in indexes) > PROJECTED_MAX:
        raise invalid(f"Number of attributes projected into all indexes exceeds the per-table limit of {PROJECTED_MAX}")
