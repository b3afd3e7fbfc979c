"""TagResource: new tags of a table, or new values of old ones."""

from __future__ import annotations

from typing import Any

from dynamometer.base.errors import ValidationException
from dynamometer.engine import options, records
from dynamometer.engine.arns import tagged_table
from dynamometer.engine.catalog import World
from dynamometer.engine.engine import Engine


def run(engine: Engine, world: World, body: dict[str, Any]) -> dict[str, Any]:
    if not body["Tags"]:
        raise ValidationException("Atleast one Tag needs to be provided as Input.")
    tags = options.tags_of(body["Tags"])
    table = tagged_table(engine.catalog, world, body, "TagResource")
    record = records.copy(table.record)
    record.tags |= tags
    options.check_tag_count(record.tags)
    options.check_tag_bytes(record.tags)
    engine.catalog.save(world, table, record)
    return {}
