"""What the types of an expression's values have to be, as rules that every request's values are held against.

A rule's problem is the service's text, without the expression's name. Which rules there are, and in which order,
follows from the tree: inner calls come before the clause that they stand in.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from dynamometer.expressions.evaluate import compares_greater
from dynamometer.expressions.tree import (
    Add,
    Arithmetic,
    Between,
    Call,
    Clause,
    Compare,
    Delete,
    Operand,
    Path,
    Set,
    Update,
    Value,
    calls_of,
)

CONDITION_FUNCTIONS = {
    "attribute_exists": 1,
    "attribute_not_exists": 1,
    "attribute_type": 2,
    "begins_with": 2,
    "contains": 2,
    "size": 1,
}
UPDATE_FUNCTIONS = {"if_not_exists": 2, "list_append": 2}

TYPE_NAMES = frozenset({"B", "NULL", "SS", "BOOL", "L", "BS", "N", "NS", "S", "M"})
ORDERED_TYPES = frozenset({"S", "N", "B"})
_TEXT_TYPES = frozenset({"S", "B"})
_SIZED_TYPES = TYPE_NAMES - {"N", "BOOL", "NULL"}
_SET_TYPES = frozenset({"SS", "NS", "BS"})
_TYPE_WORDS = {
    "S": "STRING",
    "N": "NUMBER",
    "B": "BINARY",
    "NULL": "NULL",
    "BOOL": "BOOLEAN",
    "L": "LIST",
    "M": "MAP",
}

Values: TypeAlias = Mapping[str, dict[str, Any]]


@dataclass(frozen=True, slots=True)
class TypeRule:
    """A value has to be of one of some types."""

    key: str
    allowed: frozenset[str]
    operator: str
    section: bool = False

    def problem(self, values: Values) -> str | None:
        kind = type_of(values[self.key])
        if kind in self.allowed:
            return None
        return _wrong_section_type(self.operator, kind) if self.section else _wrong_type(self.operator, kind)


@dataclass(frozen=True, slots=True)
class TypeNameRule:
    """The second argument of attribute_type has to name a type."""

    key: str

    def problem(self, values: Values) -> str | None:
        value = values[self.key]
        kind = type_of(value)
        if kind != "S":
            return _wrong_type("attribute_type", kind)
        if value["S"] in TYPE_NAMES:
            return None
        valid = "{B,NULL,SS,BOOL,L,BS,N,NS,S,M}"
        return f"Invalid attribute type name found; type: {value['S']}, valid types: {valid}"


@dataclass(frozen=True, slots=True)
class BoundsRule:
    """The bounds of BETWEEN have to be of one type, and in order."""

    low: str
    high: str

    def problem(self, values: Values) -> str | None:
        low, high = values[self.low], values[self.high]
        if type_of(low) != type_of(high):
            need = "The BETWEEN operator requires same data type for lower and upper bounds"
        elif compares_greater(low, high):
            need = "The BETWEEN operator requires upper bound to be greater than or equal to lower bound"
        else:
            return None
        return f"{need}; lower bound operand: {_print(low)}, upper bound operand: {_print(high)}"


@dataclass(frozen=True, slots=True)
class Broken:
    """A rule that no values can meet."""

    text: str

    def problem(self, _: Values) -> str | None:
        return self.text


Rule: TypeAlias = TypeRule | TypeNameRule | BoundsRule | Broken


# --- Rules of conditions -----------------------------------------------------------------------------------------


def clause_rules(clause: Clause) -> Iterator[Rule]:
    """What the types of a clause's operands have to be, inner calls first."""
    for call in calls_of(clause):
        yield from _call_rules(call)
    if type(clause) is Compare:
        if clause.operator not in ("=", "<>"):
            yield from _typed(clause.operator, (clause.left, clause.right), ORDERED_TYPES)
    elif type(clause) is Between:
        yield from _typed("BETWEEN", (clause.operand, clause.low, clause.high), ORDERED_TYPES)
        if type(clause.low) is Value and type(clause.high) is Value:
            yield BoundsRule(clause.low.key, clause.high.key)


