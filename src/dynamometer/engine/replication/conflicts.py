"""Updates that were lost: two regions wrote one item, neither had seen the other's write, and the last writer won.

A write that someone builds upon is not lost, even where it came too late to be seen: its note is taken back when the
write upon it arrives.

The service tells nobody. Here each loss is kept, with what was lost and to which write, until it is
`KEPT_SECONDS` old. Two regions of one store that notice the same loss keep it once. A deletion that loses against a
deletion has lost nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any

import orjson

from dynamometer.engine import keyspace, stored
from dynamometer.engine.catalog import Table
from dynamometer.engine.versions import Version
from dynamometer.storage.interface import Transaction, View

KEPT_SECONDS = 35 * 86400


@dataclass(frozen=True, slots=True)
class Conflict:
    """One lost update. Moments are seconds since the epoch; an item of None: the write was a deletion."""

    account: str
    table: str
    key: dict[str, Any]
    lost_region: str
    lost_at: float
    lost_item: dict[str, Any] | None
    winning_region: str
    winning_at: float
    noticed_in: str
    lost_sequence: int
    winning_sequence: int

    def __str__(self) -> str:
        """One line, without the item's contents; its key is one of them."""
        return (
            f"table {self.table} of account {self.account}: a write in {self.lost_region} at {_spelled(self.lost_at)} "
            f"to one in {self.winning_region} at {_spelled(self.winning_at)}"
        )


def _spelled(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")


def note(
    transaction: Transaction, table: Table, place: bytes, lost: Version, image: bytes | None, to: Version, other: bytes
) -> tuple[bytes, Conflict] | None:
    """Stage a loss; its key and what it says, or None if it was noticed before.

    `image`: what was lost, None if that is a deletion; `other`: any state of the item, for its key. Both are at rest.
    """
    item = None if image is None else stored.decode(image)
    names = table.key.names
    shown = item if item is not None else stored.decode(other)
    record = table.record
    conflict = Conflict(
        account=record.account,
        table=record.name,
        key={name: shown[name] for name in names},
        lost_region=lost.region,
        lost_at=lost.sequence / 1e9,
        lost_item=item,
        winning_region=to.region,
        winning_at=to.sequence / 1e9,
        noticed_in=record.region,
        lost_sequence=lost.sequence,
        winning_sequence=to.sequence,
    )
    key = keyspace.conflict_key(record.account, record.name, lost.sequence, lost.region, place)
    if transaction.get(key) is not None:
        return None
    transaction.put(key, orjson.dumps(asdict(conflict)))
    return key, conflict


def read(view: View, account: str | None = None, table: str | None = None) -> Iterator[Conflict]:
    """The updates that were lost, of one account and table or of all, oldest first within a table."""
    if account is not None and table is not None:
        prefix = keyspace.conflicts_prefix(account, table)
        bounds = prefix, keyspace.successor(prefix)
    else:
        bounds = keyspace.conflict_range()
    for _, value in view.range(*bounds):
        conflict = Conflict(**orjson.loads(value))
        if account in (None, conflict.account) and table in (None, conflict.table):
            yield conflict


def old_keys(view: View, now: float, limit: int) -> list[bytes]:
    """The keys of some that need not be kept any more."""
    keys = []
    for key, value in view.range(*keyspace.conflict_range()):
        if orjson.loads(value)["lost_at"] < now - KEPT_SECONDS:
            keys.append(key)
            if len(keys) == limit:
                break
    return keys
