"""Conditions: a tiny tree that can be asked whether an item satisfies it, and can be printed as an expression."""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from .paths import Names, Path, find
from .values import Item, Value, order, write

ORDERED = ("S", "N", "B")
COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


@dataclass(frozen=True)
class At:
    """The attribute at a path."""

    path: Path

    def value(self, item: Item | None) -> Value | None:
        return find(item, self.path)

    def text(self, names: Names) -> str:
        return names.path(self.path)


@dataclass(frozen=True)
class Literal:
    """A value given with the request."""

    given: Value

    def value(self, item: Item | None) -> Value | None:
        return self.given

    def text(self, names: Names) -> str:
        return names.value(write(self.given))


@dataclass(frozen=True)
class Size:
    """size(path): UTF-16 code units, bytes or members; numbers, booleans and null have none."""

    path: Path

    def value(self, item: Item | None) -> Value | None:
        found = find(item, self.path)
        if found is None or found[0] in ("N", "BOOL", "NULL"):
            return None
        kind, raw = found
        return "N", Decimal(len(raw.encode("utf-16-le")) // 2 if kind == "S" else len(raw))

    def text(self, names: Names) -> str:
        return f"size({names.path(self.path)})"


Operand = At | Literal | Size


@dataclass(frozen=True)
class Compare:
    sign: str
    left: Operand
    right: Operand

    def holds(self, item: Item | None) -> bool:
        left, right = self.left.value(item), self.right.value(item)
        if self.sign == "<>":
            return left is None or right is None or left != right
        if left is None or right is None:
            return False
        if self.sign == "=":
            return left == right
        return left[0] == right[0] and left[0] in ORDERED and COMPARE[self.sign](order(left), order(right))

    def text(self, names: Names) -> str:
        return f"{self.left.text(names)} {self.sign} {self.right.text(names)}"


@dataclass(frozen=True)
class Between:
    operand: Operand
    low: Literal
    high: Literal

    def holds(self, item: Item | None) -> bool:
        return Compare(">=", self.operand, self.low).holds(item) and Compare("<=", self.operand, self.high).holds(item)

    def text(self, names: Names) -> str:
        return f"{self.operand.text(names)} BETWEEN {self.low.text(names)} AND {self.high.text(names)}"


@dataclass(frozen=True)
class In:
    operand: Operand
    choices: tuple[Literal, ...]

    def holds(self, item: Item | None) -> bool:
        return any(Compare("=", self.operand, choice).holds(item) for choice in self.choices)

    def text(self, names: Names) -> str:
        return f"{self.operand.text(names)} IN ({', '.join(choice.text(names) for choice in self.choices)})"


@dataclass(frozen=True)
class Exists:
    path: Path
    wanted: bool = True

    def holds(self, item: Item | None) -> bool:
        return (find(item, self.path) is not None) is self.wanted

    def text(self, names: Names) -> str:
        return f"attribute_{'exists' if self.wanted else 'not_exists'}({names.path(self.path)})"


@dataclass(frozen=True)
class HasType:
    path: Path
    kind: str

    def holds(self, item: Item | None) -> bool:
        found = find(item, self.path)
        return found is not None and found[0] == self.kind

    def text(self, names: Names) -> str:
        return f"attribute_type({names.path(self.path)}, {names.value({'S': self.kind})})"


@dataclass(frozen=True)
class BeginsWith:
    path: Path
    prefix: Literal

    def holds(self, item: Item | None) -> bool:
        found, (kind, prefix) = find(item, self.path), self.prefix.given
        return found is not None and found[0] == kind and found[1].startswith(prefix)

    def text(self, names: Names) -> str:
        return f"begins_with({names.path(self.path)}, {self.prefix.text(names)})"


@dataclass(frozen=True)
class Contains:
    """Substring, byte subsequence, set member, or list element."""

    path: Path
    part: Literal

    def holds(self, item: Item | None) -> bool:
        found, part = find(item, self.path), self.part.given
        if found is None:
            return False
        kind, raw = found
        if kind == "L":
            return part in raw
        if kind in ("S", "B"):
            return kind == part[0] and part[1] in raw
        return kind in ("SS", "NS", "BS") and kind[0] == part[0] and part[1] in raw

    def text(self, names: Names) -> str:
        return f"contains({names.path(self.path)}, {self.part.text(names)})"


@dataclass(frozen=True)
class Not:
    part: Condition

    def holds(self, item: Item | None) -> bool:
        return not self.part.holds(item)

    def text(self, names: Names) -> str:
        return f"NOT ({self.part.text(names)})"


@dataclass(frozen=True)
class Join:
    """AND or OR of two conditions."""

    word: str
    left: Condition
    right: Condition

    def holds(self, item: Item | None) -> bool:
        left, right = self.left.holds(item), self.right.holds(item)
        return (left and right) if self.word == "AND" else (left or right)

    def text(self, names: Names) -> str:
        return f"({self.left.text(names)}) {self.word} ({self.right.text(names)})"


Condition = Compare | Between | In | Exists | HasType | BeginsWith | Contains | Not | Join
