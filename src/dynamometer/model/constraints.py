"""The constraints of the service's model: required members, lengths, values, patterns and enums.

Each operation's constraints are compiled once, from the model, to a chain of predicates that a good request passes in
a few microseconds. A request that fails one is walked again by `_Collector`, which alone knows the messages: at most
ten, joined, each naming the member by its path. Attribute values and tags are not looked into here.

The service does not print its model as it is published. What differs is in the tables at the top, each measured on
the service: the order of enum values, the limits of table names, which members it calls required.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from functools import cache, lru_cache
from typing import Any, NoReturn

from dynamometer.base.errors import ValidationException
from dynamometer.model.service_model import RECURSIVE, Shape, input_of

ENTRIES_MAX = 10
NAMES_REMEMBERED = 256
"""Table names that were looked at lately: looking again costs a tenth."""
NAME_PATTERN = "[a-zA-Z0-9_.-]+"
PRINTED_ENUMS: dict[str, tuple[str, ...]] = {
    "ReturnValue": ("ALL_NEW", "UPDATED_OLD", "ALL_OLD", "NONE", "UPDATED_NEW"),
    "Select": ("SPECIFIC_ATTRIBUTES", "COUNT", "ALL_ATTRIBUTES", "ALL_PROJECTED_ATTRIBUTES"),
    "ScalarAttributeType": ("B", "N", "S"),
    "ProjectionType": ("ALL", "INCLUDE", "KEYS_ONLY"),
    "ConditionalOperator": ("OR", "AND"),
    "AttributeAction": ("ADD", "DELETE", "PUT"),
    "ComparisonOperator": (
        *("IN", "NULL", "BETWEEN", "LT", "NOT_CONTAINS", "EQ", "GT"),
        *("NOT_NULL", "NE", "LE", "BEGINS_WITH", "GE", "CONTAINS"),
    ),
}
"""By shape: the order in which the service prints an enum, where it is not the model's."""

CONTROL_PLANE = frozenset(
    {
        *("CreateTable", "DeleteTable", "DescribeTable", "UpdateTable", "DescribeTimeToLive", "UpdateTimeToLive"),
        *("DescribeContinuousBackups", "UpdateContinuousBackups", "CreateBackup"),
    }
)
"""Operations for which a table name has at least three characters; to the others an item's table may have one."""

REQUIRED: dict[str, tuple[str, ...]] = {
    "CreateTableInput": ("AttributeDefinitions", "TableName", "KeySchema"),
    "TagResourceInput": ("Tags",),
    "UntagResourceInput": ("TagKeys",),
    "ListTagsOfResourceInput": (),
    "Tag": (),
}
"""By structure: the members that are required, where the model says otherwise."""

_WRITE = ("ReturnConsumedCapacity", "ReturnItemCollectionMetrics", "ReturnValues")
PRINTED_MEMBERS: dict[str, tuple[str, ...]] = {
    "PutItemInput": _WRITE,
    "UpdateItemInput": _WRITE,
    "DeleteItemInput": _WRITE,
    "ProvisionedThroughput": ("WriteCapacityUnits", "ReadCapacityUnits"),
}
"""By structure: the members that are checked first, in this order; the others follow in the model's."""

KEY_SCHEMA_MAX = {"CreateTableInput": 2, "LocalSecondaryIndex": 2}
"""By structure: how many elements its KeySchema may have. Global indexes may have more."""

PAGE_BOUNDS = {
    ("ListStreams", "Limit"): (1, 100),
    ("DescribeStream", "Limit"): (1, 100),
    ("GetRecords", "Limit"): (1, 1000),
    ("ListContributorInsights", "MaxResults"): (1, 100),
}
"""By operation and member: least and most of a page, where the documentation has them and the model has not."""

BATCHES = frozenset({"BatchGetItem", "BatchWriteItem"})
NOT_ECHOED = frozenset(
    {
        ("Query", "Limit"),
        ("BatchGetItem", "RequestItems.*.Keys"),
        *(("SearchVectors", member) for member in ("IndexName", "SearchVector", "TopK")),
    }
)
"""Operation and member whose message shows no value and writes names as the request does."""

