"""The record of an export, an import or a bulk put: what was asked for, how far it is, how it ended."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any

import orjson

from dynamometer.base.errors import StoreCorrupt
from dynamometer.engine import keyspace

if TYPE_CHECKING:
    from dynamometer.engine.engine import Engine

VERSION = 1
EXPORT, IMPORT, BULK = "export", "import", "bulk-operation"
"""As they stand in ARNs; that of bulk operations is assumed."""

IN_PROGRESS, COMPLETED, FAILED = "IN_PROGRESS", "COMPLETED", "FAILED"
COMPLETED_WITH_ERRORS, CANCELLING, CANCELLED = "COMPLETED_WITH_ERRORS", "CANCELLING", "CANCELLED"
RUNNING = (IN_PROGRESS, CANCELLING)


@dataclass(slots=True)
class Transfer:
    """One of them. `request` is the body of the request as it came; `progress` is for the job alone."""

    kind: str
    account: str
    region: str
    table_name: str
    label: str
    request: dict[str, Any]
    started_at: float
    table_number: int = 0
    table_id: str = ""
    status: str = IN_PROGRESS
    ended_at: float | None = None
    failure_code: str | None = None
    failure_message: str | None = None
    processed_items: int = 0
    done_items: int = 0
    """Exported, imported or put."""
    error_items: int = 0
    processed_bytes: int = 0
    total_bytes: int | None = None
    first_sequence: int = 0
    """Exports: the first change of the log that the job reads."""
    end_sequence: int = 0
    """Incremental exports: the first change behind the window."""
    times: dict[str, float] = field(default_factory=dict)
    """Exports: the moment "at", or the window "from" and "to"."""
    usage: dict[str, dict[str, int]] = field(default_factory=dict)
    """Bulk puts: bytes by index name, under "table", "local", "global" and "vector"."""
    progress: dict[str, Any] = field(default_factory=dict)
    version: int = VERSION

    @property
    def table_arn(self) -> str:
        return f"arn:aws:dynamodb:{self.region}:{self.account}:table/{self.table_name}"

    @property
    def arn(self) -> str:
        return f"{self.table_arn}/{self.kind}/{self.label}"

    @property
    def key(self) -> bytes:
        return keyspace.transfer_key(self.account, self.region, self.kind, self.label)

    def spool_key(self, part: str, number: int = 0) -> bytes:
        """The key of a piece of what the job keeps beside its record."""
        return keyspace.spool_key(self.account, self.region, self.kind, self.label, part, number)

    def spool_range(self) -> tuple[bytes, bytes]:
        """Bounds of all that the job keeps beside its record."""
        prefix = self.spool_key("")[: -len("/") - 8]
        return prefix, keyspace.successor(prefix)

    @property
    def token(self) -> str | None:
        token: str | None = self.request.get("ClientToken")
        return token

    @property
    def is_running(self) -> bool:
        return self.status in RUNNING


def dumps(transfer: Transfer) -> bytes:
    """The record as kept in the store."""
    return orjson.dumps(transfer)


def loads(raw: bytes) -> Transfer:
    """The record from the store. Raises StoreCorrupt."""
    try:
        value = orjson.loads(raw)
        if value["version"] != VERSION:
            raise StoreCorrupt("a transfer's record is of a newer version; open the data folder with that version")
        return Transfer(**value)
    except (orjson.JSONDecodeError, KeyError, TypeError) as error:
        raise StoreCorrupt("the record of an export or import is damaged; restore the folder from a backup") from error


def save(engine: Engine, transfer: Transfer) -> None:
    """Keep a record as it is now."""
    transaction = engine.store.begin()
    transaction.put(transfer.key, dumps(transfer))
    transaction.commit()


def ended(
    engine: Engine, transfer: Transfer, status: str, code: str | None = None, message: str | None = None
) -> Transfer:
    """The record of a transfer that has ended. It counts once it is kept."""
    at = round(engine.clock.now(), 3)
    return replace(transfer, status=status, ended_at=at, failure_code=code, failure_message=message, progress={})


def take_over(transfer: Transfer, kept: Transfer) -> None:
    """Show a record that has been kept."""
    for each in fields(Transfer):
        setattr(transfer, each.name, getattr(kept, each.name))


def end(engine: Engine, transfer: Transfer, status: str, code: str | None = None, message: str | None = None) -> None:
    """Keep how a transfer ended, and show it."""
    kept = ended(engine, transfer, status, code, message)
    save(engine, kept)
    take_over(transfer, kept)
