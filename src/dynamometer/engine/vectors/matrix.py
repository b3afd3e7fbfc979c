"""Rows in one numpy matrix."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dynamometer.engine.vectors.scores import SCORE_MAX

CHUNK_FLOATS = 1 << 17
"""How many are turned into 64-bit floats at a time: a megabyte, which stays in the processor's cache."""
_FLOAT = "<f4"


class MatrixRows:
    """See `scores.Rows`."""

    __slots__ = ("_matrix", "_norms", "count")

    def __init__(self, dimensions: int) -> None:
        self._matrix = np.zeros((16, dimensions), _FLOAT)
        self._norms = np.zeros(16, np.float64)
        self.count = 0

    @property
    def size_bytes(self) -> int:
        return int(self._matrix.nbytes + self._norms.nbytes)

    def put(self, row: int, packed: bytes) -> None:
        if row == len(self._matrix):
            self._matrix = np.concatenate([self._matrix, np.zeros_like(self._matrix)])
            self._norms = np.concatenate([self._norms, np.zeros_like(self._norms)])
        vector = np.frombuffer(packed, _FLOAT)
        self._matrix[row] = vector
        self._norms[row] = _norm(vector.astype(np.float64))
        self.count = max(self.count, row + 1)

    def drop(self, row: int) -> None:
        self.count -= 1
        self._matrix[row] = self._matrix[self.count]
        self._norms[row] = self._norms[self.count]

    def scores(self, function: str, packed: bytes, rows: Sequence[int] | None) -> Any:
        query = np.frombuffer(packed, _FLOAT).astype(np.float64)
        matrix, norms = self._matrix[: self.count], self._norms[: self.count]
        if rows is not None:
            chosen = np.fromiter(rows, np.intp, len(rows))
            matrix, norms = matrix[chosen], norms[chosen]
        scores = np.empty(len(matrix), np.float64)
        step = max(1, CHUNK_FLOATS // len(query))
        for start in range(0, len(matrix), step):
            part = slice(start, start + step)
            scores[part] = _scores(function, query, matrix[part].astype(np.float64), norms[part])
        return np.clip(scores, -SCORE_MAX, SCORE_MAX)

    def nearest(self, scores: Any, count: int, highest: bool) -> list[tuple[float, int]]:
        keys = -scores if highest else scores
        if len(keys) > count:
            last = np.partition(keys, count - 1)[count - 1]
            places = np.flatnonzero(keys <= last)
        else:
            places = np.arange(len(keys))
        return [(float(scores[place]), int(place)) for place in places]


def _norm(vector: Any) -> float:
    return float(np.sqrt(np.dot(vector, vector)))


def _scores(function: str, query: Any, part: Any, norms: Any) -> Any:
    if function == "EUCLIDEAN":
        part -= query
        return np.sqrt(np.einsum("ij,ij->i", part, part))
    products = part @ query
    if function == "DOT_PRODUCT":
        return products
    length = _norm(query)
    if length == 0.0:
        return np.ones(len(part))
    scores = np.clip(1.0 - products / (np.where(norms == 0.0, 1.0, norms) * length), 0.0, 2.0)
    scores[norms == 0.0] = 1.0
    for place in np.flatnonzero(scores < 1e-9):
        if np.array_equal(part[place], query):
            scores[place] = 0.0
    return scores
