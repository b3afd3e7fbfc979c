"""Trees as parsed to trees as kept: every `#name` becomes the attribute's name."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias

from dynamometer.base.errors import ValidationException
from dynamometer.expressions.tree import (
    Action,
    And,
    Arithmetic,
    Between,
    Call,
    Compare,
    Computed,
    Condition,
    In,
    Not,
    Operand,
    Or,
    Path,
    Projection,
    Remove,
    Set,
    Update,
    calls_of,
    clauses_of,
    operands,
)

ATTRIBUTE_NAME_BYTES_MAX = 65535

Names: TypeAlias = Mapping[str, str]


def check_name(name: str) -> str:
    """An attribute name as the client gave it, or the service's error."""
    if not name:
        raise ValidationException("Empty attribute name")
    if len(name) > ATTRIBUTE_NAME_BYTES_MAX or len(name.encode()) > ATTRIBUTE_NAME_BYTES_MAX:
        raise ValidationException("Attribute name is too large, must be less than 65536 bytes")
    return name


def resolve_path(path: Path, names: Names) -> Path:
    """`path` with every `#name` replaced by the attribute's name."""
    elements = path.elements
    for element in elements:
        if type(element) is str and element[0] == "#":
            break
    else:
        return path
    return Path(tuple([names[e] if type(e) is str and e[0] == "#" else e for e in elements]))


def resolve_condition(tree: Condition, names: Names) -> Condition:
    """The condition with names put in."""
    resolved: Condition = _conditions[type(tree)](tree, names)
    return resolved


def resolve_operand(operand: Operand, names: Names) -> Operand:
    if type(operand) is Path:
        return resolve_path(operand, names)
    if type(operand) is Call:
        return _call(operand, names)
    return operand


def resolve_update(tree: Update, names: Names) -> Update:
    """The update with names put in."""
    return Update(tuple([_action(action, names) for action in tree.actions]))


def resolve_projection(tree: Projection, names: Names) -> Projection:
    """The projection with names put in."""
    return Projection(tuple([resolve_path(path, names) for path in tree.paths]))


def paths_of(tree: Condition) -> Iterator[Path]:
    """Every path of a resolved condition, in written order of its clauses."""
    for clause in clauses_of(tree):
        for operand in operands(clause):
            if type(operand) is Path:
                yield operand
        for call in calls_of(clause):
            if call is not clause:
                yield from (argument for argument in call.arguments if type(argument) is Path)


def _call(tree: Call, names: Names) -> Call:
    arguments = []
    for argument in tree.arguments:
        arguments.append(resolve_operand(argument, names))  # noqa: PERF401 (a comprehension would be one more frame)
    return Call(tree.function, tuple(arguments))


def _compare(tree: Compare, names: Names) -> Compare:
    return Compare(tree.operator, resolve_operand(tree.left, names), resolve_operand(tree.right, names))


def _between(tree: Between, names: Names) -> Between:
    return Between(
        resolve_operand(tree.operand, names),
        resolve_operand(tree.low, names),
        resolve_operand(tree.high, names),
    )


def _in(tree: In, names: Names) -> In:
    return In(
        resolve_operand(tree.operand, names),
        tuple([resolve_operand(choice, names) for choice in tree.choices]),
    )


def _not(tree: Not, names: Names) -> Not:
    return Not(resolve_condition(tree.condition, names))


def _and(tree: And, names: Names) -> And:
    return And(_all(tree.conditions, names))


def _or(tree: Or, names: Names) -> Or:
    return Or(_all(tree.conditions, names))


def _all(conditions: tuple[Condition, ...], names: Names) -> tuple[Condition, ...]:
    resolved = []
    for condition in conditions:
        resolved.append(resolve_condition(condition, names))  # noqa: PERF401
    return tuple(resolved)


_conditions: dict[type, Callable[[Any, Names], Any]] = {
    Compare: _compare,
    Between: _between,
    In: _in,
    Call: _call,
    Not: _not,
    And: _and,
    Or: _or,
}


def _action(action: Action, names: Names) -> Action:
    path = resolve_path(action.path, names)
    if type(action) is Set:
        return Set(path, _computed(action.value, names))
    if type(action) is Remove:
        return Remove(path)
    return type(action)(path, action.value, action.legacy)


def _computed(value: Computed, names: Names) -> Computed:
    if type(value) is Arithmetic:
        return Arithmetic(value.operator, resolve_operand(value.left, names), resolve_operand(value.right, names))
    return resolve_operand(value, names)
