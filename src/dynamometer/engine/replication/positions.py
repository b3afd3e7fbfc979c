"""How far each replica has come, in the store beside what it got: whatever arrives, arrives once.

SENT      the change log of the table has been sent to the region up to here
ARRIVED   the region, on another server, has sent all it had up to here
FILLED    the region has been given the items up to this place
"""

from __future__ import annotations

import orjson

from dynamometer.engine import keyspace
from dynamometer.storage.interface import Transaction, View

SENT, ARRIVED, FILLED = b"s", b"a", b"f"


def read(view: View, table: int, kind: bytes, region: str) -> int | None:
    """A position of one of the first two kinds; None where nothing was sent yet."""
    value = view.get(keyspace.position_key(table, kind, region))
    return None if value is None else int(orjson.loads(value))


def write(transaction: Transaction, table: int, kind: bytes, region: str, sequence: int) -> None:
    """Stage a position."""
    transaction.put(keyspace.position_key(table, kind, region), orjson.dumps(sequence))


def read_place(view: View, table: int, region: str) -> bytes:
    """The place up to which a region has been filled."""
    value = view.get(keyspace.position_key(table, FILLED, region))
    return b"" if value is None else bytes.fromhex(orjson.loads(value))


def write_place(transaction: Transaction, table: int, region: str, place: bytes) -> None:
    """Stage the place up to which a region has been filled."""
    transaction.put(keyspace.position_key(table, FILLED, region), orjson.dumps(place.hex()))


def forget(transaction: Transaction, table: int, region: str) -> None:
    """Stage that a region is no replica any more."""
    for kind in (SENT, ARRIVED, FILLED):
        transaction.delete(keyspace.position_key(table, kind, region))


def newest(view: View) -> int:
    """The end of all that was ever sent: no change may come before it, even if the clock was set back."""
    kind = len(keyspace.positions_prefix(0))
    sent = (
        orjson.loads(value)
        for key, value in view.range(*keyspace.position_range())
        if key[kind : kind + len(SENT)] == SENT
    )
    return max(sent, default=0)
