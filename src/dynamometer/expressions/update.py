"""Updates: a new item from an old one. Nothing that is given is changed; parts that stay the same are shared.

All values are computed from the item as it was, then all actions are applied at once: list indexes, too, mean the
list as it was. Elements set behind the end of a list are appended in the order of their indexes (developer guide,
"Update expressions"; measured on the service).

Actions below a top-level attribute are merged to a `Branch` tree like that of projections, with a slot number at each
leaf: `outcomes[slot]` is the new value, None to remove what is there, or KEEP.
"""

from __future__ import annotations

from binascii import a2b_base64
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

from dynamometer.base.errors import ValidationException
from dynamometer.expressions.evaluate import (
    AttributeValue,
    Getter,
    Item,
    Values,
    compile_path,
    compile_value,
)
from dynamometer.expressions.project import merge, nested_names, project
from dynamometer.expressions.tree import (
    Action,
    Add,
    Arithmetic,
    Call,
    Computed,
    Delete,
    Element,
    Operand,
    Path,
    Remove,
    Set,
    Update,
    Value,
)
from dynamometer.model.numbers import add, compare_key, subtract
from dynamometer.model.values import value_size

INVALID_PATH = "The document path provided in the update expression is invalid for update"
NO_ATTRIBUTE = "The provided expression refers to an attribute that does not exist in the item"
WRONG_TYPE = "An operand in the update expression has an incorrect data type"
TYPE_MISMATCH = "Type mismatch for attribute to update"

KEEP: AttributeValue = {}
"""The outcome of an action that leaves things as they are."""

Slots: TypeAlias = "dict[Element, Slots | int]"
Compute: TypeAlias = Callable[[Item, Values], AttributeValue]
Outcome: TypeAlias = Callable[[Item, Values], AttributeValue | None]


class CompiledUpdate:
    """An update, ready to be applied."""

    __slots__ = ("_branch", "_deep", "_flat", "_removed", "nested", "removes_only", "targets", "tree")

    def __init__(self, tree: Update) -> None:
        self.tree = tree
        paths = [action.path for action in tree.actions]
        self.targets = frozenset(str(path.elements[0]) for path in paths)
        """Top-level attributes that are written."""
        self.nested = nested_names([*paths, *_read_paths(tree)])
        """Those that are written or looked into."""
        self.removes_only = all(type(action) is Remove or type(action) is Delete for action in tree.actions)
        """Nothing but REMOVE and DELETE: on a missing item, such an update creates none (measured on the service)."""
        self._branch = merge(paths)
        flat = [action for action in tree.actions if len(action.path.elements) == 1]
        self._removed = tuple(str(action.path.elements[0]) for action in flat if type(action) is Remove)
        self._flat = tuple(
            (str(action.path.elements[0]), _outcome(action)) for action in flat if type(action) is not Remove
        )
        self._deep = _Deep([action for action in tree.actions if len(action.path.elements) > 1])

    def apply(self, item: Item, values: Values, exists: bool = True) -> dict[str, AttributeValue]:
        """The new item. `item` is the old one, or its key if it doesn't exist (`exists` False)."""
        new = dict(item)
        deep = self._deep
        if deep.branches:
            outcomes = [outcome(item, values) for outcome in deep.outcomes]
        for name, outcome in self._flat:
            value = outcome(item, values)
            if value is None:
                new.pop(name, None)
            elif value is not KEEP:
                new[name] = value
        for name in self._removed:
            new.pop(name, None)
        if deep.branches:
            deep.apply(new, outcomes, exists)
        return new

    def updated(self, item: Item | None) -> dict[str, AttributeValue]:
        """The written paths as they are in `item`: UPDATED_OLD of the old item, UPDATED_NEW of the new one."""
        return {} if item is None else project(item, self._branch)


def _read_paths(tree: Update) -> Iterator[Path]:
    """The paths that values are computed from."""
    waiting: list[Computed] = [action.value for action in tree.actions if type(action) is Set]
    while waiting:
        value = waiting.pop()
        if type(value) is Path:
            yield value
        elif type(value) is Arithmetic:
            waiting += (value.left, value.right)
        elif type(value) is Call:
            waiting += value.arguments


# --- Actions below a top-level attribute -------------------------------------------------------------------------


class _Deep:
    """The actions whose paths have more than one element."""

    __slots__ = ("branches", "depths", "outcomes", "removals")

    def __init__(self, actions: list[Action]) -> None:
        self.outcomes = tuple(_outcome(action) for action in actions)
        self.depths = tuple(len(action.path.elements) for action in actions)
        self.removals = tuple(type(action) is Remove for action in actions)
        root: Slots = {}
        for slot, action in enumerate(actions):
            slots = root
            for element in action.path.elements[:-1]:
                below = slots.setdefault(element, {})
                assert type(below) is dict, "paths don't overlap"
                slots = below
            slots[action.path.elements[-1]] = slot
        self.branches = tuple((str(name), below) for name, below in root.items() if type(below) is dict)

    def apply(self, new: dict[str, AttributeValue], outcomes: list[AttributeValue | None], exists: bool) -> None:
        for depth, outcome in zip(self.depths, outcomes, strict=True):
            if outcome and ("M" in outcome or "L" in outcome):
                value_size(outcome, depth)  # refuses what would be nested too deep
        for name, slots in self.branches:
            value = new.get(name)
            if value is None and not exists and self._only_removals(slots):
                continue  # REMOVE a.b of an item that isn't there is let pass: measured on the service
            new[name] = _rebuild(value, slots, outcomes)

    def _only_removals(self, slots: Slots) -> bool:
        return all(
            self._only_removals(below) if type(below) is dict else self.removals[below]  # type: ignore[index]
            for below in slots.values()
        )


