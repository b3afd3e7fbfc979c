"""What a statement is, before anyone asks what it means: everything that the syntax allows.

Every node knows its place in the text (`start`, `end`), because the service prints it in some errors. Nodes are values
that are kept and shared between requests.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias, final


@final
@dataclass(frozen=True, slots=True)
class Literal:
    """`kind` is string, number, boolean, null or missing; a number's text has its sign."""

    kind: str
    text: str
    start: int
    end: int


@final
@dataclass(frozen=True, slots=True)
class Parameter:
    """The `?` number `index`, from 0."""

    index: int
    start: int
    end: int


@final
@dataclass(frozen=True, slots=True)
class Index:
    """A list index in a path."""

    number: int
    start: int
    end: int


Step: TypeAlias = str | Index


@final
@dataclass(frozen=True, slots=True)
class Name:
    """A path: an attribute, then map keys and list indexes. `end` is that of its first step."""

    steps: tuple[Step, ...]
    start: int
    end: int


@final
@dataclass(frozen=True, slots=True)
class ListOf:
    """[a, b], or a row (a, b)."""

    members: tuple[Expression, ...]
    start: int
    end: int


@final
@dataclass(frozen=True, slots=True)
class Bag:
    """<<a, b>>"""

    members: tuple[Expression, ...]
    start: int
    end: int


@final
@dataclass(frozen=True, slots=True)
class Tuple:
    """{key: value}"""

    members: tuple[tuple[Expression, Expression], ...]
    start: int
    end: int


@final
@dataclass(frozen=True, slots=True)
class Call:
    """`function` in small letters."""

    function: str
    arguments: tuple[Expression, ...]
    start: int
    end: int


@final
@dataclass(frozen=True, slots=True)
class Unary:
    """`operator` is +, - or not."""

    operator: str
    operand: Expression
    start: int
    end: int


@final
@dataclass(frozen=True, slots=True)
class Binary:
    """An infix operator with two sides; `and` and `or` are Junctions."""

    operator: str
    left: Expression
    right: Expression
    start: int
    end: int


@final
@dataclass(frozen=True, slots=True)
class Junction:
    """`operator` is and or or; two or more parts."""

    operator: str
    parts: tuple[Expression, ...]
    start: int
    end: int


@final
@dataclass(frozen=True, slots=True)
class Range:
    """operand BETWEEN low AND high."""

    operand: Expression
    low: Expression
    high: Expression
    start: int
    end: int


@final
@dataclass(frozen=True, slots=True)
class Is:
    """operand IS type; `type` in small letters."""

    operand: Expression
    type: str
    start: int
    end: int


@final
@dataclass(frozen=True, slots=True)
class Other:
    """What the grammar has and DynamoDB has not, by its name."""

    operation: str
    start: int
    end: int


@final
@dataclass(frozen=True, slots=True)
class Source:
    """The table, and what followed it behind dots. `aliased`: it was given another name."""

    parts: tuple[str, ...]
    aliased: bool
    start: int
    end: int


@final
@dataclass(frozen=True, slots=True)
class Order:
    by: Expression
    descending: bool


@final
@dataclass(frozen=True, slots=True)
class Clause:
    """A clause that the grammar knows and DynamoDB refuses; its place is that of what follows it."""

    name: str
    start: int
    end: int


@final
@dataclass(frozen=True, slots=True)
class Select:
    """`columns` None: all of them."""

    columns: tuple[Expression, ...] | None
    source: Source
    where: Expression | None
    order: tuple[Order, ...]
    refused: Clause | None
    start: int
    end: int


@final
@dataclass(frozen=True, slots=True)
class Insert:
    source: Source
    value: Expression
    returning: str | None
    start: int
    end: int


@final
@dataclass(frozen=True, slots=True)
class Assign:
    """SET target = value."""

    target: Name
    value: Expression


@final
@dataclass(frozen=True, slots=True)
class Discard:
    """REMOVE target."""

    target: Name


Change: TypeAlias = Assign | Discard


@final
@dataclass(frozen=True, slots=True)
class Update:
    """`returning` is what stands behind RETURNING, like `ALL OLD *`."""

    source: Source
    changes: tuple[Change, ...]
    where: Expression | None
    returning: str | None
    start: int
    end: int


@final
@dataclass(frozen=True, slots=True)
class Delete:
    source: Source
    where: Expression | None
    returning: str | None
    start: int
    end: int


Statement: TypeAlias = Select | Insert | Update | Delete
Expression: TypeAlias = (
    Literal
    | Parameter
    | Name
    | ListOf
    | Bag
    | Tuple
    | Call
    | Unary
    | Binary
    | Junction
    | Range
    | Is
    | Other
    | Select
    | Insert
    | Update
    | Delete
)


def parts_of(node: Expression) -> tuple[Expression, ...]:
    """The expressions directly inside another."""
    match node:
        case ListOf() | Bag():
            return node.members
        case Tuple():
            return tuple(part for member in node.members for part in member)
        case Call():
            return node.arguments
        case Unary() | Is():
            return (node.operand,)
        case Binary():
            return node.left, node.right
        case Junction():
            return node.parts
        case Range():
            return node.operand, node.low, node.high
        case _:
            return ()
