"""Items and changes as the lines of an export's files (developer guide: table export output format).

    full         {"Item":{…}}
    increments   {"Metadata":{"WriteTimestampMicros":{"N":"…"}},"Keys":{…},"NewImage":{…},"OldImage":{…}}
    Ion          $ion_1_0 {Item:{…}}   and   $ion_1_0 {Record:{Metadata:{…},Keys:{…},NewImage:{…},OldImage:{…}}}

The guide prints the time of a change as a bare text; programs that read real exports expect a number in DynamoDB JSON,
as here. How Ion nests an increment is assumed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import orjson

from dynamometer.engine import stored
from dynamometer.engine.transfers.window import Effect
from dynamometer.expressions import Bound
from dynamometer.model import ion

Item = dict[str, Any]

JSON, ION = "DYNAMODB_JSON", "ION"
EXTENSIONS = {JSON: ".json.gz", ION: ".ion.gz"}


def writer(form: str) -> Callable[[Item], bytes]:
    """The function from named images to a line; what is no attribute value is `M`."""
    return _ion if form == ION else _json


def _json(record: Item) -> bytes:
    return orjson.dumps(record) + b"\n"


def _ion(record: Item) -> bytes:
    wrapped = record if "Item" in record else {"Record": record}
    return f"{ion.VERSION_MARKER} {ion.write_struct(_as_values(wrapped))}\n".encode()


def _as_values(record: Item) -> Item:
    """Images and what holds them as maps: an image's own members are attribute values already."""
    names = ("Item", "Keys", "NewImage", "OldImage", "Metadata")
    return {name: {"M": value if name in names else _as_values(value)} for name, value in record.items()}


class FullLines:
    """Lines of a full export. Without a filter, and as JSON, an item's bytes are not looked at."""

    def __init__(self, form: str, bound: Bound | None) -> None:
        self._write = writer(form)
        self._is_ion = form == ION
        self._filter = None if bound is None else bound.filter
        self._projection = None if bound is None else bound.projection
        self._values = {} if bound is None else bound.values

    def lines(self, items: list[bytes]) -> tuple[bytes, int]:
        """The lines of items at rest, and how many items are in them."""
        if not self._is_ion and self._filter is None and self._projection is None:
            body = stored.BODY
            lines = b"".join([b'{"Item":%b}\n' % value[body:] for value in items])
            return lines, len(items)
        chosen: list[bytes] = []
        for value in items:
            item = stored.decode(value)
            if self._filter is not None and not self._filter.test(item, self._values):
                continue
            if self._projection is not None:
                item = self._projection.project(item)
            chosen.append(self._write({"Item": item}))
        return b"".join(chosen), len(chosen)


class ChangeLines:
    """Lines of an incremental export. A filter looks at the new image, or at the old one of an item that is gone."""

    def __init__(self, form: str, bound: Bound | None, key_names: tuple[str, ...], with_old: bool) -> None:
        self._write = writer(form)
        self._filter = None if bound is None else bound.filter
        self._projection = None if bound is None else bound.projection
        self._values = {} if bound is None else bound.values
        self._key_names = key_names
        self._with_old = with_old

    def line(self, effect: Effect) -> bytes | None:
        """The line of one item's net change; None if there is none, or the filter leaves it out."""
        if effect.before is None and effect.after is None:
            return None
        new = None if effect.after is None else stored.decode(effect.after)
        old = None if effect.before is None else stored.decode(effect.before)
        known: Item = new or old or {}
        if self._filter is not None and not self._filter.test(known, self._values):
            return None
        record: Item = {
            "Metadata": {"WriteTimestampMicros": {"N": str(effect.sequence // 1000)}},
            "Keys": {name: known[name] for name in self._key_names},
        }
        if new is not None:
            record["NewImage"] = self._project(new)
        if old is not None and self._with_old:
            record["OldImage"] = self._project(old)
        return self._write(record)

    def _project(self, item: Item) -> Item:
        if self._projection is None:
            return item
        projected: Item = self._projection.project(item)
        return projected
