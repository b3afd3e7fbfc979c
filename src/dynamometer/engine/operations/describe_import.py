"""DescribeImport: how far an import is, or how it ended."""

from __future__ import annotations

from typing import Any

from dynamometer.base.errors import ImportNotFoundException
from dynamometer.engine.catalog import World
from dynamometer.engine.engine import Engine
from dynamometer.engine.transfers import descriptions
from dynamometer.engine.transfers.transfer import IMPORT


def run(engine: Engine, world: World, body: dict[str, Any]) -> dict[str, Any]:
    transfer = engine.transfers.find(world, IMPORT, body["ImportArn"])
    if transfer is None:
        raise ImportNotFoundException(f"Import not found: {body['ImportArn']}")  # assumed text
    return {"ImportTableDescription": descriptions.import_(transfer)}
