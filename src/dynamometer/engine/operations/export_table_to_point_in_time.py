"""ExportTableToPointInTime: a table of one moment, or its changes between two, as files in a bucket.

That a moment is outside of the window is said in the service model's words; texts of the other refusals are assumed.
"""

from __future__ import annotations

from typing import Any

import orjson

from dynamometer.base.errors import (
    ExportConflictException,
    InvalidExportTimeException,
    PointInTimeRecoveryUnavailableException,
    ValidationException,
)
from dynamometer.engine import recovery
from dynamometer.engine.catalog import World
from dynamometer.engine.engine import Engine
from dynamometer.engine.log import sequence_at
from dynamometer.engine.records import Recovery
from dynamometer.engine.transfers import descriptions, selecting
from dynamometer.engine.transfers.exporting import INCREMENTAL
from dynamometer.engine.transfers.transfer import EXPORT, Transfer

Body = dict[str, Any]

INCREMENT_SECONDS_MIN = 15 * 60
INCREMENT_SECONDS_MAX = 24 * 3600
"""How long the window of an incremental export may be (developer guide: quotas)."""
_OUTSIDE = "The specified ExportTime is outside of the point in time recovery window."


def run(engine: Engine, world: World, body: Body) -> Body:
    transfers = engine.transfers
    known = transfers.with_token(world, EXPORT, body, ExportConflictException)
    if known is not None:
        return {"ExportDescription": descriptions.export(known)}
    request = orjson.loads(orjson.dumps(body))
    table = recovery.find(engine, world, body["TableArn"])
    if table.record.recovery is None:
        raise PointInTimeRecoveryUnavailableException(f"Point in time recovery is not enabled for table '{table.name}'")
    if body.get("S3SseKmsKeyId") is not None and body.get("S3SseAlgorithm") != "KMS":
        raise ValidationException("S3SseKmsKeyId can only be specified when S3SseAlgorithm is KMS")
    transfers.buckets()
    transfer = transfers.new(world, EXPORT, table.name, request)
    transfer.table_number, transfer.table_id = table.number, table.record.table_id
    if body.get("ExportType") == INCREMENTAL:
        _set_window(engine, transfer, table.record.recovery, body.get("IncrementalExportSpecification"))
    else:
        if "IncrementalExportSpecification" in body:
            raise ValidationException(
                "IncrementalExportSpecification can only be specified when ExportType is INCREMENTAL_EXPORT"
            )
        _set_moment(engine, transfer, table.record.recovery, body.get("ExportTime"))
    selecting.parse(table, request.get("FilterSpecification"))
    transfers.start(transfer)
    return {"ExportDescription": descriptions.export(transfer)}


def _earliest(engine: Engine, past: Recovery) -> int:
    return recovery.window(past, engine.clock.now(), 0)[0]


def _set_moment(engine: Engine, transfer: Transfer, past: Recovery, at: float | None) -> None:
    """The moment of a full export; without one, everything up to this request."""
    now = engine.clock.now()
    if at is None:
        transfer.times = {"at": round(now, 3)}
        transfer.first_sequence = engine.log.following()
        return
    if not _earliest(engine, past) <= at <= now:
        raise InvalidExportTimeException(_OUTSIDE)
    transfer.times = {"at": at}
    transfer.first_sequence = recovery.first_undone(at)


def _set_window(engine: Engine, transfer: Transfer, past: Recovery, specification: Body | None) -> None:
    """The window of an incremental export: its begin belongs to it, its end does not."""
    if not specification or specification.get("ExportFromTime") is None:
        raise ValidationException(
            "IncrementalExportSpecification with ExportFromTime is required when ExportType is INCREMENTAL_EXPORT"
        )
    now = engine.clock.now()
    start, end = specification["ExportFromTime"], specification.get("ExportToTime")
    if start < _earliest(engine, past) or (end is not None and end > now):
        raise InvalidExportTimeException(_OUTSIDE)
    length = (now if end is None else end) - start
    if not INCREMENT_SECONDS_MIN <= length <= INCREMENT_SECONDS_MAX:
        raise ValidationException(
            "The time between ExportFromTime and ExportToTime must be at least 15 minutes and at most 24 hours"
        )
    transfer.first_sequence = sequence_at(start)
    transfer.end_sequence = engine.log.following() if end is None else sequence_at(end)
    transfer.times = {"from": start, "to": round(now, 3) if end is None else end}
