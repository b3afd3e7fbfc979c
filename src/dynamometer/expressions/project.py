"""Projections: the parts of an item that stand at given paths.

Paths are merged to one `Branch` tree, whose leaves are taken whole. Elements of a list come back close together, in
the order of their indexes; what is missing is left out, and so is a map or list of which nothing was found (measured
on the service). The same serves ReturnValues UPDATED_OLD and UPDATED_NEW.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeAlias

from dynamometer.expressions.evaluate import AttributeValue, Item
from dynamometer.expressions.tree import Element, Path, Projection

Branch: TypeAlias = "dict[Element, Branch | None]"
"""What to take below a map or list: None is all of it. Keys of one branch are all names or all indexes."""


class CompiledProjection:
    """A projection, ready to be applied."""

    __slots__ = ("_branch", "_names", "attributes", "nested", "top_level_only", "tree")

    def __init__(self, tree: Projection) -> None:
        self.tree = tree
        self.attributes = frozenset(str(path.elements[0]) for path in tree.paths)
        """Top-level attributes that are read."""
        self.nested = nested_names(tree.paths)
        """Those that are looked into."""
        self.top_level_only = not self.nested
        self._branch = merge(tree.paths)
        self._names = tuple(dict.fromkeys(str(path.elements[0]) for path in tree.paths))

    def project(self, item: Item) -> dict[str, AttributeValue]:
        """The projected item; parts are shared with `item`."""
        if self.top_level_only:
            return {name: item[name] for name in self._names if name in item}
        return project(item, self._branch)


def nested_names(paths: Iterable[Path]) -> frozenset[str]:
    """The top-level attributes that paths go into."""
    return frozenset(str(path.elements[0]) for path in paths if len(path.elements) > 1)


def merge(paths: Iterable[Path]) -> Branch:
    """Paths that don't clash, as one tree; list indexes ascend."""
    root: Branch = {}
    for path in paths:
        branch = root
        for element in path.elements[:-1]:
            below = branch.setdefault(element, {})
            assert below is not None, "paths don't overlap"
            branch = below
        branch[path.elements[-1]] = None
    return _ascending(root)


def _ascending(branch: Branch) -> Branch:
    """The branch with its indexes in order (names keep theirs)."""
    keys = list(branch)
    if type(keys[0]) is int:
        keys.sort(key=_index)
    return {key: None if (below := branch[key]) is None else _ascending(below) for key in keys}


def _index(element: Element) -> int:
    return int(element)


def project(entries: Item, branch: Branch) -> dict[str, AttributeValue]:
    """The parts of an item, or of a map, that `branch` asks for."""
    found: dict[str, AttributeValue] = {}
    for name, below in branch.items():
        value = entries.get(name)  # type: ignore[arg-type]
        if value is not None and below is not None:
            value = _project_value(value, below)
        if value is not None:
            found[name] = value  # type: ignore[index]
    return found


def _project_value(value: AttributeValue, branch: Branch) -> AttributeValue | None:
    if type(next(iter(branch))) is int:
        members = value.get("L")
        if members is None:
            return None
        elements = _project_list(members, branch)
        return {"L": elements} if elements else None
    entries = value.get("M")
    if entries is None:
        return None
    found = project(entries, branch)
    return {"M": found} if found else None


def _project_list(members: list[AttributeValue], branch: Branch) -> list[Any]:
    found = []
    for index, below in branch.items():
        assert type(index) is int
        if index >= len(members):
            break
        value: AttributeValue | None = members[index]
        if below is not None and value is not None:
            value = _project_value(value, below)
        if value is not None:
            found.append(value)
    return found