def _call_rules(call: Call) -> Iterator[Rule]:
    if call.function in ("attribute_exists", "attribute_not_exists"):
        if type(call.arguments[0]) is not Path:
            yield Broken(_no_path(call))
    elif call.function == "begins_with":
        yield from _typed("begins_with", call.arguments, _TEXT_TYPES)
    elif call.function == "size":
        yield from _typed("size", call.arguments, _SIZED_TYPES)
    elif call.function == "attribute_type" and len(call.arguments) > 1:
        second = call.arguments[1]
        if type(second) is Value:
            yield TypeNameRule(second.key)
        else:
            kind = "N" if type(second) is Call else "{NS,SS,L,BS,N,M,B,BOOL,NULL,S}"
            yield Broken(_wrong_type("attribute_type", kind))


def _typed(operator: str, arguments: tuple[Operand, ...], allowed: frozenset[str]) -> Iterator[Rule]:
    """Values have to be of an allowed type, and so does what a function gives."""
    for argument in arguments:
        if type(argument) is Value:
            yield TypeRule(argument.key, allowed, operator)
        elif type(argument) is Call and argument.function == "size" and "N" not in allowed:
            yield Broken(_wrong_type(operator, "N"))


def _no_path(call: Call) -> str:
    return f"Operator or function requires a document path; operator or function: {call.function}"


def _wrong_type(operator: str, kind: str) -> str:
    return f"Incorrect operand type for operator or function; operator or function: {operator}, operand type: {kind}"


# --- Rules of updates --------------------------------------------------------------------------------------------


def _wrong_section_type(section: str, kind: str) -> str:
    return (
        "Incorrect operand type for operator or function; "
        f"operator: {section}, operand type: {_TYPE_WORDS.get(kind, kind)}"
    )


def section_rules(tree: Update) -> Iterator[Rule]:
    for action in tree.actions:
        if type(action) is Add:
            yield TypeRule(action.value.key, _SET_TYPES | {"N"}, "ADD", section=True)
        elif type(action) is Delete:
            yield TypeRule(action.value.key, _SET_TYPES, "DELETE", section=True)


def function_rules(tree: Update) -> Iterator[Rule]:
    for action in tree.actions:
        if type(action) is not Set:
            continue
        value = action.value
        if type(value) is Arithmetic:
            for operand in (value.left, value.right):
                yield from _update_call_rules(operand, nested=True)
            yield from _typed(value.operator, (value.left, value.right), frozenset({"N"}))
        else:
            yield from _update_call_rules(value, nested=False)


def _update_call_rules(operand: Operand, nested: bool) -> Iterator[Rule]:
    """Rules of a call and those in it. Only if_not_exists may stand inside another (measured on the service)."""
    if type(operand) is not Call:
        return
    for argument in operand.arguments:
        yield from _update_call_rules(argument, nested=True)
    if nested and operand.function == "list_append":
        yield Broken(misused("list_append"))
    elif len(operand.arguments) != UPDATE_FUNCTIONS[operand.function]:
        yield Broken(wrong_count(operand))
    elif operand.function == "list_append":
        yield from _typed("list_append", operand.arguments, frozenset({"L"}))
    elif type(operand.arguments[0]) is not Path:
        yield Broken(_no_path(operand))


# --- Texts -------------------------------------------------------------------------------------------------------


def misused(function: str) -> str:
    return f"The function is not allowed to be used this way in an expression; function: {function}"


def wrong_count(call: Call) -> str:
    return (
        "Incorrect number of operands for operator or function; "
        f"operator or function: {call.function}, number of operands: {len(call.arguments)}"
    )


def type_of(value: dict[str, Any]) -> str:
    """S, N, B, ... of a normalised value."""
    (kind,) = value
    return kind


def _print(value: dict[str, Any]) -> str:
    ((kind, content),) = value.items()
    return f"AttributeValue: {{{kind}:{content}}}"
