"""SET and REMOVE: to an update tree of `dynamometer.expressions`. set_add and set_delete are its ADD and DELETE."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dynamometer.base.errors import ValidationException
from dynamometer.engine.partiql.conditions import Lowering, plain
from dynamometer.expressions import check, rules
from dynamometer.expressions.tree import (
    Action,
    Add,
    Arithmetic,
    Computed,
    Delete,
    Operand,
    Remove,
    Set,
    Update,
)
from dynamometer.expressions.tree import Call as Function
from dynamometer.partiql.tree import (
    Assign,
    Bag,
    Binary,
    Call,
    Change,
    Expression,
    ListOf,
    Literal,
    Name,
    Parameter,
    Tuple,
    Unary,
)

_SET_TYPES = frozenset({"SS", "NS", "BS"})


@dataclass(frozen=True, slots=True)
class SetRule:
    """The second argument of set_add or set_delete has to be a set."""

    key: str
    text: str

    def problem(self, values: Any) -> str | None:
        return None if rules.type_of(values[self.key]) in _SET_TYPES else self.text


def lower_changes(lowering: Lowering, changes: tuple[Change, ...]) -> tuple[Update, list[Any]]:
    """The update tree, and the rules that parameters have to meet. Raises ValidationException."""
    extra: list[Any] = []
    actions = tuple(_action(lowering, change, extra) for change in changes)
    update = Update(actions)
    try:
        check.check_paths("", [action.path for action in actions])
    except ValidationException as error:
        raise plain(error) from None
    return update, [*extra, *rules.function_rules(update)]


def _action(lowering: Lowering, change: Change, extra: list[Any]) -> Action:
    if not isinstance(change, Assign):
        return Remove(lowering.path(change.target))
    value = change.value
    if isinstance(value, Call) and value.function in ("set_add", "set_delete"):
        return _set_change(lowering, change.target, value, extra)
    return Set(lowering.path(change.target), _computed(lowering, value))


def _set_change(lowering: Lowering, target: Name, call: Call, extra: list[Any]) -> Action:
    name = call.function.upper()
    if len(call.arguments) != 2:
        raise lowering.error(f"{name} must have exactly two arguments", call)
    first, second = call.arguments
    path = lowering.path(target)
    if not isinstance(first, Name) or lowering.path(first) != path:
        raise lowering.error(f"The first argument to {name} must equal the assignment value", call)
    not_a_set = lowering.error(f"The second argument to {name} must be a value with type SET", first)
    if not isinstance(second, Bag | Parameter):
        raise not_a_set
    value = lowering.value(second)
    extra.append(SetRule(value.key, str(not_a_set.message)))
    return Add(path, value) if name == "SET_ADD" else Delete(path, value)


def _computed(lowering: Lowering, node: Expression) -> Computed:
    if isinstance(node, Binary) and node.operator in ("+", "-"):
        return Arithmetic(node.operator, _operand(lowering, node.left), _operand(lowering, node.right))
    return _operand(lowering, node)


def _operand(lowering: Lowering, node: Expression) -> Operand:
    match node:
        case Name():
            return lowering.path(node)
        case Literal() | Parameter() | ListOf() | Bag() | Tuple():
            return lowering.value(node)
        case Call() if node.function in rules.UPDATE_FUNCTIONS:
            return Function(node.function, tuple(_operand(lowering, argument) for argument in node.arguments))
        case Call():
            raise lowering.error(f"Unrecognized function: {node.function}", node)
        case Unary() if node.operator != "not":
            raise ValidationException(
                "Incorrect number of operands for operator or function; "
                f"operator or function: {node.operator}, number of operands: 1"
            )
        case Binary():
            raise ValidationException(f"Unsupported operator in Update Expression. Operator: {node.operator.upper()}")
        case _:
            raise lowering.error("Unsupported token in expression", node)  # assumed
