"""ImportTable: a new table from objects in a bucket."""

from __future__ import annotations

from typing import Any

import orjson

from dynamometer.base.errors import ImportConflictException, ResourceInUseException
from dynamometer.engine import records
from dynamometer.engine.catalog import World
from dynamometer.engine.engine import Engine
from dynamometer.engine.index_updates import IN_USE
from dynamometer.engine.operations.create_table import check_free, record_of
from dynamometer.engine.transfers import descriptions
from dynamometer.engine.transfers.transfer import IMPORT

Body = dict[str, Any]


def run(engine: Engine, world: World, body: Body) -> Body:
    transfers = engine.transfers
    known = transfers.with_token(world, IMPORT, body, ImportConflictException)
    if known is not None:
        return {"ImportTableDescription": descriptions.import_(known)}
    request = orjson.loads(orjson.dumps(body))
    record = record_of(engine, world, body["TableCreationParameters"])
    check_free(engine, world, record.name)
    if transfers.is_importing(world, record.name):
        raise ResourceInUseException(f"{IN_USE}Table is being created: {record.name}")
    transfers.buckets()
    transfer = transfers.new(world, IMPORT, record.name, request)
    # the table becomes ACTIVE with the end of the import, whenever that is
    record.import_label, record.until = transfer.label, None
    for index in record.indexes:
        index.until = None
    transfer.progress["table"] = orjson.loads(records.dumps(record))
    transfers.start(transfer)
    return {"ImportTableDescription": descriptions.import_(transfer)}
