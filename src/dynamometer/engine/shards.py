"""Shards: how a stream is cut. Computed from its record, never stored.

A shard is a rectangle in the table's change log: a range of the hash space during a range of sequence numbers.

    hashes   +---------+------+-------+     epoch 1: one partition; its shard rolls over after four hours
             |         |      |   d   |     epoch 2: the table has two partitions: a split
             |    a    |  b   +-------+
             |         |      |   e   |     parents: a of b, b of d and e
             +---------+------+-------+
             start     4 h    split          sequence numbers

All shards that begin together are a generation. Partitions are only ever split, each into the same number of parts,
so that all records of an item that a shard holds come after those that the shard's one parent holds.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from math import ceil
from zlib import crc32

SHARD_SECONDS = 4 * 3600
"""A shard is replaced by a child after about four hours (widely reported, not documented)."""
SHARD_SEQUENCES = SHARD_SECONDS * 1_000_000_000

Epoch = list[int]
"""From which sequence number on there have been how many partitions."""


@dataclass(frozen=True, slots=True)
class Shard:
    """Records with start <= sequence < end of items with low <= hash < high; `end` is None while it is open."""

    shard_id: str
    parent: str | None
    start: int
    end: int | None
    low: int
    high: int


def split(partitions: int, needed: int) -> int:
    """How many partitions there are when each is split until there are at least as many as are needed."""
    return partitions * max(1, ceil(needed / partitions))


def shards_of(arn: str, epochs: list[Epoch], end: int | None, following: int, horizon: int) -> list[Shard]:
    """The shards of a stream that reach past the horizon, parents before children.

    `end` is where the stream was disabled; `following` is the sequence number that the next change has at least.
    """
    shards: list[Shard] = []
    for number, (begin, partitions) in enumerate(epochs):
        last = epochs[number + 1][0] if number + 1 < len(epochs) else end
        parents = _last_of(epochs, number - 1) if number else None
        for start, finish, above in _generations(begin, partitions, last, parents, following, horizon):
            if finish is None or finish > horizon:
                shards += _generation(arn, start, finish, partitions, above)
    return shards


def _generations(
    begin: int, partitions: int, last: int | None, above: tuple[int, int] | None, following: int, horizon: int
) -> Iterator[tuple[int, int | None, tuple[int, int] | None]]:
    """Start, end and parents (start, partitions) of an epoch's generations; those long over are passed by."""
    passed = max(0, (horizon - begin) // SHARD_SEQUENCES)
    start = begin + passed * SHARD_SEQUENCES
    if passed:
        above = (start - SHARD_SEQUENCES, partitions)
    while last is None or start < last:
        finish: int | None = start + SHARD_SEQUENCES
        if last is not None and last <= start + SHARD_SEQUENCES:
            finish = last
        elif last is None and following < start + SHARD_SEQUENCES:
            finish = None
        yield start, finish, above
        if finish is None:
            return
        above, start = (start, partitions), finish


def _last_of(epochs: list[Epoch], number: int) -> tuple[int, int]:
    """Start and partitions of the last generation of an epoch that is over."""
    begin, partitions = epochs[number]
    length = epochs[number + 1][0] - begin
    return begin + (length - 1) // SHARD_SEQUENCES * SHARD_SEQUENCES, partitions


@lru_cache(maxsize=1000)
def _generation(
    arn: str, start: int, end: int | None, partitions: int, above: tuple[int, int] | None
) -> tuple[Shard, ...]:
    shards = []
    for part in range(partitions):
        low, high = (part << 64) // partitions, ((part + 1) << 64) // partitions
        parent = None if above is None else _shard_id(arn, above[0], part * above[1] // partitions, above[1])
        shards.append(Shard(_shard_id(arn, start, part, partitions), parent, start, end, low, high))
    return tuple(shards)


def _shard_id(arn: str, start: int, part: int, partitions: int) -> str:
    """Ids sort as shards are listed: readers rely on it (measured on the service)."""
    digest = crc32(f"{arn}/{start}/{partitions}".encode()) & 0xFFFF
    return f"shardId-{start // 1_000_000:020d}-{part:04x}{digest:04x}"
