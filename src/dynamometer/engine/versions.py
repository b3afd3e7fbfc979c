"""Versions of a replica's items: which write an item is, so that the last writer wins in every region alike.

A version is the moment of a write (the sequence number in the change log of the region that made it) and that region.
Beside the item itself it outlives a deletion, as its grave, for as long as an older write may still arrive. What a
version has seen is the newest write of each region that went into it: two writes of which neither has seen the other
were made at the same time, as far as anyone can tell, and one of them is lost.

An item without a version was there before its table became a replica; every write is newer.
"""

from __future__ import annotations

from dataclasses import dataclass

import orjson

from dynamometer.base.errors import ReplicatedWriteConflictException
from dynamometer.engine import keyspace
from dynamometer.engine.log import ChangeLog
from dynamometer.storage.interface import Transaction


@dataclass(frozen=True, slots=True)
class Version:
    """One write of one item. `parent`: sequence number and region of the write that it replaced."""

    sequence: int
    region: str
    seen: dict[str, int]
    parent: tuple[int, str] = (0, "")

    @property
    def order(self) -> tuple[int, str]:
        """The last writer is the greatest; regions break ties by name (assumed: the service's way is not public)."""
        return self.sequence, self.region

    def has_seen(self, other: Version) -> bool:
        """Whether the other write is part of this one's past."""
        return self.seen.get(other.region, 0) >= other.sequence


CONFLICT = "One or more items in this request are being modified by a request in another Region."
"""Assumed, after the service model's description of the error."""
ORIGINAL = Version(0, "", {})
"""Of an item that was there before replication."""


def encode(version: Version) -> bytes:
    """A version at rest."""
    return orjson.dumps((version.sequence, version.region, version.seen, version.parent))


def decode(value: bytes) -> Version:
    """A version from the store."""
    sequence, region, seen, (parent_sequence, parent_region) = orjson.loads(value)
    return Version(sequence, region, seen, (parent_sequence, parent_region))


def stamp(
    transaction: Transaction, log: ChangeLog, table: int, region: str, place: bytes, is_deletion: bool, window: int = 0
) -> tuple[int, bytes]:
    """Give a write that is made here its version: newer than what it replaces, whatever the clocks say.

    Returns the sequence number of its change, and the version at rest. Raises ReplicatedWriteConflictException when
    another region wrote the item less than `window` nanoseconds ago.
    """
    key = keyspace.version_prefix(table) + place
    value = transaction.get(key)
    current = ORIGINAL
    if value is not None:
        current = decode(value)
        log.pass_by(current.sequence)
    sequence = log.next_sequence()
    if value is not None and current.region != region and sequence - current.sequence < window:
        raise ReplicatedWriteConflictException(CONFLICT)
    value = orjson.dumps((sequence, region, current.seen | {region: sequence}, current.order))
    keep(transaction, table, place, sequence, value, is_deletion)
    return sequence, value


def keep(transaction: Transaction, table: int, place: bytes, sequence: int, value: bytes, is_deletion: bool) -> None:
    """Stage an item's version, and its grave if there is no item any more."""
    transaction.put(keyspace.version_prefix(table) + place, value)
    if is_deletion:
        transaction.put(keyspace.grave_key(table, sequence, place), b"")
