"""Point-in-time recovery: the window of a table's past, and who keeps the change log for it.

While recovery is on, every change is in the table's change log (`log`), and the log keeps what is younger than the
recovery period. The table as it is now, with the log undone backwards, is the table of any moment in the window:

    now - period            earliest                       latest            now
    ----+-----------------------+-----------------------------+---------------+
        trimmed                 enabled, or the period's begin    recovery_lag_seconds

Moments are seconds. A restore to a second shows every change up to its begin, that millisecond included.
"""

from __future__ import annotations

from math import ceil, floor
from typing import TYPE_CHECKING, Any

from dynamometer.base.errors import ResourceNotFoundException, TableNotFoundException
from dynamometer.engine.catalog import Table, World
from dynamometer.engine.log import sequence_at
from dynamometer.engine.records import Recovery, TableRecord

if TYPE_CHECKING:
    from dynamometer.engine.engine import Engine

DAY_SECONDS = 86400
PERIOD_DAYS = 35
MOMENT_SECONDS = 0.001
"""What belongs to a moment: clocks are not finer than this, and clients tell no less."""


def changed(current: Recovery | None, period_days: int, now: float) -> Recovery:
    """Recovery with another period. A shorter one gives up the past at once, a longer one wins it day by day."""
    if current is None:
        return Recovery(now, period_days)
    kept_days = min(current.period_days, period_days)
    return Recovery(max(current.since, now - kept_days * DAY_SECONDS), period_days)


def window(recovery: Recovery, now: float, lag_seconds: float) -> tuple[int, int]:
    """The earliest and the latest second that can be restored."""
    earliest = ceil(_begin(recovery, now))
    return earliest, max(earliest, floor(now - lag_seconds))


def _begin(recovery: Recovery, now: float) -> float:
    return max(recovery.since, now - recovery.period_days * DAY_SECONDS)


def first_undone(at: float) -> int:
    """The sequence number of the first change that a restore to this moment undoes."""
    return sequence_at(at + MOMENT_SECONDS)


def holder(engine: Engine, table_number: int) -> int | None:
    """What of a table's change log recovery needs: the window, and what running restores have yet to undo."""
    needed = []
    now = engine.clock.now()
    for table in engine.catalog.tables():
        record = table.record
        if table.number == table_number and record.recovery is not None:
            needed.append(sequence_at(_begin(record.recovery, now)))
        restore = record.restore
        if restore is not None and restore.is_running and restore.source_number == table_number:
            needed.append(sequence_at(restore.at))
    return min(needed, default=None)


def is_read(engine: Engine, table: Table) -> bool:
    """Whether a restore reads the table and its log right now."""
    restores = (each.record.restore for each in engine.catalog.tables())
    return any(
        restore is not None and restore.is_running and restore.source_number == table.number for restore in restores
    )


def find(engine: Engine, world: World, name_or_arn: str) -> Table:
    """The table of an operation of backups. Raises TableNotFoundException."""
    try:
        return engine.catalog.find(world, name_or_arn)
    except ResourceNotFoundException:
        raise TableNotFoundException(f"Table not found: {name_or_arn}") from None


def describe(engine: Engine, record: TableRecord) -> dict[str, Any]:
    """The ContinuousBackupsDescription of a table. Continuous backups as such are always on."""
    description: dict[str, Any] = {"PointInTimeRecoveryStatus": "DISABLED"}
    if record.recovery is not None:
        earliest, latest = window(record.recovery, engine.clock.now(), engine.settings.recovery_lag_seconds)
        description = {
            "PointInTimeRecoveryStatus": "ENABLED",
            "RecoveryPeriodInDays": record.recovery.period_days,
            "EarliestRestorableDateTime": earliest,
            "LatestRestorableDateTime": latest,
        }
    return {"ContinuousBackupsStatus": "ENABLED", "PointInTimeRecoveryDescription": description}