def _rebuild(value: AttributeValue | None, slots: Slots, outcomes: list[AttributeValue | None]) -> AttributeValue:
    if value is None:
        raise ValidationException(INVALID_PATH)
    if type(next(iter(slots))) is int:
        members = value.get("L")
        if members is None:
            raise ValidationException(INVALID_PATH)
        return {"L": _rebuild_list(members, slots, outcomes)}
    entries = value.get("M")
    if entries is None:
        raise ValidationException(INVALID_PATH)
    entries = dict(entries)
    for name, below in slots.items():
        if type(below) is dict:
            entries[name] = _rebuild(entries.get(name), below, outcomes)
            continue
        outcome = outcomes[below]  # type: ignore[index]
        if outcome is None:
            entries.pop(name, None)
        elif outcome is not KEEP:
            entries[name] = outcome
    return {"M": entries}


def _rebuild_list(
    members: list[AttributeValue], slots: Slots, outcomes: list[AttributeValue | None]
) -> list[AttributeValue]:
    elements: list[AttributeValue | None] = list(members)
    appended: list[tuple[int, AttributeValue]] = []
    for index, below in slots.items():
        assert type(index) is int
        inside = index < len(members)
        if type(below) is dict:
            elements[index] = _rebuild(members[index] if inside else None, below, outcomes)
            continue
        outcome = outcomes[below]  # type: ignore[index]
        if outcome is KEEP:
            continue
        if inside:
            elements[index] = outcome
        elif outcome is not None:
            appended.append((index, outcome))
    appended.sort(key=_position)
    return [element for element in elements if element is not None] + [value for _, value in appended]


def _position(entry: tuple[int, AttributeValue]) -> int:
    return entry[0]


# --- Values ------------------------------------------------------------------------------------------------------


def _outcome(action: Action) -> Outcome:
    if type(action) is Set:
        return _computed(action.value)
    if type(action) is Add:
        return _addition(action)
    if type(action) is Delete:
        return _deletion(action)
    assert type(action) is Remove
    return lambda item, values: None


def _computed(value: Computed) -> Compute:
    if type(value) is Arithmetic:
        return _arithmetic(value)
    return _required(value)


def _required(operand: Operand) -> Compute:
    """The operand's value, or the service's error if there is none."""
    if type(operand) is Value:
        key = operand.key
        return lambda item, values: values[key]
    if type(operand) is Call:
        return (_if_not_exists if operand.function == "if_not_exists" else _list_append)(operand.arguments)
    assert type(operand) is Path
    get = compile_path(operand)

    def compute(item: Item, values: Values) -> AttributeValue:
        value = get(item, values)
        if value is None:
            raise ValidationException(NO_ATTRIBUTE)
        return value

    return compute


def _arithmetic(tree: Arithmetic) -> Compute:
    left, right = _required(tree.left), _required(tree.right)
    operation = add if tree.operator == "+" else subtract

    def compute(item: Item, values: Values) -> AttributeValue:
        first = left(item, values).get("N")
        if first is None:
            raise ValidationException(WRONG_TYPE)
        second = right(item, values).get("N")
        if second is None:
            raise ValidationException(WRONG_TYPE)
        return {"N": operation(first, second)}

    return compute


def _if_not_exists(arguments: tuple[Operand, ...]) -> Compute:
    path, default = arguments
    assert type(path) is Path
    get, otherwise = compile_path(path), _required(default)

    def compute(item: Item, values: Values) -> AttributeValue:
        value = get(item, values)
        return otherwise(item, values) if value is None else value

    return compute


def _list_append(arguments: tuple[Operand, ...]) -> Compute:
    first, second = _required(arguments[0]), _required(arguments[1])

    def compute(item: Item, values: Values) -> AttributeValue:
        head = first(item, values).get("L")
        if head is None:
            raise ValidationException(WRONG_TYPE)
        tail = second(item, values).get("L")
        if tail is None:
            raise ValidationException(WRONG_TYPE)
        return {"L": head + tail}

    return compute


def _addition(action: Add) -> Compute:
    get: Getter = compile_path(action.path)
    value: Getter = compile_value(action.value)
    mismatch = TYPE_MISMATCH if action.legacy else WRONG_TYPE

    def compute(item: Item, values: Values) -> AttributeValue:
        added = value(item, values)
        assert added is not None
        current = get(item, values)
        if current is None:
            return added
        ((kind, content),) = added.items()
        present = current.get(kind)
        if present is None:
            raise ValidationException(mismatch)
        if kind == "N":
            return {"N": add(present, content)}
        if kind == "L":
            return {"L": present + content}
        union = set(present)
        union.update(content)
        return {kind: sorted(union, key=_MEMBER_ORDERS[kind])}

    return compute


def _deletion(action: Delete) -> Outcome:
    get: Getter = compile_path(action.path)
    value: Getter = compile_value(action.value)
    mismatch = TYPE_MISMATCH if action.legacy else WRONG_TYPE

    def compute(item: Item, values: Values) -> AttributeValue | None:
        deleted = value(item, values)
        assert deleted is not None
        current = get(item, values)
        if current is None:
            return KEEP
        ((kind, content),) = deleted.items()
        present = current.get(kind)
        if present is None:
            raise ValidationException(mismatch)
        gone = set(content)
        left = [member for member in present if member not in gone]
        return {kind: left} if left else None

    return compute


_MEMBER_ORDERS: dict[str, Callable[[str], Any] | None] = {"SS": None, "NS": compare_key, "BS": a2b_base64}
