"""Key conditions of a Query: a condition tree, or KeyConditions, down to one simple condition for each attribute.

`compile_key_condition` refuses what no key could use (OR, nested paths, two conditions on one attribute);
`match_key_schema` what the key at hand can't use. A secondary index may have several partition and sort key
attributes; then every partition attribute needs an equality, and so do the sort attributes up to the last one that
has a condition at all (developer guide, "Multi-attribute keys"; texts measured on the service).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

from dynamometer.base.errors import ValidationException
from dynamometer.expressions.evaluate import AttributeValue, Values
from dynamometer.expressions.tree import And, Between, Call, Compare, Condition, In, Not, Or, Path, Value, operands
from dynamometer.model.schema import KeyAttribute, KeySchema

CONDITION_MISSED = "Query condition missed key schema element: "
NOT_SUPPORTED = "Query key condition not supported"
WRONG_TYPE = "One or more parameter values were invalid: Condition parameter type does not match schema type"
TWO_CONDITIONS = "Conditions can be of length 1 or 2 only"
NOT_INDEXABLE = "Attempted conditional constraint is not an indexable operation"

KEY_ATTRIBUTES_MAX = 8
"""Partition and sort key attributes of a secondary index, together."""

KEY_OPERATORS = frozenset({"=", "<", "<=", ">", ">=", "BETWEEN", "begins_with"})

_MIRRORED = {"=": "=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}

Resolved: TypeAlias = "list[tuple[str, str, list[AttributeValue]]]"
Matched: TypeAlias = "tuple[list[AttributeValue], list[AttributeValue], tuple[str, str, list[AttributeValue]] | None]"


@dataclass(frozen=True, slots=True)
class KeyClause:
    """`op` is one of KEY_OPERATORS (or, lowered from KeyConditions, another, which `match_key_schema` refuses)."""

    op: str
    operands: tuple[str, ...]


class CompiledKeyCondition:
    """Conditions by attribute name, in written order. `legacy` if they came as KeyConditions."""

    __slots__ = ("conditions", "legacy")

    def __init__(self, conditions: dict[str, KeyClause], legacy: bool = False) -> None:
        self.conditions = conditions
        self.legacy = legacy

    def resolve(self, values: Values) -> Resolved:
        """(attribute, operator, values) of each condition, in written order."""
        return [(name, clause.op, [values[key] for key in clause.operands]) for name, clause in self.conditions.items()]


def compile_key_condition(tree: Condition) -> CompiledKeyCondition:
    """The conditions of a checked tree, or the service's error."""
    conditions: dict[str, KeyClause] = {}
    for clause in _clauses(tree):
        _add(clause, conditions)
    return CompiledKeyCondition(conditions)


def _clauses(tree: Condition) -> Iterator[Compare | Between | Call]:
    """The clauses that AND joins, refusing the first thing that can't be part of a key condition."""
    waiting: list[Condition] = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, And):
            waiting.extend(reversed(node.conditions))
            continue
        operator = _forbidden(node)
        if operator:
            raise ValidationException(f"Invalid operator used in KeyConditionExpression: {operator}")
        assert isinstance(node, Compare | Between | Call)
        yield node


def _forbidden(node: Condition) -> str:
    if isinstance(node, Or | Not | In):
        return type(node).__name__.upper()
    if isinstance(node, Compare):
        return "" if node.operator in KEY_OPERATORS else node.operator
    if isinstance(node, Call):
        return "" if node.function in KEY_OPERATORS else node.function
    return ""


def _add(clause: Compare | Between | Call, conditions: dict[str, KeyClause]) -> None:
    arguments = operands(clause)
    if not isinstance(clause, Compare) and type(arguments[0]) is not Path:
        operator = "BETWEEN" if isinstance(clause, Between) else clause.function
        raise _invalid(f"{operator} operator must have the key attribute as its first operand")
    name, position = _key_attribute(clause)
    if name in conditions:
        raise ValidationException("KeyConditionExpressions must only contain one condition per key")
    keys = tuple(argument.key for argument in arguments if type(argument) is Value)
    conditions[name] = KeyClause(_operator(clause, position), keys)


def _key_attribute(clause: Compare | Between | Call) -> tuple[str, int]:
    """The attribute a clause is about, and which operand it is."""
    found: tuple[str, int] | None = None
    for position, operand in enumerate(operands(clause)):
        if type(operand) is Path:
            if found is not None:
                raise _invalid("Multiple attribute names used in one condition")
            if len(operand.elements) > 1:
                raise ValidationException("KeyConditionExpressions cannot have conditions on nested attributes")
            found = str(operand.elements[0]), position
        elif type(operand) is Call:
            raise ValidationException("KeyConditionExpressions cannot contain nested operations")
    if found is None:
        raise _invalid("No key attribute specified")
    return found


def _operator(clause: Compare | Between | Call, position: int) -> str:
    if isinstance(clause, Compare):
        return _MIRRORED[clause.operator] if position else clause.operator
    return "BETWEEN" if isinstance(clause, Between) else "begins_with"


def _invalid(text: str) -> ValidationException:
    return ValidationException(f"Invalid condition in KeyConditionExpression: {text}")


# --- Against a key -----------------------------------------------------------------------------------------------


