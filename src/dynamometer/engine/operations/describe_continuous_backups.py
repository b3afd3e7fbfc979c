"""DescribeContinuousBackups: infrastructure tools read it for every table. Point-in-time recovery is not built yet."""

from __future__ import annotations

from typing import Any

from dynamometer.base.errors import ResourceNotFoundException, TableNotFoundException
from dynamometer.engine.catalog import World
from dynamometer.engine.engine import Engine


def run(engine: Engine, world: World, body: dict[str, Any]) -> dict[str, Any]:
    try:
        engine.catalog.find(world, body["TableName"])
    except ResourceNotFoundException:
        raise TableNotFoundException(f"Table not found: {body['TableName']}") from None
    return {
        "ContinuousBackupsDescription": {
            "ContinuousBackupsStatus": "ENABLED",
            "PointInTimeRecoveryDescription": {"PointInTimeRecoveryStatus": "DISABLED"},
        }
    }