NOT_LOOKED_INTO = frozenset({RECURSIVE, "TagKeyString", "TagValueString", "TableClass"})
"""Shapes of which the service says what is wrong in other words, when it comes to them."""

Predicate = Callable[[Any], bool]
Rule = tuple[type | None, Predicate | None]
"""A JSON type, whose lack raises TypeError (numbers have two, so their predicate looks), and what else is asked."""
Shapes = dict[str, Shape]


@cache
def constraints(operation: str) -> Callable[[dict[str, Any]], None]:
    """A check of a request's body, which raises ValidationException with the service's message.

    A wrong JSON type raises TypeError, or another plain error, or a complaint of a value: whoever gets one of them
    asks `shapes.check_types`, which words it. No wrong type outside of attribute values passes.
    """
    collector = _Collector(operation)
    root, shapes = collector.root, collector.shapes
    predicate = _structure_predicate(root, shapes, collector)

    def check(body: dict[str, Any]) -> None:
        if type(body) is not dict:
            raise TypeError
        if predicate is not None and not predicate(body):
            collector.reject(body)

    return check


def _number(predicate: Predicate | None) -> Predicate:
    def check(value: Any) -> bool:
        if type(value) is not float and type(value) is not int:
            raise TypeError
        return predicate is None or predicate(value)

    return check


INTEGER_BITS = {"integer": 31, "long": 63}
JSON_TYPES: dict[str, type] = {
    "string": str,
    "blob": str,
    "boolean": bool,
    "integer": int,
    "long": int,
    "structure": dict,
    "map": dict,
    "list": list,
}


def _rule(shape: Shape, shapes: Shapes, collector: _Collector) -> Rule | None:
    """What a value of a shape has to be; None for attribute values, which are walked elsewhere."""
    if shape.name == RECURSIVE:
        return None
    kind = JSON_TYPES.get(shape.type)
    own = None if shape.name in NOT_LOOKED_INTO else _own_predicate(shape, shapes, collector)
    return (None, _number(own)) if kind is None else (kind, own)


def _own_predicate(shape: Shape, shapes: Shapes, collector: _Collector) -> Predicate | None:
    """Whether a value of the right type keeps to its shape; None where that is all there is to it."""
    if shape.type == "structure":
        return _structure_predicate(shape, shapes, collector)
    if shape.type == "list":
        return _list_predicate(shape, shapes, collector)
    if shape.type == "map":
        return _map_predicate(shape, shapes, collector)
    return _scalar_predicate(shape)


def _scalar_predicate(shape: Shape) -> Predicate | None:
    low, high = shape.minimum, shape.maximum
    if shape.enum:
        return frozenset(shape.enum).__contains__
    if shape.name == "TableArn":
        matcher = re.compile(rf"[a-zA-Z0-9_.-]{{{low},{high}}}|arn:[\s\S]{{0,1020}}").fullmatch
        return lru_cache(NAMES_REMEMBERED)(lambda value: matcher(value) is not None)
    if shape.type == "string":
        if shape.pattern is not None:
            return _pattern_predicate(shape)
        if low is None and high is None:
            return None
        shortest, longest = low or 0, 1 << 62 if high is None else high
        return lambda value: shortest <= len(value) <= longest
    if shape.type in INTEGER_BITS:
        return _integer_predicate(low, high, INTEGER_BITS[shape.type])
    if low is None and high is None:
        return None
    least, most = float("-inf") if low is None else low, float("inf") if high is None else high
    return lambda value: least <= value <= most


def _integer_predicate(low: int | None, high: int | None, bits: int) -> Predicate:
    least, most = -(1 << bits) if low is None else low, (1 << bits) - 1 if high is None else high

    def check(value: Any) -> bool:
        if least <= value <= most:
            return True
        if not -(1 << bits) <= value < 1 << bits:
            raise TypeError  # `shapes.check_types` brings it into the type's range
        return False

    return check


