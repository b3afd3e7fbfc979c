"""Backups: a table's items of one moment, kept apart from the table and longer than it.

    USER      CreateBackup    the items are copied, a bounded piece at a time, while the table serves
    SYSTEM    DeleteTable     of a table with point-in-time recovery: the items are not copied, they change hands

A copy reads one range that was made with the request, so it shows that moment whatever happens to the table meanwhile.
Its items are kept at rest as the table has them, under their places, so a restore writes them as they are; indexes
are not kept, for they follow from the items. A copy that was cut off by a restart begins again, as of then.

A record in the store says all about a backup, with the table's own record of the moment in it. Records are read from
the store when they are asked for: there may be any number of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

import orjson

from dynamometer.base.errors import BackupInUseException, BackupNotFoundException, StoreConflict, ValidationException
from dynamometer.engine import keyspace, records
from dynamometer.engine.arns import backup_of
from dynamometer.engine.catalog import Table, World
from dynamometer.engine.records import TableRecord
from dynamometer.model.schema import PRIMARY_INDEX
from dynamometer.storage.interface import Pair, Transaction

if TYPE_CHECKING:
    from dynamometer.engine.engine import Engine

STEP_ITEMS = 200
STEP_BYTES = 1 << 20
"""A step ends with the item that reaches one of these: a few milliseconds."""
SYSTEM_BACKUP_SECONDS = 35 * 86400
"""How long the backup of a deleted table is kept (developer guide: point-in-time recovery)."""
DELETED_TABLE = "$DeletedTableBackup"

USER = "USER"
SYSTEM = "SYSTEM"
ALL = "ALL"


@dataclass(slots=True)
class Backup:
    """One backup's record. `number`: of its copy; 0 when its items are those that table `source_number` had."""

    account: str
    region: str
    table_name: str
    label: str
    number: int
    source_number: int
    name: str
    kind: str
    created_at: float
    items: int
    size_bytes: int
    table: dict[str, Any]
    """The table's record of that moment."""
    is_complete: bool = False
    until: float | None = None
    """Not AVAILABLE before this."""
    expires_at: float | None = None
    is_deleted: bool = False

    @property
    def table_arn(self) -> str:
        return f"arn:aws:dynamodb:{self.region}:{self.account}:table/{self.table_name}"

    @property
    def arn(self) -> str:
        return f"{self.table_arn}/backup/{self.label}"

    @property
    def key(self) -> bytes:
        return keyspace.backup_key(self.account, self.region, self.table_name, self.label)

    @property
    def prefix(self) -> bytes:
        """What the keys of its items begin with; their places follow."""
        if self.number:
            return keyspace.kept_prefix(self.number)
        return keyspace.data_prefix(self.source_number, PRIMARY_INDEX)

    def source(self) -> TableRecord:
        """The table as it was."""
        return records.loads(orjson.dumps(self.table))

    def status(self, now: float) -> str:
        """CREATING, AVAILABLE or DELETED."""
        if self.is_deleted:
            return "DELETED"
        return "AVAILABLE" if self.is_complete and (self.until is None or now >= self.until) else "CREATING"


def take(pairs: Iterator[Pair]) -> tuple[list[Pair], bool]:
    """The pairs of one step, and whether they were the last."""
    taken: list[Pair] = []
    size = 0
    for pair in islice(pairs, STEP_ITEMS):
        taken.append(pair)
        size += len(pair[1])
        if size >= STEP_BYTES:
            return taken, False
    return taken, len(taken) < STEP_ITEMS


