"""Rows in plain arrays, for where there is no numpy: slower by two orders of magnitude, the same answers."""

from __future__ import annotations

import heapq
import math
import operator
from array import array
from collections.abc import Callable, Sequence
from typing import Any

from dynamometer.engine.vectors.codec import from_bytes
from dynamometer.engine.vectors.scores import SCORE_MAX

Floats = Sequence[float]


def _sum_of_products(left: Floats, right: Floats) -> float:
    return float(sum(map(operator.mul, left, right)))


_product: Callable[[Floats, Floats], float] = getattr(math, "sumprod", _sum_of_products)


class ListRows:
    """See `scores.Rows`."""

    __slots__ = ("_dimensions", "_norms", "_rows")

    def __init__(self, dimensions: int) -> None:
        self._dimensions = dimensions
        self._rows: list[array[float]] = []
        self._norms: list[float] = []

    @property
    def count(self) -> int:
        return len(self._rows)

    @property
    def size_bytes(self) -> int:
        return self.count * (4 * self._dimensions + 100)

    def put(self, row: int, packed: bytes) -> None:
        vector = from_bytes(packed)
        norm = math.sqrt(_product(vector, vector))
        if row == len(self._rows):
            self._rows.append(vector)
            self._norms.append(norm)
        else:
            self._rows[row], self._norms[row] = vector, norm

    def drop(self, row: int) -> None:
        vector, norm = self._rows.pop(), self._norms.pop()
        if row < len(self._rows):
            self._rows[row], self._norms[row] = vector, norm

    def scores(self, function: str, packed: bytes, rows: Sequence[int] | None) -> Any:
        query = from_bytes(packed)
        chosen = range(self.count) if rows is None else rows
        if function == "EUCLIDEAN":
            scores = [math.dist(self._rows[row], query) for row in chosen]
        elif function == "DOT_PRODUCT":
            scores = [_product(self._rows[row], query) for row in chosen]
        else:
            length = math.sqrt(_product(query, query))
            scores = [_cosine(self._rows[row], self._norms[row], query, length) for row in chosen]
        return [min(max(score, -SCORE_MAX), SCORE_MAX) for score in scores]

    def nearest(self, scores: Any, count: int, highest: bool) -> list[tuple[float, int]]:
        if len(scores) <= count:
            return [(score, place) for place, score in enumerate(scores)]
        if highest:
            last = heapq.nlargest(count, scores)[-1]
            return [(score, place) for place, score in enumerate(scores) if score >= last]
        last = heapq.nsmallest(count, scores)[-1]
        return [(score, place) for place, score in enumerate(scores) if score <= last]


def _cosine(vector: array[float], norm: float, query: array[float], length: float) -> float:
    if norm == 0.0 or length == 0.0:
        return 1.0
    score = min(max(1.0 - _product(vector, query) / (norm * length), 0.0), 2.0)
    return 0.0 if score < 1e-9 and vector == query else score
