"""Update expressions: a list of actions that can be applied to an item, and printed."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from decimal import Decimal

from .answers import Refused
from .conditions import At, Literal
from .paths import Names, Path, find
from .values import EXACT, Item, Value

MISSING_OPERAND = "The provided expression refers to an attribute that does not exist in the item"
WRONG_OPERAND = "An operand in the update expression has an incorrect data type"
WRONG_PATH = "The document path provided in the update expression is invalid for update"
WRONG_SET = "Type mismatch for attribute to update"
OVERFLOW = "Number overflow. Attempting to store a number with magnitude larger than supported range"


@dataclass(frozen=True)
class Sum:
    left: At | Literal
    sign: str
    right: At | Literal

    def compute(self, item: Item) -> Value:
        return "N", add(number(self.left, item), number(self.right, item), 1 if self.sign == "+" else -1)

    def text(self, names: Names) -> str:
        return f"{self.left.text(names)} {self.sign} {self.right.text(names)}"


@dataclass(frozen=True)
class IfNotExists:
    path: Path
    other: At | Literal

    def compute(self, item: Item) -> Value:
        return find(item, self.path) or operand(self.other, item)

    def text(self, names: Names) -> str:
        return f"if_not_exists({names.path(self.path)}, {self.other.text(names)})"


@dataclass(frozen=True)
class ListAppend:
    left: At | Literal
    right: At | Literal

    def compute(self, item: Item) -> Value:
        joined = []
        for each in (self.left, self.right):  # one after the other, as numbers are added
            kind, elements = operand(each, item)
            if kind != "L":
                raise Refused(WRONG_OPERAND)
            joined += elements
        return "L", joined

    def text(self, names: Names) -> str:
        return f"list_append({self.left.text(names)}, {self.right.text(names)})"


Source = At | Literal | Sum | IfNotExists | ListAppend


@dataclass(frozen=True)
class Set:
    path: Path
    source: Source

    def text(self, names: Names) -> str:
        return f"{names.path(self.path)} = {self.source.text(names)}"

    def apply(self, before: Item, after: Item) -> None:
        source = self.source
        value = operand(source, before) if isinstance(source, At | Literal) else source.compute(before)
        store(after, self.path, value)


@dataclass(frozen=True)
class Remove:
    path: Path

    def text(self, names: Names) -> str:
        return names.path(self.path)

    def apply(self, before: Item, after: Item) -> None:
        kind, raw = parent(after, self.path)
        last = self.path[-1]
        if isinstance(last, int):
            if kind != "L":
                raise Refused(WRONG_PATH)
            if last < len(raw):
                del raw[last]
        else:
            if kind != "M":
                raise Refused(WRONG_PATH)
            raw.pop(last, None)


@dataclass(frozen=True)
class Add:
    path: Path
    literal: Literal

    def text(self, names: Names) -> str:
        return f"{names.path(self.path)} {self.literal.text(names)}"

    def apply(self, before: Item, after: Item) -> None:
        found, (kind, given) = find(before, self.path), self.literal.given
        if found is None:
            store(after, self.path, (kind, given))
        elif kind == "N" and found[0] == "N":
            store(after, self.path, ("N", add(found[1], given, 1)))
        elif found[0] == kind:
            store(after, self.path, (kind, found[1] | given))
        else:
            raise Refused(WRONG_OPERAND, WRONG_SET)


@dataclass(frozen=True)
class Delete:
    path: Path
    literal: Literal

    def text(self, names: Names) -> str:
        return f"{names.path(self.path)} {self.literal.text(names)}"

    def apply(self, before: Item, after: Item) -> None:
        found, (kind, given) = find(before, self.path), self.literal.given
        if found is None:
            parent(after, self.path)
        elif found[0] != kind:
            raise Refused(WRONG_OPERAND, WRONG_SET)
        elif found[1] <= given:
            Remove(self.path).apply(before, after)
        else:
            store(after, self.path, (kind, found[1] - given))


Action = Set | Remove | Add | Delete


def text(actions: list[Action], names: Names) -> str:
    """The update expression."""
    clauses = []
    for kind in (Set, Remove, Add, Delete):
        parts = [action.text(names) for action in actions if isinstance(action, kind)]
        if parts:
            clauses.append(f"{kind.__name__.upper()} {', '.join(parts)}")
    return " ".join(clauses)


def apply(actions: list[Action], before: Item | None, key: Item) -> Item | None:
    """The item after the actions. Every right-hand side reads the item as it was; REMOVE alone creates nothing."""
    if before is None and actions and all(isinstance(action, Remove) for action in actions):
        return None
    after = copy.deepcopy(before) if before is not None else dict(key)
    refusals: list[str] = []
    for action in sorted(actions, key=_turn):
        if before is None and isinstance(action, Remove):
            continue
        try:
            action.apply(before or {}, after)
        except Refused as refusal:
            refusals.extend(refusal.texts)
    if refusals:
        raise Refused(*refusals)
    return after


def literals(actions: list[Action]) -> Item:
    """Attributes that an update sets to a value of the request itself."""
    return {
        str(action.path[0]): action.source.given
        for action in actions
        if isinstance(action, Set) and len(action.path) == 1 and isinstance(action.source, Literal)
    }


def _turn(action: Action) -> tuple[int, int]:
    """Elements are set in the order of their indexes, and removed from the back: indexes mean the old positions."""
    last = action.path[-1] if isinstance(action.path[-1], int) else 0
    return (1, -last) if isinstance(action, Remove | Delete) else (0, last)


def operand(source: At | Literal, item: Item) -> Value:
    value = source.value(item)
    if value is None:
        raise Refused(MISSING_OPERAND)
    return value


def number(source: At | Literal, item: Item) -> Decimal:
    kind, raw = operand(source, item)
    if kind != "N":
        raise Refused(WRONG_OPERAND)
    assert isinstance(raw, Decimal)
    return raw


def add(left: Decimal, right: Decimal, sign: int) -> Decimal:
    """The exact sum, refused when it has more than 38 digits or leaves the range."""
    total = EXACT.add(left, right if sign > 0 else right.copy_negate())
    digits = len(total.normalize(EXACT).as_tuple().digits)
    if total != 0 and (digits > 38 or not -130 <= total.adjusted() <= 125):
        raise Refused(OVERFLOW)
    return total


def parent(item: Item, path: Path) -> Value:
    """What holds the last element of a path."""
    found = find(item, path[:-1])
    if found is None:
        raise Refused(WRONG_PATH)
    return found


def store(item: Item, path: Path, value: Value) -> None:
    """Put a value at a path; past the end of a list it is appended."""
    kind, raw = parent(item, path)
    last = path[-1]
    if isinstance(last, int):
        if kind != "L":
            raise Refused(WRONG_PATH)
        raw[last : last + 1] = [value]
    else:
        if kind != "M":
            raise Refused(WRONG_PATH)
        raw[last] = value
