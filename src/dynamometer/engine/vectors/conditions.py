"""SearchConditionExpression: equalities of attributes of the search schema, joined by AND (messages: measured)."""

from __future__ import annotations

from typing import Any

from dynamometer.base import limits
from dynamometer.base.errors import ValidationException
from dynamometer.engine.codec import Item
from dynamometer.engine.vectors.codec import WHOLE_INDEX
from dynamometer.expressions.tree import And, Compare, Condition, Not, Or, Path, Value, clauses_of
from dynamometer.model import keys
from dynamometer.model.schema import IndexSchema, KeyAttribute

KIND = "SearchConditionExpression"
Pair = tuple[Path, str]

COMPARATOR = f"Invalid {KIND}: Invalid comparator used in {KIND}"


def pairs_of(tree: Condition) -> list[Pair]:
    """Path and value key of each equality. Raises for any other condition, before the table is looked at."""
    for operator, kind in (("OR", Or), ("NOT", Not)):
        if _has(tree, kind):
            raise ValidationException(f"Invalid {KIND}: Invalid operator used in {KIND}: {operator}")  # assumed
    return [_pair(clause) for clause in clauses_of(tree)]


def _has(tree: Condition, kind: type) -> bool:
    if type(tree) is kind:
        return True
    return type(tree) is And and any(_has(each, kind) for each in tree.conditions)


def _pair(clause: Any) -> Pair:
    if type(clause) is Compare and clause.operator == "=":
        for path, value in ((clause.left, clause.right), (clause.right, clause.left)):
            if type(path) is Path and type(value) is Value:
                return path, value.key
    raise ValidationException(COMPARATOR)


class Scope:
    """Which part of an index is searched, and which of its vectors are wanted."""

    __slots__ = ("filters", "position")

    def __init__(self, schema: IndexSchema, pairs: list[Pair], values: dict[str, Item]) -> None:
        vector = schema.vector
        assert vector is not None
        partition = schema.key.partition[0] if schema.key.partition else None
        known = {attribute.name: attribute for attribute in (*schema.key.partition, *vector.filters)}
        _check(known, partition, pairs)
        wanted = {str(path.elements[0]): values[key] for path, key in pairs}
        for name, value in wanted.items():
            _check_type(known[name], value)
        self.position: bytes | None = WHOLE_INDEX
        """None: nothing can be found."""
        if partition is not None:
            self.position = _position(partition, wanted.pop(partition.name))
        self.filters = list(wanted.items())


def _check(known: dict[str, KeyAttribute], partition: KeyAttribute | None, pairs: list[Pair]) -> None:
    if partition is not None and not pairs:
        raise ValidationException(f"{KIND} must be provided when SearchSchema has a HASH key")
    names = [str(path.elements[0]) for path, _ in pairs]
    for name in names:
        if name not in known:
            raise ValidationException(
                f"{KIND} must not contain any attributes that is not in SearchSchema. Invalid attribute: {name}"
            )
    if any(len(path.elements) > 1 for path, _ in pairs):
        raise ValidationException(f"Invalid {KIND}: {KIND} cannot have conditions on nested attributes")
    if len(set(names)) < len(names):
        raise ValidationException(f"Invalid {KIND}: {KIND} must only contain one condition per attribute")
    if partition is not None and partition.name not in names:
        raise ValidationException(f"{KIND} must have all HASH attributes in configured SearchSchema")


def _check_type(attribute: KeyAttribute, value: Item) -> None:
    if attribute.type not in value:
        raise ValidationException(
            f"Type of '{attribute.name}' attribute in {KIND} ({next(iter(value))}) does not match type in search "
            f"schema ({attribute.type})"
        )


def _position(attribute: KeyAttribute, value: Item) -> bytes | None:
    payload = value[attribute.type]
    if payload == "":
        kind = "string" if attribute.type == "S" else "binary"
        raise ValidationException(
            "One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an "
            f"empty {kind} value. Key: {attribute.name}"
        )
    raw = keys.ENCODERS[attribute.type](payload)
    return None if len(raw) > limits.PARTITION_KEY_BYTES_MAX else keys.partition_bytes([raw])
