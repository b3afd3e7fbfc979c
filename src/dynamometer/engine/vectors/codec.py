"""What a write may put under a vector attribute, and the entry that a vector index keeps of an item.

An entry holds what the index projects, and the vector as 32-bit floats, packed into one binary value: that is what the
service bills, name and four bytes a dimension, and what a search compares. An item without the vector, or without the
partition attribute of the search schema, is written but has no entry.

A wrong vector, and an attribute of the search schema of a wrong type, is refused when it is written. One that was
there before the index is left out of the index and does not keep its item from other updates. Messages: measured.
"""

from __future__ import annotations

import sys
from array import array
from binascii import a2b_base64, b2a_base64
from decimal import Decimal
from math import isfinite
from typing import Any

from dynamometer.base import limits
from dynamometer.base.errors import ValidationException
from dynamometer.engine import stored
from dynamometer.engine.codec import KEY_HEAD, Entry, IndexKeyError, Item
from dynamometer.model import keys, numbers, values
from dynamometer.model.schema import IndexSchema, KeyAttribute

INLINE_FILTER_BYTES_MAX = 10 * 1024
RANGE = "[-3.4028235E38, 3.4028235E38]"
"""What 32 bits hold, as the service prints it."""
WHOLE_INDEX = keys.partition_bytes([b""])
"""Where an index keeps its entries whose search schema has no partition attribute."""
_NOTHING: Item = {}
_INVALID = "One or more parameter values were invalid. "


class VectorError(IndexKeyError):
    """An item's attribute can't be what a vector index makes of it; `attribute` may be the vector itself."""

    def __init__(self, index: IndexSchema, attribute: KeyAttribute, message: str) -> None:
        super().__init__("vector", index, attribute, "")
        self.message = message

    def on_put(self) -> ValidationException:
        return ValidationException(self.message)

    def on_update(self) -> ValidationException:
        return ValidationException(self.message)


