"""The parameters from before expressions, lowered to the same trees: Expected, AttributeUpdates, KeyConditions,
QueryFilter, ScanFilter, ConditionalOperator, AttributesToGet.

Their names are attribute names as they stand (`a.b` is one name). Their values get keys of their own in the request's
values. Checks and texts are the service's, measured by the authors of public conformance suites; so is their order.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from dynamometer.base.errors import ValidationException
from dynamometer.expressions.evaluate import AttributeValue, compares_greater
from dynamometer.expressions.key_condition import (
    KEY_ATTRIBUTES_MAX,
    TWO_CONDITIONS,
    CompiledKeyCondition,
    KeyClause,
)
from dynamometer.expressions.resolve import check_name
from dynamometer.expressions.rules import ORDERED_TYPES, TYPE_NAMES, type_of
from dynamometer.expressions.tree import (
    Action,
    Add,
    And,
    Between,
    Call,
    Compare,
    Condition,
    Delete,
    In,
    Not,
    Operand,
    Or,
    Path,
    Projection,
    Remove,
    Set,
    Update,
    Value,
)
from dynamometer.model.values import normalize_value

_INVALID = "One or more parameter values were invalid: "

Parameters: TypeAlias = dict[str, dict[str, Any]]

_COUNTS = {"NULL": (0, 0), "NOT_NULL": (0, 0), "BETWEEN": (2, 2), "IN": (1, None)}
_CONTAINED_TYPES = ORDERED_TYPES | {"BOOL", "NULL"}
_TYPES = {
    "LE": ORDERED_TYPES,
    "LT": ORDERED_TYPES,
    "GE": ORDERED_TYPES,
    "GT": ORDERED_TYPES,
    "BETWEEN": ORDERED_TYPES,
    "IN": ORDERED_TYPES,
    "CONTAINS": _CONTAINED_TYPES,
    "NOT_CONTAINS": _CONTAINED_TYPES,
    "BEGINS_WITH": frozenset({"S", "B"}),
}
_COMPARATORS = {"EQ": "=", "NE": "<>", "LE": "<=", "LT": "<", "GE": ">=", "GT": ">"}
_KEY_OPERATORS = {"EQ": "=", "LE": "<=", "LT": "<", "GE": ">=", "GT": ">", "BEGINS_WITH": "begins_with"}
_CONNECTIVES: dict[str, Callable[[tuple[Condition, ...]], Condition]] = {"AND": And, "OR": Or}
_ADDED_TYPES = frozenset({"L", "SS", "NS", "BS", "N"})
_SET_TYPES = frozenset({"SS", "NS", "BS"})


def _invalid(text: str) -> ValidationException:
    return ValidationException(_INVALID + text)


def check_conditional_operator(body: dict[str, Any], members: tuple[str, ...]) -> None:
    """ConditionalOperator needs two conditions to join."""
    if body.get("ConditionalOperator") is None:
        return
    counts = [len(body[member]) for member in members if body.get(member)]
    if not counts:
        raise ValidationException("ConditionalOperator cannot be used without Filter or Expected")
    if counts[0] < 2:
        raise ValidationException(
            "ConditionalOperator can only be used when Filter or Expected has two or more elements"
        )


# --- Conditions --------------------------------------------------------------------------------------------------


def lower_expected(expected: Parameters, connective: str | None, values: dict[str, AttributeValue]) -> Condition:
    """Expected as a condition; its values go to `values`."""
    return _join([_expected(name, entry, values) for name, entry in expected.items()], connective)


def lower_filter(
    member: str, conditions: Parameters, connective: str | None, values: dict[str, AttributeValue]
) -> Condition:
    """QueryFilter or ScanFilter as a condition; its values go to `values`."""
    lowered = []
    for name, entry in conditions.items():
        operator, arguments = _filter_arguments(entry)
        lowered.append(_condition(name, operator, _keep(member, name, arguments, values)))
    return _join(lowered, connective)


def lower_key_conditions(conditions: Parameters, values: dict[str, AttributeValue]) -> CompiledKeyCondition:
    """KeyConditions; their values go to `values`. What is no condition for keys is refused by match_key_schema."""
    clauses = {}
    if not 1 <= len(conditions) <= KEY_ATTRIBUTES_MAX:
        raise ValidationException(TWO_CONDITIONS)
    for name, entry in conditions.items():
        operator, arguments = _filter_arguments(entry)
        keys = tuple(value.key for value in _keep("KeyConditions", name, arguments, values))
        clauses[name] = KeyClause(_KEY_OPERATORS.get(operator, operator), keys)
    return CompiledKeyCondition(clauses, legacy=True)


def _join(conditions: list[Condition], connective: str | None) -> Condition:
    return conditions[0] if len(conditions) == 1 else _CONNECTIVES[connective or "AND"](tuple(conditions))


def _keep(
    member: str, name: str, arguments: list[AttributeValue], values: dict[str, AttributeValue]
) -> tuple[Value, ...]:
    keys = tuple(Value(f"{member}:{name}:{index}") for index in range(len(arguments)))
    for value, argument in zip(keys, arguments, strict=True):
        values[value.key] = argument
    return keys


def _filter_arguments(entry: dict[str, Any]) -> tuple[str, list[AttributeValue]]:
    operator: str = entry["ComparisonOperator"]
    arguments: list[AttributeValue] = entry.get("AttributeValueList") or []
    for argument in arguments:
        normalize_value(argument)
    _check_arguments(operator, arguments)
    return operator, arguments


def _check_arguments(operator: str, arguments: list[AttributeValue]) -> None:
    least, most = _COUNTS.get(operator, (1, 1))
    if len(arguments) < least or (most is not None and len(arguments) > most):
        raise _invalid(f"Invalid number of argument(s) for the {operator} ComparisonOperator")
    kinds = [type_of(argument) for argument in arguments]
    if len(set(kinds)) > 1:
        raise _invalid("AttributeValues inside AttributeValueList must be of same type")
    if kinds and kinds[0] not in _TYPES.get(operator, TYPE_NAMES):
        raise _invalid(f"ComparisonOperator {operator} is not valid for {kinds[0]} AttributeValue type")
    if operator == "BETWEEN" and compares_greater(arguments[0], arguments[1]):
        raise ValidationException(
            "The BETWEEN condition was provided a range where the lower bound is greater than the upper bound"
        )


def _expected(name: str, entry: dict[str, Any], values: dict[str, AttributeValue]) -> Condition:
    operator: str | None = entry.get("ComparisonOperator")
    value: AttributeValue | None = entry.get("Value")
    arguments: list[AttributeValue] | None = entry.get("AttributeValueList")
    if arguments is not None and value is not None:
        raise _invalid(f"Value and AttributeValueList cannot be used together for Attribute: {name}")
    if operator is None:
        if arguments is not None:
            raise _invalid(f"AttributeValueList can only be used with a ComparisonOperator for Attribute: {name}")
        return _expected_existence(name, entry.get("Exists"), value, values)
    if entry.get("Exists") is not None:
        raise _invalid(f"Exists and ComparisonOperator cannot be used together for Attribute: {name}")
    if arguments is None and value is None and operator not in ("NULL", "NOT_NULL"):
        raise _invalid(
            f"Value or AttributeValueList must be used with ComparisonOperator: {operator} for Attribute: {name}"
        )
    arguments = arguments or ([] if value is None else [value])
    for argument in arguments:
        normalize_value(argument)
    _check_arguments(operator, arguments)
    return _condition(name, operator, _keep("Expected", name, arguments, values))


def _expected_existence(
    name: str, exists: bool | None, value: AttributeValue | None, values: dict[str, AttributeValue]
) -> Condition:
    if exists is None or exists:
        if value is None:
            shown = "null" if exists is None else "true"
            raise _invalid(f"Value must be provided when Exists is {shown} for Attribute: {name}")
        normalize_value(value)
        return _condition(name, "EQ", _keep("Expected", name, [value], values))
    if value is not None:
        raise _invalid(f"Value cannot be used when Exists is false for Attribute: {name}")
    return _condition(name, "NULL", ())


def _condition(name: str, operator: str, arguments: tuple[Operand, ...]) -> Condition:
    path = Path((check_name(name),))
    if operator in _COMPARATORS:
        return Compare(_COMPARATORS[operator], path, arguments[0])
    if operator == "IN":
        return In(path, arguments)
    if operator == "BETWEEN":
        return Between(path, arguments[0], arguments[1])
    if operator == "BEGINS_WITH":
        return Call("begins_with", (path, arguments[0]))
    if operator == "CONTAINS":
        return Call("contains", (path, arguments[0]))
    exists = Call("attribute_exists", (path,))
    if operator == "NOT_CONTAINS":
        # Of a missing attribute it is false, as CONTAINS is: measured on the service.
        return And((exists, Not(Call("contains", (path, arguments[0])))))
    return exists if operator == "NOT_NULL" else Call("attribute_not_exists", (path,))


# --- Updates and projections -------------------------------------------------------------------------------------


def lower_updates(updates: Parameters, values: dict[str, AttributeValue]) -> Update:
    """AttributeUpdates as an update; its values go to `values`."""
    return Update(tuple([_action(name, entry, values) for name, entry in updates.items()]))


def _action(name: str, entry: dict[str, Any], values: dict[str, AttributeValue]) -> Action:
    action: str = entry.get("Action") or "PUT"
    value: AttributeValue | None = entry.get("Value")
    path = Path((check_name(name),))
    if value is None:
        if action != "DELETE":
            raise _invalid("Only DELETE action is allowed when no attribute value is specified")
        return Remove(path)
    normalize_value(value)
    kind = type_of(value)
    if action == "DELETE" and kind not in _SET_TYPES:
        raise _invalid(f"DELETE action with value is not supported for the type {kind}")
    if action == "ADD" and kind not in _ADDED_TYPES:
        raise _invalid(f"ADD action is not supported for the type {kind}")
    (operand,) = _keep("AttributeUpdates", name, [value], values)
    if action == "ADD":
        return Add(path, operand, legacy=True)
    if action == "DELETE":
        return Delete(path, operand, legacy=True)
    return Set(path, operand)


def lower_attributes_to_get(names: list[str]) -> Projection:
    """AttributesToGet as a projection."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise _invalid(f"Duplicate value in attribute name: {name}")
        seen.add(name)
    return Projection(tuple([Path((check_name(name),)) for name in names]))
