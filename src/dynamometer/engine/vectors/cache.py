"""An index's vectors in memory, derived from its entries when they are first searched, and kept up to date.

An index is cut into parts by the partition attribute of its search schema, or is one part. A part that has been
searched stays in memory, up to a limit for each index; a commit tells which entries it is going to change, and the
next search reads those again. A commit that fails after all costs a look at an entry that has not changed.
"""

from __future__ import annotations

import heapq
from typing import Any

from dynamometer.engine import stored
from dynamometer.engine.codec import KEY_HEAD, Item
from dynamometer.engine.keyspace import successor
from dynamometer.engine.vectors import scores
from dynamometer.engine.vectors.codec import packed_in
from dynamometer.model.schema import IndexSchema
from dynamometer.storage.interface import View

CACHE_BYTES_MAX = 256 * 1024 * 1024
"""Of one index. The part that is being searched is in memory whatever its size."""
ROW_BYTES = 250
"""What Python takes for a key, or for the value of an inline filter."""

Filters = list[tuple[str, Item]]


class Part:
    """The vectors of one part of an index. Rows are numbered in no order; `keys` are those of their entries."""

    __slots__ = ("_attribute", "_filters", "_values", "_where", "changed", "keys", "rows")

    def __init__(self, attribute: str, dimensions: int, filters: tuple[str, ...]) -> None:
        self._attribute = attribute
        self._filters = filters
        self._values: list[dict[str, Item]] = []
        """Of the inline filters, row by row; empty if there are none."""
        self._where: dict[bytes, int] = {}
        self.keys: list[bytes] = []
        self.rows: scores.Rows = scores.rows_type()(dimensions)
        self.changed: set[bytes] = set()

    @property
    def size_bytes(self) -> int:
        """About as much memory as the part takes."""
        return self.rows.size_bytes + ROW_BYTES * len(self.keys) * (1 + len(self._filters))

    def load(self, view: View, prefix: bytes) -> None:
        """Read all entries."""
        for key, value in view.range(prefix, successor(prefix)):
            self._put(key, stored.decode(value))

    def refresh(self, view: View) -> None:
        """Read the entries that have changed."""
        changed = list(self.changed)
        for key, value in zip(changed, view.multi_get(changed), strict=True):
            if value is not None:
                self._put(key, stored.decode(value))
            elif key in self._where:
                self._drop(key)
        self.changed.clear()

    def _put(self, key: bytes, content: Item) -> None:
        row = self._where.get(key)
        if row is None:
            row = self._where[key] = len(self.keys)
            self.keys.append(key)
            if self._filters:
                self._values.append({})
        self.rows.put(row, packed_in(content, self._attribute))
        if self._filters:
            self._values[row] = {name: content[name] for name in self._filters if name in content}

    def _drop(self, key: bytes) -> None:
        row, last = self._where.pop(key), self.keys.pop()
        self.rows.drop(row)
        values = self._values.pop() if self._filters else {}
        if last != key:
            self._where[last] = row
            self.keys[row] = last
            if self._filters:
                self._values[row] = values

    def nearest(self, function: str, packed: bytes, count: int, filters: Filters) -> list[tuple[float, bytes]]:
        """Scores and entry keys of the nearest, nearest first; ties by key, so that the answer can be repeated."""
        rows = None
        if filters:
            rows = [
                row
                for row, values in enumerate(self._values)
                if all(values.get(name) == value for name, value in filters)
            ]
        highest = function in scores.HIGHER_IS_NEARER
        found = self.rows.nearest(self.rows.scores(function, packed, rows), count, highest)
        keyed = [(score, self.keys[place if rows is None else rows[place]]) for score, place in found]
        return heapq.nsmallest(count, keyed, key=lambda pair: (-pair[0] if highest else pair[0], pair[1]))


class VectorCache:
    """The parts of one index that have been searched, the longest unused first."""

    __slots__ = ("_parts", "_schema")

    def __init__(self, schema: IndexSchema) -> None:
        self._schema = schema
        self._parts: dict[bytes, Part] = {}

    def touch(self, key: bytes) -> None:
        """An entry is about to change."""
        if self._parts:
            part = self._parts.get(key[: KEY_HEAD + 2 + int.from_bytes(key[KEY_HEAD : KEY_HEAD + 2], "big")])
            if part is not None:
                part.changed.add(key)

    def nearest(
        self, view: View, prefix: bytes, packed: bytes, count: int, filters: Filters
    ) -> list[tuple[float, bytes]]:
        """What `Part.nearest` finds in the part below `prefix`."""
        vector: Any = self._schema.vector
        part = self._parts.pop(prefix, None)
        if part is None:
            names = tuple(attribute.name for attribute in vector.filters)
            part = Part(vector.attribute, vector.dimensions, names)
            part.load(view, prefix)
        elif part.changed:
            part.refresh(view)
        self._parts[prefix] = part
        found = part.nearest(vector.function, packed, count, filters)
        self._trim()
        return found

    def _trim(self) -> None:
        size = sum(part.size_bytes for part in self._parts.values())
        while size > CACHE_BYTES_MAX and len(self._parts) > 1:  # the part that is searched now stays in any case
            oldest = next(iter(self._parts))
            size -= self._parts.pop(oldest).size_bytes
