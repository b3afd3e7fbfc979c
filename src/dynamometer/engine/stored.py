"""An item at rest: a version byte, the item's size in bytes as the service counts it, and the item as JSON.

The JSON is exactly what goes out, so a read that projects nothing splices bytes and never decodes them.
"""

from __future__ import annotations

from typing import Any

import orjson

from dynamometer.base.errors import StoreCorrupt

VERSION = b"\x01"
BODY = 5
"""Where the JSON begins."""


def encode(item: dict[str, Any], size: int) -> bytes:
    """A normalised item and its size as the bytes to keep."""
    return VERSION + size.to_bytes(4, "big") + orjson.dumps(item)


def size_of(value: bytes) -> int:
    """The item's size in bytes, as the service counts it."""
    return int.from_bytes(value[1:BODY], "big")


def mark(name: str) -> bytes:
    """What the bytes of every item contain that has an attribute of this name; others may, too."""
    return orjson.dumps(name) + b":"


def decode(value: bytes) -> dict[str, Any]:
    """The item. Raises StoreCorrupt when the bytes are not an item's."""
    if value[:1] != VERSION:
        raise StoreCorrupt("an item in the store has an unknown version; run `dyno check` on the data folder")
    try:
        item: dict[str, Any] = orjson.loads(value[BODY:])
    except orjson.JSONDecodeError as error:
        raise StoreCorrupt("an item in the store is damaged; run `dyno check` on the data folder") from error
    return item
