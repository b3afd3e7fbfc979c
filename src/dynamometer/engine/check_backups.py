"""`dyno check`, the part of backups: each has the items that its record counts, and no other item is kept."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import orjson

from dynamometer.base.errors import StoreCorrupt
from dynamometer.engine import keyspace, stored
from dynamometer.engine.backups import Backup
from dynamometer.engine.codec import UNUSUAL
from dynamometer.model import values
from dynamometer.storage.interface import View


def load(view: View) -> tuple[list[Backup], list[str]]:
    """All backups, and the keys of records that can't be read."""
    backups, damaged = [], []
    for key, raw in view.range(*keyspace.backup_range()):
        try:
            backups.append(Backup(**orjson.loads(raw)))
        except UNUSUAL:
            damaged.append(key.decode(errors="replace"))
    return backups, damaged


def problems(view: View, backup: Backup, count: Callable[[], None]) -> Iterator[str]:
    """What does not agree about one backup. One that is being made, or removed, may have any part of its items."""
    items, size_bytes = 0, 0
    for key, value in view.range(backup.prefix, keyspace.successor(backup.prefix)):
        count()
        items += 1
        size_bytes += stored.size_of(value)
        place = key[len(backup.prefix) :].hex()
        try:
            if values.item_size(stored.decode(value)) != stored.size_of(value):
                yield f"the item {place} has another size than is kept with it"
        except (StoreCorrupt, *UNUSUAL) as error:
            yield f"the item {place} can't be read: {error}"
    if backup.is_complete and not backup.is_deleted and (items, size_bytes) != (backup.items, backup.size_bytes):
        yield (
            f"it should have {backup.items} items of {backup.size_bytes} bytes, "
            f"it has {items} items of {size_bytes} bytes"
        )


def strays(view: View, backups: list[Backup]) -> Iterator[str]:
    """Kept items of backups that are not there: a jump from one to the next."""
    known = {backup.prefix for backup in backups}
    position, end = keyspace.kept_range()
    while (pair := next(iter(view.range(position, end, limit=1)), None)) is not None:
        prefix = pair[0][: len(keyspace.kept_prefix(0))]
        if prefix not in known:
            yield prefix.hex()
        position = keyspace.successor(prefix)