def match_key_schema(resolved: Resolved, schema: KeySchema, legacy: bool = False) -> Matched:
    """What a key condition asks of a key: (partition values, leading sort values, condition on the next one or None).

    The condition is (operator, type, values). A last sort attribute that is compared by `=` counts as a leading value.
    `legacy` if the conditions came as KeyConditions, whose number the service words otherwise.
    """
    conditions = {name: (op, values) for name, op, values in resolved}
    partition, sort = schema.partition, schema.sort
    if len(partition) == 1 and len(sort) <= 1:
        if legacy and len(conditions) > 2:
            raise ValidationException(TWO_CONDITIONS)
        _check_simple(conditions, partition[0], sort[0] if sort else None)
    else:
        _check_composite(conditions, partition, sort)
    leading: list[AttributeValue] = []
    last: tuple[str, str, list[AttributeValue]] | None = None
    for attribute in sort:
        condition = conditions.get(attribute.name)
        if condition is None:
            break
        if condition[0] != "=":
            last = condition[0], attribute.type, condition[1]
            break
        leading.append(condition[1][0])
    return [conditions[attribute.name][1][0] for attribute in partition], leading, last


_Conditions: TypeAlias = "dict[str, tuple[str, list[AttributeValue]]]"


def _check_simple(conditions: _Conditions, partition: KeyAttribute, sort: KeyAttribute | None) -> None:
    """A key of one or two attributes: the order of these checks is the service's."""
    if sort is None:
        if len(conditions) > 1:
            raise ValidationException(NOT_SUPPORTED)
    elif len(conditions) > 2:
        raise _too_many(conditions, 2)
    condition = conditions.get(partition.name)
    if condition is None:
        raise ValidationException(CONDITION_MISSED + partition.name)
    _check_operand(condition, partition)
    if condition[0] != "=":
        raise ValidationException(NOT_SUPPORTED)
    if sort is None:
        return
    condition = conditions.get(sort.name)
    if condition is not None:
        _check_operand(condition, sort)
    elif len(conditions) > 1:
        raise ValidationException(CONDITION_MISSED + sort.name)


def _check_composite(
    conditions: _Conditions, partition: tuple[KeyAttribute, ...], sort: tuple[KeyAttribute, ...]
) -> None:
    attributes = partition + sort
    if len(conditions) > len(attributes):
        raise _too_many(conditions, len(attributes))
    lacking = [a.name for a in partition if a.name not in conditions or conditions[a.name][0] != "="]
    if lacking:
        raise _partition_lacks(lacking, len(partition), conditions)
    for attribute in attributes:
        condition = conditions.get(attribute.name)
        if condition is not None:
            _check_operand(condition, attribute)
    known = {attribute.name for attribute in attributes}
    for attribute in sort:
        if attribute.name not in conditions and not conditions.keys() <= known:
            raise ValidationException(CONDITION_MISSED + attribute.name)
    _check_leading(conditions, sort)


def _partition_lacks(lacking: list[str], attributes: int, conditions: _Conditions) -> ValidationException:
    if attributes == 1:
        return ValidationException(NOT_SUPPORTED if lacking[0] in conditions else CONDITION_MISSED + lacking[0])
    return ValidationException(
        f"HASH key attributes {', '.join(lacking)} must have equality conditions specified in the query"
    )


def _check_leading(conditions: _Conditions, sort: tuple[KeyAttribute, ...]) -> None:
    """Sort attributes before the last one that has a condition need an equality."""
    names = [attribute.name for attribute in sort]
    last = max((i for i, name in enumerate(names) if name in conditions), default=0)
    lacking = [name for name in names[:last] if name not in conditions or conditions[name][0] != "="]
    if lacking:
        raise ValidationException(
            f"RANGE key attributes {', '.join(lacking)} must have equality conditions specified in the query "
            f"because a condition is present on key attribute {names[last]}"
        )


def _check_operand(condition: tuple[str, list[AttributeValue]], attribute: KeyAttribute) -> None:
    op, values = condition
    if op not in KEY_OPERATORS:
        raise ValidationException(NOT_INDEXABLE)
    for value in values:
        if attribute.type not in value:
            raise ValidationException(WRONG_TYPE)


def _too_many(conditions: _Conditions, most: int) -> ValidationException:
    return ValidationException(
        f"The number of query conditions ({len(conditions)}) exceeds the number of key attributes "
        f"defined in the schema ({most})"
    )


# --- Key attributes elsewhere ------------------------------------------------------------------------------------


def check_filter_keys(attributes: Any, schema: KeySchema, source: str = "Filter Expression") -> None:
    """A Query's filter may not name the attributes of the key that is queried. `source` may be QueryFilter."""
    for name in schema.names:
        if name in attributes:
            raise ValidationException(
                f"{source} can only contain non-primary key attributes: Primary key attribute: {name}"
            )


def check_scalar_keys(nested: Any, names: tuple[str, ...], label: str = "Key") -> None:
    """Paths may not go into key attributes. `label` is Key, or IndexKey for those of an index."""
    for name in names:
        if name in nested:
            raise ValidationException(
                "Key attributes must be scalars; list random access '[]' and map lookup '.' are not allowed: "
                f"{label}: {name}"
            )
