"""Rows of counters as bytes: signed integers of 8 bytes each, big-endian.

The stores keep a row under its key in this form, so that a range shows counters like everything else. A row that is
all zero is not kept: it says the same as no row, and the size counters of emptied collections would pile up.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import add
from struct import Struct

_STRUCTS = [Struct(f">{width}q") for width in range(9)]


def pack(row: Sequence[int]) -> bytes:
    """The bytes of a row. Raises struct.error when a counter leaves 64 bits: it counts bytes or items, so it can't."""
    width = len(row)
    return (_STRUCTS[width] if width < len(_STRUCTS) else Struct(f">{width}q")).pack(*row)


def unpack(data: bytes | None, width: int = 0) -> list[int]:
    """The row of a value, or of its absence, at least `width` wide."""
    row = [] if data is None else [part for (part,) in _STRUCTS[1].iter_unpack(data)]
    if len(row) < width:
        row.extend([0] * (width - len(row)))
    return row


def plus(row: Sequence[int], deltas: Sequence[int]) -> list[int]:
    """The sum of two rows; the shorter one is taken to go on with zeros."""
    total = list(map(add, row, deltas))
    if len(row) != len(deltas):
        longer = row if len(row) > len(deltas) else deltas
        total.extend(longer[len(total) :])
    return total
