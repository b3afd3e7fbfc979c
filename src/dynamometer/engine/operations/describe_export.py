"""DescribeExport: how far an export is, or how it ended."""

from __future__ import annotations

from typing import Any

from dynamometer.base.errors import ExportNotFoundException
from dynamometer.engine.catalog import World
from dynamometer.engine.engine import Engine
from dynamometer.engine.transfers import descriptions
from dynamometer.engine.transfers.transfer import EXPORT


def run(engine: Engine, world: World, body: dict[str, Any]) -> dict[str, Any]:
    transfer = engine.transfers.find(world, EXPORT, body["ExportArn"])
    if transfer is None:
        raise ExportNotFoundException(f"Export not found: {body['ExportArn']}")  # assumed text
    return {"ExportDescription": descriptions.export(transfer)}
