"""The trees that every condition, update, projection and key condition becomes, whatever syntax it came in.

Expressions, the legacy parameters (`legacy`) and PartiQL are lowered to these nodes; names are resolved by then, so
that an element of a path is an attribute name or a list index. A `Value` is the key of a value that comes with the
request, never the value itself: trees are kept and shared between requests.

Before `resolve` a path may hold references as they were written (`#name`); no bare name can begin with `#`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias, final

Element: TypeAlias = str | int
Elements: TypeAlias = tuple[Element, ...]


@final
@dataclass(frozen=True, slots=True)
class Path:
    """A document path: a top-level attribute, then map keys and list indexes."""

    elements: Elements


@final
@dataclass(frozen=True, slots=True)
class Value:
    """A value of the request, by its key (`:v`)."""

    key: str


@final
@dataclass(frozen=True, slots=True)
class Call:
    """A function and its arguments. As an operand: size, if_not_exists, list_append; the others are conditions."""

    function: str
    arguments: tuple[Operand, ...]


Operand: TypeAlias = Path | Value | Call


@final
@dataclass(frozen=True, slots=True)
class Compare:
    """`operator` is one of = <> < <= > >=."""

    operator: str
    left: Operand
    right: Operand


@final
@dataclass(frozen=True, slots=True)
class Between:
    operand: Operand
    low: Operand
    high: Operand


@final
@dataclass(frozen=True, slots=True)
class In:
    operand: Operand
    choices: tuple[Operand, ...]


@final
@dataclass(frozen=True, slots=True)
class Not:
    condition: Condition


@final
@dataclass(frozen=True, slots=True)
class And:
    conditions: tuple[Condition, ...]


@final
@dataclass(frozen=True, slots=True)
class Or:
    conditions: tuple[Condition, ...]


Clause: TypeAlias = Compare | Between | In | Call
Condition: TypeAlias = Clause | Not | And | Or


@final
@dataclass(frozen=True, slots=True)
class Arithmetic:
    """`operator` is + or -."""

    operator: str
    left: Operand
    right: Operand


Computed: TypeAlias = Operand | Arithmetic


@final
@dataclass(frozen=True, slots=True)
class Set:
    """SET path = value."""

    path: Path
    value: Computed


@final
@dataclass(frozen=True, slots=True)
class Remove:
    """REMOVE path."""

    path: Path


@final
@dataclass(frozen=True, slots=True)
class Add:
    """ADD path value: a number is added, a set united; `legacy` (AttributeUpdates) appends lists too."""

    path: Path
    value: Value
    legacy: bool = False


@final
@dataclass(frozen=True, slots=True)
class Delete:
    """DELETE path value: members leave a set. `legacy` (AttributeUpdates) words its errors otherwise."""

    path: Path
    value: Value
    legacy: bool = False


Action: TypeAlias = Set | Remove | Add | Delete


@final
@dataclass(frozen=True, slots=True)
class Update:
    """Actions in written order."""

    actions: tuple[Action, ...]


@final
@dataclass(frozen=True, slots=True)
class Projection:
    paths: tuple[Path, ...]


Tree: TypeAlias = Condition | Update | Projection


def show(elements: Elements) -> str:
    """A path as the service prints it: [a, b, [0]]."""
    return "[" + ", ".join(f"[{element}]" if type(element) is int else str(element) for element in elements) + "]"


def operands(clause: Clause | Arithmetic) -> tuple[Operand, ...]:
    """The operands of a clause, as written."""
    if type(clause) is Between:
        return clause.operand, clause.low, clause.high
    if type(clause) is In:
        return clause.operand, *clause.choices
    if type(clause) is Call:
        return clause.arguments
    return clause.left, clause.right


def clauses_of(tree: Condition) -> Iterator[Clause]:
    """The clauses of a condition in written order."""
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        if type(node) is And or type(node) is Or:
            waiting.extend(reversed(node.conditions))
        elif type(node) is Not:
            waiting.append(node.condition)
        else:
            yield node


def calls_of(operand: Operand | Clause) -> Iterator[Call]:
    """Calls in an operand or clause, inner ones first."""
    if type(operand) is Path or type(operand) is Value:
        return
    for inner in operands(operand):
        if type(inner) is Call:
            yield from calls_of(inner)
    if type(operand) is Call:
        yield operand