class Backups:
    """All backups of a store."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._store = engine.store
        self._expiring: dict[bytes, float] = {}
        for _, raw in engine.store.range(*keyspace.backup_range()):
            self._resume(Backup(**orjson.loads(raw)))

    def create(self, table: Table, name: str) -> Backup:
        """Begin a backup of the table as it is now. The copy of a small table is complete when this returns."""
        transaction = self._store.begin()
        transaction.add(keyspace.SERIAL_KEY, (0, 1))
        number = self._store.counters(keyspace.SERIAL_KEY, 2)[1] + 1
        backup = self._new(table, name, USER, number)
        if self._engine.settings.table_transition_seconds:
            backup.until = self._engine.catalog.until()
        transaction.put(backup.key, orjson.dumps(backup))
        transaction.commit()
        self._start(table, backup)
        return backup

    def archive(self, table: Table, record: TableRecord, transaction: Transaction) -> None:
        """Stage the backup that takes over the items of a table which is about to be deleted."""
        backup = self._new(table, table.name + DELETED_TABLE, SYSTEM, 0)
        backup.is_complete = True
        backup.expires_at = backup.created_at + SYSTEM_BACKUP_SECONDS
        record.is_archived = True
        self._expiring[backup.key] = backup.expires_at
        transaction.put(backup.key, orjson.dumps(backup))

    def _new(self, table: Table, name: str, kind: str, number: int) -> Backup:
        now = round(self._engine.clock.now(), 3)
        items, size_bytes = self._store.counters(table.counters_key, 2)
        record = table.record
        return Backup(
            account=record.account,
            region=record.region,
            table_name=record.name,
            label=f"{int(now * 1000):014d}-{self._engine.rng.getrandbits(32):08x}",
            number=number,
            source_number=record.number,
            name=name,
            kind=kind,
            created_at=now,
            items=items,
            size_bytes=size_bytes,
            table=orjson.loads(records.dumps(record)),
        )

    def _start(self, table: Table, backup: Backup) -> None:
        copy = Copy(self._engine, table, backup)
        if not copy.step():
            self._engine.jobs.append(copy)

    def _resume(self, backup: Backup) -> None:
        """After a restart: finish what was going on."""
        if backup.expires_at is not None:
            self._expiring[backup.key] = backup.expires_at
        if backup.is_deleted:
            self._remove(backup)
        elif not backup.is_complete:
            prefix = backup.prefix
            self._store.delete_range(prefix, keyspace.successor(prefix))
            table = self._table(backup.source_number)
            if table is None:
                self._remove(backup)
                return
            backup.items, backup.size_bytes = self._store.counters(table.counters_key, 2)
            self._start(table, backup)

    def _table(self, number: int) -> Table | None:
        return next((each for each in self._engine.catalog.tables() if each.number == number), None)

    def is_copying(self, table: Table) -> bool:
        """Whether a backup of the table is being made."""
        copies = (job for job in self._engine.jobs if isinstance(job, Copy))
        return any(copy.backup.source_number == table.number for copy in copies)

    def find(self, arn: str) -> Backup:
        """The backup with this ARN. Raises BackupNotFoundException."""
        backup = self.load(arn)
        if backup is None or (backup.expires_at is not None and self._engine.clock.now() >= backup.expires_at):
            raise BackupNotFoundException(f"Backup not found: {arn}")
        return backup

    def load(self, arn: str) -> Backup | None:
        """The backup with this ARN, if its items are still there."""
        place = backup_of(arn)
        raw = None if place is None else self._store.get(keyspace.backup_key(*place))
        return None if raw is None else Backup(**orjson.loads(raw))

    def listed(self, world: World, table_name: str | None, after: str | None) -> Iterator[Backup]:
        """The backups of an account and region, or of one table, by table and moment, behind the one named `after`."""
        start = prefix = keyspace.backups_prefix(world.account, world.region, table_name)
        end = keyspace.successor(prefix)
        if after is not None:
            place = backup_of(after)
            if place is None:
                raise ValidationException(f"Invalid BackupArn: {after}")  # assumed, after the text for streams
            start = max(start, keyspace.backup_key(*place) + b"\0")
        now = self._engine.clock.now()
        for _, raw in self._store.range(start, end):
            backup = Backup(**orjson.loads(raw))
            if backup.expires_at is None or now < backup.expires_at:
                yield backup

    def delete(self, backup: Backup) -> None:
        """Remove a backup. Raises BackupInUseException while it is made or restored."""
        if backup.status(self._engine.clock.now()) == "CREATING":
            raise BackupInUseException(f"Backup is being created: {backup.arn}")  # assumed text
        if self._is_restored(backup.arn):
            raise BackupInUseException(f"Backup is being restored: {backup.arn}")  # assumed text
        if not backup.number and self._table(backup.source_number) is not None:
            raise BackupInUseException(f"The backup's table is still being deleted: {backup.arn}")  # assumed text
        backup.is_deleted = True
        self._save(backup)
        self._remove(backup)

    def _is_restored(self, arn: str) -> bool:
        restores = (table.record.restore for table in self._engine.catalog.tables())
        return any(restore is not None and restore.is_running and restore.backup_arn == arn for restore in restores)

    def _save(self, backup: Backup) -> None:
        transaction = self._store.begin()
        transaction.put(backup.key, orjson.dumps(backup))
        transaction.commit()

    def _remove(self, backup: Backup) -> None:
        """Remove the items and then the record: if this is interrupted, it is done again."""
        self._expiring.pop(backup.key, None)
        self._store.delete_range(backup.prefix, keyspace.successor(backup.prefix))
        transaction = self._store.begin()
        transaction.delete(backup.key)
        transaction.commit()

    def expire(self) -> None:
        """Remove the backups of deleted tables that have been kept long enough."""
        now = self._engine.clock.now()
        for key, expires_at in list(self._expiring.items()):
            raw = self._store.get(key)
            if now >= expires_at and raw is not None:
                backup = Backup(**orjson.loads(raw))
                if not self._is_restored(backup.arn):
                    backup.is_deleted = True
                    self._save(backup)
                    self._remove(backup)


class Copy:
    """The copying of one table's items into a backup, a bounded piece at a time."""

    def __init__(self, engine: Engine, table: Table, backup: Backup) -> None:
        self._store = engine.store
        self._cut = len(table.prefix)
        self._items = engine.store.range(table.prefix, keyspace.successor(table.prefix))
        self._piece: tuple[list[Pair], bool] | None = None
        self.backup = backup

    def step(self) -> bool:
        """Copy one piece; whether the backup is complete."""
        if self._piece is None:
            self._piece = take(self._items)
        pairs, is_last = self._piece
        prefix, cut = self.backup.prefix, self._cut
        transaction = self._store.begin()
        try:
            for key, value in pairs:
                transaction.put(prefix + key[cut:], value)
            if is_last:
                self.backup.is_complete = True
                transaction.put(self.backup.key, orjson.dumps(self.backup))
            transaction.commit()
        except StoreConflict:
            self.backup.is_complete = False
            transaction.rollback()
            return False
        self._piece = None
        return is_last