def _pattern_predicate(shape: Shape) -> Predicate | None:
    matcher = _matcher(shape.pattern or "")
    shortest, longest = shape.minimum or 0, shape.maximum or 1 << 62
    if matcher is None:
        return lambda value: shortest <= len(value) <= longest
    return lambda value: shortest <= len(value) <= longest and matcher(value) is not None


@cache
def _matcher(pattern: str) -> Callable[[str], re.Match[str] | None] | None:
    """The model's patterns are Java's; one that Python does not read is not checked."""
    try:
        return re.compile(pattern).fullmatch
    except re.error:
        return None


def _structure_predicate(shape: Shape, shapes: Shapes, collector: _Collector) -> Predicate | None:
    required = collector.required(shape)
    rules = {}
    for name in shape.members:
        rule = _rule(collector.member(shape, name), shapes, collector)
        if rule is not None:
            rules[name] = rule
    if not required and not rules:
        return None
    rule_of = rules.get

    def check(value: Any) -> bool:
        for name in required:
            if name not in value:
                return False
        for name, member in value.items():
            rule = rule_of(name)
            if rule is None:
                continue
            kind, predicate = rule
            if kind is not None and type(member) is not kind:
                raise TypeError
            if predicate is not None and not predicate(member):
                return False
        return True

    return check


def _list_predicate(shape: Shape, shapes: Shapes, collector: _Collector) -> Predicate | None:
    low, high = shape.minimum or 0, 1 << 62 if shape.maximum is None else shape.maximum
    elements = _all_predicate(shapes[shape.element], shapes, collector)
    if elements is None:
        return None if not low and shape.maximum is None else lambda value: low <= len(value) <= high
    return lambda value: low <= len(value) <= high and elements(value)


def _map_predicate(shape: Shape, shapes: Shapes, collector: _Collector) -> Predicate | None:
    low, high = shape.minimum or 0, 1 << 62 if shape.maximum is None else shape.maximum
    keys = _keys_predicate(collector.table(shapes[shape.key]), shapes, collector)
    elements = _all_predicate(shapes[shape.element], shapes, collector)
    if keys is not None and elements is None and not low and shape.maximum is None:
        return keys

    def check(value: Any) -> bool:
        return (
            low <= len(value) <= high
            and (keys is None or keys(value))
            and (elements is None or elements(value.values()))
        )

    return check


def _keys_predicate(shape: Shape, shapes: Shapes, collector: _Collector) -> Predicate | None:
    """Whether all keys of a map keep to their shape. They are strings in any case, so the longest speaks for all."""
    if shape.type == "string" and not shape.enum and shape.pattern is None and not shape.minimum and shape.maximum:
        longest = shape.maximum
        return lambda keys: not keys or max(map(len, keys)) <= longest
    return _all_predicate(shape, shapes, collector)


def _all_predicate(shape: Shape, shapes: Shapes, collector: _Collector) -> Predicate | None:
    """Whether all members of a collection keep to their shape; None where nothing is to be checked.

    A null scalar breaks a constraint; a null structure or collection is a matter of types.
    """
    rule = _rule(shape, shapes, collector)
    if rule is None:
        return None
    kind, predicate = rule
    is_scalar = shape.type not in ("structure", "map", "list")

    def check(members: Any) -> bool:
        for member in members:
            if member is None and is_scalar:
                return False
            if kind is not None and type(member) is not kind:
                raise TypeError
            if predicate is not None and not predicate(member):
                return False
        return True

    return check


