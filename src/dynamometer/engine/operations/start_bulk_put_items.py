"""StartBulkPutItems: items from objects in a bucket into a table that is there."""

from __future__ import annotations

from typing import Any

import orjson

from dynamometer.base.errors import IdempotentParameterMismatchException, ResourceInUseException, ValidationException
from dynamometer.engine.catalog import World
from dynamometer.engine.engine import Engine
from dynamometer.engine.index_updates import IN_USE
from dynamometer.engine.transfers import descriptions
from dynamometer.engine.transfers.transfer import BULK

Body = dict[str, Any]


def run(engine: Engine, world: World, body: Body) -> Body:
    transfers = engine.transfers
    known = transfers.with_token(world, BULK, body, IdempotentParameterMismatchException)
    if known is not None:
        return {"BulkOperationDescription": descriptions.bulk(known)}
    output = body["OutputS3Configuration"]
    if output.get("S3SseKmsKeyId") is not None and output.get("S3SseAlgorithm") != "KMS":
        # assumed text
        raise ValidationException("S3SseKmsKeyId can only be specified when S3SseAlgorithm is KMS")
    table = engine.catalog.find(world, body["TableName"])
    if table.record.status in ("CREATING", "DELETING"):
        raise ResourceInUseException(f"{IN_USE}Table is not in ACTIVE state: {table.name}")
    transfers.buckets()
    transfer = transfers.new(world, BULK, table.name, orjson.loads(orjson.dumps(body)))
    transfer.table_number, transfer.table_id = table.number, table.record.table_id
    transfers.start(transfer)
    return {"BulkOperationDescription": descriptions.bulk(transfer)}