class VectorCodec:
    """From an item to its entry in one vector index."""

    __slots__ = ("_dimensions", "_filters", "_mark", "_name", "_partition", "_projected", "_schema", "prefix")

    def __init__(self, schema: IndexSchema, prefix: bytes) -> None:
        assert schema.vector is not None
        self._schema = schema
        self._name = schema.vector.attribute
        self._mark = stored.mark(schema.vector.attribute)
        self._dimensions = schema.vector.dimensions
        self._partition = schema.key.partition[0] if schema.key.partition else None
        self._filters = schema.vector.filters
        self._projected = schema.projected
        self.prefix = prefix

    def may_hold(self, value: bytes) -> bool:
        """False where an item, as it is at rest, surely has no vector."""
        return self._mark in value

    def entry(self, item: Item, base_key: bytes, value: bytes, size: int) -> Entry | None:
        """The entry of an item; None if the index leaves it out. Raises IndexKeyError."""
        vector = item.get(self._name)
        packed = None if vector is None else self.pack(vector)
        position = self.position(item)
        for attribute in self._filters:
            found = item.get(attribute.name)
            if found is not None:
                self._check_type(attribute, found)
                self._check_filter_size(attribute, found)
        if packed is None or position is None:
            return None
        projected = self._projected
        content = {name: each for name, each in item.items() if projected is None or name in projected}
        content[self._name] = {"B": b2a_base64(packed, newline=False).decode()}
        content_size = values.item_size(content)
        key = self.prefix + position + base_key[KEY_HEAD:]
        return Entry(key, stored.encode(content, content_size), content_size, content)

    def position(self, item: Item) -> bytes | None:
        """The part of the index that the item is in; None if it is in none. Raises IndexKeyError."""
        attribute = self._partition
        if attribute is None:
            return WHOLE_INDEX
        value = item.get(attribute.name)
        if value is None:
            return None
        self._check_type(attribute, value)
        payload = value[attribute.type]
        if payload == "":
            raise IndexKeyError("empty", self._schema, attribute, attribute.type)
        raw = keys.ENCODERS[attribute.type](payload)
        if len(raw) > limits.PARTITION_KEY_BYTES_MAX:
            raise VectorError(
                self._schema,
                attribute,
                "One or more parameter values were invalid: Aggregate size for HASH key attributes exceeds the maximum "
                f"of {limits.PARTITION_KEY_BYTES_MAX} bytes",
            )
        return keys.partition_bytes([raw])

    def _check_type(self, attribute: KeyAttribute, value: Item) -> None:
        if attribute.type not in value:
            raise VectorError(
                self._schema,
                attribute,
                f"{_INVALID}Attribute '{attribute.name}' type mismatch. Expected: {attribute.type}, "
                f"Actual: {next(iter(value))}. IndexName: {self._schema.name}",
            )

    def _check_filter_size(self, attribute: KeyAttribute, value: Item) -> None:
        if values.value_size(value) > INLINE_FILTER_BYTES_MAX:
            raise VectorError(
                self._schema,
                attribute,
                f"One or more parameter values were invalid: Size limit exceeded for SearchSchema attribute "
                f"'{attribute.name}': maximum {INLINE_FILTER_BYTES_MAX} bytes",
            )

    def pack(self, vector: Item) -> bytes:
        """A vector's value as 32-bit floats. Raises VectorError for anything else."""
        elements = vector.get("L")
        if elements is None:
            raise self._refused(
                f"Invalid type for parameter {self._name}, Expected: 32-bit floating point number list "
                f"IndexName: {self._schema.name}"
            )
        if len(elements) != self._dimensions:
            raise self._refused(
                f"Invalid size for parameter {self._name}, Expected: {self._dimensions}, "
                f"Actual: {len(elements)} IndexName: {self._schema.name}"
            )
        try:
            packed = array("f", [float(element["N"]) for element in elements])
        except KeyError:
            raise self._wrong_element(elements) from None
        if not isfinite(sum(packed)):
            raise self._out_of_range(elements)
        return to_bytes(packed)

    def _wrong_element(self, elements: list[Any]) -> VectorError:
        place, element = next((place, each) for place, each in enumerate(elements) if "N" not in each)
        return self._refused(
            f"Invalid type for parameter {self._name}[{place}], Expected: 32-bit floating point number, "
            f"Actual: {next(iter(element))}. IndexName: {self._schema.name}"
        )

    def _out_of_range(self, elements: list[Any]) -> VectorError:
        texts = [element["N"] for element in elements]
        place = next(place for place, text in enumerate(texts) if not isfinite(array("f", [float(text)])[0]))
        return self._refused(
            f"Invalid value for parameter {self._name}[{place}], Value: {Decimal(texts[place]).normalize()} is "
            f"outside valid range {RANGE}. IndexName: {self._schema.name}"
        )

    def _refused(self, text: str) -> VectorError:
        return VectorError(self._schema, KeyAttribute(self._name, "L"), _INVALID + text)


def to_bytes(floats: array[float]) -> bytes:
    """Floats as they are kept: little-endian."""
    if sys.byteorder == "big":
        floats = array("f", floats)
        floats.byteswap()
    return floats.tobytes()


def from_bytes(raw: bytes) -> array[float]:
    """The floats of an entry."""
    floats = array("f", raw)
    if sys.byteorder == "big":
        floats.byteswap()
    return floats


def packed_in(content: Item, attribute: str) -> bytes:
    """The vector in an entry's content."""
    return a2b_base64(content[attribute]["B"])


def as_list(raw: bytes) -> Item:
    """A packed vector as the list of numbers that the service gives back: the shortest that are the same floats."""
    return {"L": [{"N": _shortest(number)} for number in from_bytes(raw)]}


def _shortest(number: float) -> str:
    for digits in (6, 7, 8, 9):
        text = f"{number:.{digits}g}"
        if array("f", [float(text)])[0] == number:
            break
    return numbers.normalize(text)


def billed_size(item: Item, size: int, dimensions: dict[str, int]) -> int:
    """What an item of `size` bytes is billed at in a write to its table: each vector that an index reads counts four
    bytes a dimension, whatever numbers it holds (measured)."""
    vectors = [name for name, count in dimensions.items() if len(item.get(name, _NOTHING).get("L", ())) == count]
    if not vectors:
        return size
    # not the size less that of the lists: measuring those takes longer than all the rest
    others = {name: value for name, value in item.items() if name not in vectors}
    return values.item_size(others) + sum(len(name.encode()) + 4 * dimensions[name] for name in vectors)