class _Collector:
    """Walks a bad request of one operation and words what is wrong with it."""

    def __init__(self, operation: str) -> None:
        self.operation = operation
        self.root, self.shapes = input_of(operation)
        self._table = replace(
            self.shapes.get("TableArn") or Shape("TableArn", "string", 1, 255, None, (), (), {}, "", ""),
            minimum=3 if operation in CONTROL_PLANE else 1,
            maximum=255,
            pattern=NAME_PATTERN,
        )

    def table(self, shape: Shape) -> Shape:
        """The shape itself, or what the service makes of a table's name."""
        return self._table if shape.name == "TableArn" else shape

    def member(self, parent: Shape, name: str) -> Shape:
        """The shape of a structure's member, as the service applies it."""
        shape = self.shapes[parent.members[name]]
        if name == "KeySchema" and parent.name in KEY_SCHEMA_MAX:
            return replace(shape, maximum=KEY_SCHEMA_MAX[parent.name])
        if (self.operation, name) in PAGE_BOUNDS:
            least, most = PAGE_BOUNDS[self.operation, name]
            return replace(shape, minimum=least, maximum=most)
        return self.table(shape)

    def required(self, shape: Shape) -> tuple[str, ...]:
        return REQUIRED.get(shape.name, shape.required)

    def reject(self, body: dict[str, Any]) -> None:
        """Raise for all that is wrong. A table name that is wrong is the only thing told."""
        self._reject_alone(body)
        errors: list[str] = []
        self._structure(body, self.root, (), (), errors)
        if not errors:
            raise TypeError("what is wrong is no constraint of the model, so it must be a type")
        _raise(errors[:ENTRIES_MAX])

    def _reject_alone(self, body: dict[str, Any]) -> None:
        if self.operation in BATCHES and not body.get("RequestItems"):
            raise ValidationException(f"The requestItems parameter is required for {self.operation}")
        if "TableName" not in self.root.members:
            return
        name = body.get("TableName")
        if name is None:
            if self.operation in CONTROL_PLANE:
                raise ValidationException("The parameter 'TableName' is required but was not present in the request")
            if "TableName" not in self.root.required:
                return
            _raise([_entry(None, "tableName", "Member must not be null")])
        errors = self._scalar_errors(name, self._table)
        if errors:
            _raise([_entry(name, "tableName", errors[0])])

    def _structure(
        self, value: dict[str, Any], shape: Shape, path: tuple[str, ...], known: tuple[str, ...], errors: list[str]
    ) -> None:
        required = self.required(shape)
        for name in dict.fromkeys((*PRINTED_MEMBERS.get(shape.name, ()), *shape.members)):
            member, place = value.get(name), (*path, name[0].lower() + name[1:])
            if member is not None:
                self._value(member, self.member(shape, name), place, (*known, name), errors)
            elif name in required:
                errors.append(_entry(None, ".".join(place), "Member must not be null"))
            if len(errors) >= ENTRIES_MAX:
                return

    def _value(
        self, value: Any, shape: Shape, path: tuple[str, ...], known: tuple[str, ...], errors: list[str]
    ) -> None:
        if shape.name in NOT_LOOKED_INTO:
            return
        if shape.type == "structure":
            self._structure(value, shape, path, known, errors)
            return
        for constraint in self._own_errors(value, shape):
            if (self.operation, ".".join(known)) in NOT_ECHOED:
                errors.append(f"Value at '{_as_written(path, known)}' failed to satisfy constraint: {constraint}")
            else:
                errors.append(_entry(_java(value, shape, self.shapes), ".".join(path), constraint))
        if shape.type == "list" and self.shapes[shape.element].type == "structure":
            for number, member in enumerate(value, 1):
                self._value(member, self.shapes[shape.element], (*path, str(number), "member"), known, errors)
        elif shape.type == "map":
            for name, member in value.items():
                self._map_member(member, self.shapes[shape.element], (*path, name, "member"), (*known, "*"), errors)

    def _map_member(
        self, value: Any, shape: Shape, path: tuple[str, ...], known: tuple[str, ...], errors: list[str]
    ) -> None:
        """The structures below a map; the map's own error has told of everything else."""
        if shape.type == "structure":
            self._value(value, shape, path, known, errors)
        elif shape.type == "list" and self.shapes[shape.element].type == "structure":
            for number, member in enumerate(value, 1):
                self._value(member, self.shapes[shape.element], (*path, str(number), "member"), known, errors)

    def _own_errors(self, value: Any, shape: Shape) -> list[str]:
        """What is wrong with a value that is no structure, without the structures inside it."""
        if shape.type not in ("list", "map"):
            return self._scalar_errors(value, shape)
        found = _length_errors(len(value), shape)
        element = self.shapes[shape.element]
        if shape.type == "map":
            key = self.table(self.shapes[shape.key])
            if key.name not in NOT_LOOKED_INTO and any(self._scalar_errors(name, key) for name in value):
                found.append(f"Map keys must satisfy constraint: [{_all_constraints(key)}]")
        if element.type == "structure" or element.name in NOT_LOOKED_INTO:
            return found
        members = value.values() if shape.type == "map" else value
        if any(member is None or self._own_errors(member, element) for member in members):
            what = "Map value" if shape.type == "map" else "Member"
            found.append(f"{what} must satisfy constraint: [{_all_constraints(element) or 'Member must not be null'}]")
        return found

    def _scalar_errors(self, value: Any, shape: Shape) -> list[str]:
        if shape.name == "TableArn" and isinstance(value, str) and value.startswith("arn:") and len(value) <= 1024:
            return []
        if shape.enum:
            return [] if value in shape.enum else [_enum(shape)]
        if shape.type != "string":
            return _bound_errors(value, shape, "value")
        found = _length_errors(len(value), shape)
        matcher = _matcher(shape.pattern) if shape.pattern else None
        if matcher is not None and not matcher(value):
            found.append(f"Member must satisfy regular expression pattern: {shape.pattern}")
        return found


