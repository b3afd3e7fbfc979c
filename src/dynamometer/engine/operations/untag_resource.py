"""UntagResource: some tags less; those that a table does not have are no error."""

from __future__ import annotations

from typing import Any

from dynamometer.base.errors import ValidationException
from dynamometer.engine import options, records
from dynamometer.engine.arns import tagged_table
from dynamometer.engine.catalog import World
from dynamometer.engine.engine import Engine


def run(engine: Engine, world: World, body: dict[str, Any]) -> dict[str, Any]:
    keys = body["TagKeys"]
    if not keys:
        raise ValidationException("Atleast one Tag Key needs to be provided as Input.")
    for key in keys:
        options.check_tag_key(key)
    options.check_tag_count(keys)
    table = tagged_table(engine.catalog, world, body, "UntagResource")
    record = records.copy(table.record)
    for key in keys:
        record.tags.pop(key, None)
    engine.catalog.save(world, table, record)
    return {}
