"""The most frequent of very many keys, counted in little memory: the space-saving sketch of Metwally and others.

A sketch keeps a fixed number of keys. A new key takes the place of one with the lowest count, and starts from that
count: so a count is never too low, and at most `error` too high. A key that makes up more than one in `capacity` of
all is always among those kept. Each step takes constant time.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Frequent(Generic[K]):
    """A key, how often it was counted at the most, and by how much that may be too high."""

    key: K
    count: int
    error: int


class Sketch(Generic[K]):
    """The most frequent keys of a stream of keys."""

    __slots__ = ("_buckets", "_capacity", "_counts", "_errors", "_lowest", "total")

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._counts: dict[K, int] = {}
        self._errors: dict[K, int] = {}
        self._buckets: dict[int, dict[K, None]] = {}
        """Keys by count, in the order in which they came to it."""
        self._lowest = 0
        self.total = 0

    def add(self, key: K) -> None:
        """Count a key once more."""
        self.total += 1
        count = self._counts.get(key)
        if count is None:
            count = self._make_room(key)
        else:
            self._leave(key, count)
        self._counts[key] = count + 1
        self._buckets.setdefault(count + 1, {})[key] = None
        if self._lowest not in self._buckets:
            self._lowest = min(self._lowest + 1, count + 1)

    def _make_room(self, key: K) -> int:
        """The count that a new key starts from."""
        if len(self._counts) < self._capacity:
            self._lowest = 1
            return 0
        lowest = self._lowest
        oldest = next(iter(self._buckets[lowest]))
        self._leave(oldest, lowest)
        del self._counts[oldest]
        self._errors.pop(oldest, None)
        self._errors[key] = lowest
        return lowest

    def _leave(self, key: K, count: int) -> None:
        bucket = self._buckets[count]
        del bucket[key]
        if not bucket:
            del self._buckets[count]

    def top(self, count: int) -> list[Frequent[K]]:
        """The most frequent keys, the most frequent first."""
        ordered = sorted(self._counts.items(), key=lambda pair: -pair[1])[:count]
        return [Frequent(key, found, self._errors.get(key, 0)) for key, found in ordered]