def _as_written(path: tuple[str, ...], known: tuple[str, ...]) -> str:
    """A path with its members' names as in the request."""
    written = {name[0].lower() + name[1:]: name for name in known}
    return ".".join([written.get(piece, piece) for piece in path])


def _raise(errors: list[str]) -> NoReturn:
    plural = "" if len(errors) == 1 else "s"
    raise ValidationException(f"{len(errors)} validation error{plural} detected: {'; '.join(errors)}")


def _entry(text: str | None, path: str, constraint: str) -> str:
    value = "null" if text is None else f"'{text}'"
    return f"Value {value} at '{path}' failed to satisfy constraint: {constraint}"


def _enum(shape: Shape) -> str:
    return f"Member must satisfy enum value set: [{', '.join(PRINTED_ENUMS.get(shape.name, shape.enum))}]"


def _length_errors(length: int, shape: Shape) -> list[str]:
    return _bound_errors(length, shape, "length")


def _bound_errors(number: Any, shape: Shape, what: str) -> list[str]:
    if shape.minimum is not None and number < shape.minimum:
        return [f"Member must have {what} greater than or equal to {shape.minimum}"]
    if shape.maximum is not None and number > shape.maximum:
        return [f"Member must have {what} less than or equal to {shape.maximum}"]
    return []


def _all_constraints(shape: Shape) -> str:
    """All constraints of a collection's members; the service prints them together when one is broken."""
    if shape.enum:
        return _enum(shape)
    what = "length" if shape.type in ("string", "list", "map") else "value"
    found = []
    if shape.maximum is not None:
        found.append(f"Member must have {what} less than or equal to {shape.maximum}")
    if shape.minimum is not None:
        found.append(f"Member must have {what} greater than or equal to {shape.minimum}")
    if shape.pattern is not None:
        found.append(f"Member must satisfy regular expression pattern: {shape.pattern}")
    return ", ".join(found)


def _java(value: Any, shape: Shape, shapes: Shapes) -> str:
    """A value as the service prints it: by the rules of Java's toString."""
    if value is None:
        return "null"
    if shape.name == RECURSIVE:
        return "{" + ", ".join(f"{kind}: {payload}" for kind, payload in value.items()) + "}"
    if shape.type == "structure":
        members = (
            f"{name[0].lower()}{name[1:]}={_java(value[name], shapes[shape.members[name]], shapes)}"
            for name in shape.members
            if name in value
        )
        return f"{shape.name}({', '.join(members)})"
    if shape.type == "list":
        return f"[{', '.join([_java(member, shapes[shape.element], shapes) for member in value])}]"
    if shape.type == "map":
        pairs = [f"{name}={_java(member, shapes[shape.element], shapes)}" for name, member in value.items()]
        return "{" + ", ".join(pairs) + "}"
    return str(value).lower() if isinstance(value, bool) else str(value)
