"""DescribeBulkOperation: how far a bulk put is, or how it ended."""

from __future__ import annotations

from typing import Any

from dynamometer.base.errors import ResourceNotFoundException
from dynamometer.engine.catalog import World
from dynamometer.engine.engine import Engine
from dynamometer.engine.transfers import descriptions
from dynamometer.engine.transfers.transfer import BULK, Transfer


def find(engine: Engine, world: World, arn: str) -> Transfer:
    """The bulk put with this ARN. Raises ResourceNotFoundException."""
    transfer = engine.transfers.find(world, BULK, arn)
    if transfer is None:
        raise ResourceNotFoundException(f"Requested resource not found: {arn}")  # assumed text
    return transfer


def run(engine: Engine, world: World, body: dict[str, Any]) -> dict[str, Any]:
    return {"BulkOperationDescription": descriptions.bulk(find(engine, world, body["BulkOperationArn"]))}
