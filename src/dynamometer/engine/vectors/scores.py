"""Distance functions, and the rows of a matrix that are nearest to a vector.

    COSINE        1 - cosine of the angle: 0 the same direction, 2 the opposite; 1 where a vector is all zeros
    EUCLIDEAN     the distance between two points
    DOT_PRODUCT   the higher, the nearer

Elements are 32-bit floats, sums are made of 64-bit ones, and a score that 32 bits can't hold is the largest that they
can (measured on the service). There are two kinds of rows, which give the same answers: with numpy, if it is
installed, and without. Neither is imported before a vector index is searched.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any, Protocol

HIGHER_IS_NEARER = frozenset({"DOT_PRODUCT"})
SCORE_MAX = 3.4028234663852886e38


class Rows(Protocol):
    """Vectors of one length, by number from 0 on without gaps."""

    @property
    def count(self) -> int: ...

    @property
    def size_bytes(self) -> int: ...

    def put(self, row: int, packed: bytes) -> None:
        """Set a row, or add one behind the last."""
        ...

    def drop(self, row: int) -> None:
        """Take a row away; the last one takes its number."""
        ...

    def scores(self, function: str, packed: bytes, rows: Sequence[int] | None) -> Any:
        """The scores of the rows (None: all of them), in order."""
        ...

    def nearest(self, scores: Any, count: int, highest: bool) -> list[tuple[float, int]]:
        """At least the `count` nearest of some scores and, of those that tie with the last one, all: (score, place)."""
        ...


@cache
def rows_type() -> type[Any]:
    """The kind of rows to use in this process."""
    try:
        from dynamometer.engine.vectors.matrix import MatrixRows
    except ImportError:
        from dynamometer.engine.vectors.lists import ListRows

        return ListRows
    return MatrixRows
