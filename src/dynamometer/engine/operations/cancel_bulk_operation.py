"""CancelBulkOperation: stop a bulk put; what it has put stays."""

from __future__ import annotations

from typing import Any

from dynamometer.base.errors import ValidationException
from dynamometer.engine.catalog import World
from dynamometer.engine.engine import Engine
from dynamometer.engine.operations.describe_bulk_operation import find
from dynamometer.engine.transfers.transfer import CANCELLING, save


def run(engine: Engine, world: World, body: dict[str, Any]) -> dict[str, Any]:
    transfer = find(engine, world, body["BulkOperationArn"])
    if not transfer.is_running:
        # assumed: the model only tells of operations that are in progress
        raise ValidationException(f"The bulk operation is not in progress: {transfer.arn}")
    transfer.status = CANCELLING
    save(engine, transfer)
    return {"BulkOperationArn": transfer.arn, "BulkOperationStatus": CANCELLING}
