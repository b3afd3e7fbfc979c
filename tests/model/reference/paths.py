"""Document paths: a name, then names and list indexes. Reading them, and projecting items on them."""

from __future__ import annotations

from typing import Any

from .values import Item, Value

Path = tuple[str | int, ...]


class Names:
    """Collects the placeholders of one request's expressions."""

    def __init__(self) -> None:
        self.names: dict[str, str] = {}
        self.values: dict[str, Any] = {}

    def name(self, name: str) -> str:
        return next((ref for ref, known in self.names.items() if known == name), None) or self._new_name(name)

    def _new_name(self, name: str) -> str:
        reference = f"#n{len(self.names)}"
        self.names[reference] = name
        return reference

    def path(self, path: Path) -> str:
        text = ""
        for element in path:
            text += f"[{element}]" if isinstance(element, int) else ("." if text else "") + self.name(element)
        return text

    def value(self, wire: dict[str, Any]) -> str:
        reference = f":v{len(self.values)}"
        self.values[reference] = wire
        return reference

    def members(self) -> dict[str, Any]:
        """The request's members, left out when empty as the service demands."""
        members: dict[str, Any] = {}
        if self.names:
            members["ExpressionAttributeNames"] = self.names
        if self.values:
            members["ExpressionAttributeValues"] = self.values
        return members


def find(item: Item | None, path: Path) -> Value | None:
    """The value at a path, or None."""
    value: Value | None = ("M", item or {})
    for element in path:
        if value is None:
            return None
        kind, raw = value
        if isinstance(element, int):
            value = raw[element] if kind == "L" and element < len(raw) else None
        else:
            value = raw.get(element) if kind == "M" else None
    return value


def project(item: Item, paths: list[Path]) -> Item:
    """Only what the paths name, in its place; list elements close up in ascending order. Missing paths are skipped."""
    root: dict[str | int, Any] = {}
    for path in paths:
        value = find(item, path)
        if value is None:
            continue
        branch = root
        for element in path[:-1]:
            branch = branch.setdefault(element, {})
        branch[path[-1]] = value
    projected = _collect(root)[1]
    assert isinstance(projected, dict)
    return projected


def _collect(branch: Any) -> Value:
    """A tree of chosen elements as a value: leaves are values (tuples) already."""
    if isinstance(branch, tuple):
        return branch
    if branch and all(isinstance(element, int) for element in branch):
        return "L", [_collect(branch[place]) for place in sorted(branch)]
    return "M", {name: _collect(part) for name, part in branch.items()}
