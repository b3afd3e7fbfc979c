"""Items to storage keys: the table's own key, and the entry that each index keeps of an item.

A codec is compiled once from a key schema. The happy path raises bare KeyError, TypeError, AttributeError or
ValueError on anything unusual; the functions named `explain_…` then find the service's own words for it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dynamometer.base import limits
from dynamometer.base.errors import ValidationException
from dynamometer.engine import stored
from dynamometer.model import keys, values
from dynamometer.model.schema import IndexSchema, KeyAttribute, KeySchema

Item = dict[str, Any]

UNUSUAL = (KeyError, TypeError, AttributeError, ValueError)
"""What the happy path raises on anything that is not as it should be."""

KEY_HEAD = 15
"""Family, table, index and hash: what stands before the partition key's length in a data key."""

KEY_MISMATCH = "The provided key element does not match the schema"
_EMPTY = (
    "One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an empty "
    "{kind} value. Key: {name}"
)
PARTITION_TOO_LONG = (
    "One or more parameter values were invalid: Size of hashkey has exceeded the maximum size limit of2048 bytes"
)
SORT_TOO_LONG = (
    "One or more parameter values were invalid: Aggregated size of all range keys has exceeded the size limit of "
    "1024 bytes"
)


def compile_key(schema: KeySchema, prefix: bytes) -> Callable[[Item], bytes]:
    """The function from an item (or its key) to the item's storage key; it raises UNUSUAL."""
    partition, sort = schema.partition[0], schema.sort[0] if schema.sort else None
    partition_name, partition_type = partition.name, partition.type
    encode_partition = keys.ENCODERS[partition_type]
    digest = keys.digest
    partition_max, sort_max = limits.PARTITION_KEY_BYTES_MAX, limits.SORT_KEY_BYTES_MAX

    def partition_only(item: Item) -> bytes:
        raw = encode_partition(item[partition_name][partition_type])
        length = len(raw)
        if not 0 < length <= partition_max:
            raise ValueError
        return prefix + digest(raw) + length.to_bytes(2, "big") + raw

    if sort is None:
        return partition_only

    sort_name, sort_type = sort.name, sort.type
    encode_sort = keys.ENCODERS[sort_type]
    is_number = sort_type == "N"
    terminator = keys.TERMINATOR

    def partition_and_sort(item: Item) -> bytes:
        raw = encode_partition(item[partition_name][partition_type])
        length = len(raw)
        tail = encode_sort(item[sort_name][sort_type])
        if not is_number:
            if not 0 < len(tail) <= sort_max:
                raise ValueError
            tail = (tail.replace(b"\x00", b"\x00\xff") if 0 in tail else tail) + terminator
        if not 0 < length <= partition_max:
            raise ValueError
        return prefix + digest(raw) + length.to_bytes(2, "big") + raw + tail

    return partition_and_sort


def _type_of(value: Item) -> str:
    return next(iter(value))


def empty_key(attribute: KeyAttribute) -> ValidationException:
    """What the service says of an empty text or binary where a key's value is wanted."""
    kind = "string" if attribute.type == "S" else "binary"
    return ValidationException(_EMPTY.format(kind=kind, name=attribute.name))


def _check_key_value(attribute: KeyAttribute, value: Item, too_long: str, length_max: int) -> None:
    payload = value[attribute.type]
    if payload == "":
        raise empty_key(attribute)
    if attribute.type != "N" and len(keys.ENCODERS[attribute.type](payload)) > length_max:
        raise ValidationException(too_long)


def _check_key_values(schema: KeySchema, item: Item) -> None:
    for attribute in schema.partition:
        _check_key_value(attribute, item[attribute.name], PARTITION_TOO_LONG, limits.PARTITION_KEY_BYTES_MAX)
    for attribute in schema.sort:
        _check_key_value(attribute, item[attribute.name], SORT_TOO_LONG, limits.SORT_KEY_BYTES_MAX)


def explain_empty_keys(schema: KeySchema, item: Item) -> None:
    """Raise what the service says of a key attribute of the right type without a value."""
    for attribute in schema.attributes:
        if item.get(attribute.name, {}).get(attribute.type) == "":
            _check_key_value(attribute, item[attribute.name], "", 0)


def explain_item_key(schema: KeySchema, item: Item) -> None:
    """Raise what the service says of an item whose key attributes are missing, of another type, empty or too long."""
    for attribute in schema.attributes:
        value = item.get(attribute.name)
        if value is None:
            raise ValidationException(
                f"One or more parameter values were invalid: Missing the key {attribute.name} in the item"
            )
        if attribute.type not in value:
            raise ValidationException(
                f"One or more parameter values were invalid: Type mismatch for key {attribute.name} "
                f"expected: {attribute.type} actual: {_type_of(value)}"
            )
    _check_key_values(schema, item)


def explain_lookup_key(schema: KeySchema, key: Item) -> None:
    """Raise what the service says of a Key that has other attributes, types or sizes than the schema asks for."""
    check_key_shape(schema, key)
    _check_key_values(schema, key)


def check_key_shape(schema: KeySchema, key: Item) -> None:
    """Raise unless `key` has exactly the schema's attributes, each of its type."""
    if len(key) != len(schema.attributes):
        raise ValidationException(KEY_MISMATCH)
    for attribute in schema.attributes:
        if attribute.type not in key.get(attribute.name, {}):
            raise ValidationException(KEY_MISMATCH)


class IndexKeyError(Exception):
    """An item's attribute can't be a key of an index. `kind`: type, empty, partition size or sort size."""

    def __init__(self, kind: str, index: IndexSchema, attribute: KeyAttribute, actual: str) -> None:
        super().__init__(kind)
        self.kind = kind
        self.index = index
        self.attribute = attribute
        self.actual = actual

    def on_put(self) -> ValidationException:
        """The service's words when the item came whole."""
        name = self.attribute.name
        if self.kind == "type":
            return ValidationException(
                f"One or more parameter values were invalid: Type mismatch for Index Key {name} "
                f"Expected: {self.attribute.type} Actual: {self.actual} IndexName: {self.index.name}"
            )
        if self.kind == "empty":
            kind = "string" if self.attribute.type == "S" else "binary"
            return ValidationException(
                "One or more parameter values are not valid. A value specified for a secondary index key is not "
                f"supported. The AttributeValue for a key attribute cannot contain an empty {kind} value. "
                f"IndexName: {self.index.name}, IndexKey: {name}"
            )
        return ValidationException(PARTITION_TOO_LONG if self.kind == "partition size" else SORT_TOO_LONG)

    def on_update(self) -> ValidationException:
        """The service's words when an update expression made the value."""
        if self.kind == "type":
            return ValidationException(
                "The update expression attempted to update the secondary index key to unsupported type"
            )
        if self.kind == "empty":
            kind = "string" if self.attribute.type == "S" else "binary"
            return ValidationException(
                "One or more parameter values are not valid. The update expression attempted to update a secondary "
                "index key to a value that is not supported. The AttributeValue for a key attribute cannot contain an "
                f"empty {kind} value."
            )
        return ValidationException(
            "The update expression attempted to update the secondary index key beyond allowed size limits"
        )


class Entry:
    """What an index keeps of an item."""

    __slots__ = ("content", "key", "size", "value")

    def __init__(self, key: bytes, value: bytes, size: int, content: Item) -> None:
        self.key = key
        self.value = value
        self.size = size
        self.content = content


class IndexCodec:
    """From an item to its entry in one index."""

    __slots__ = ("_marks", "_names", "_projected", "_schema", "_simple", "prefix")

    def __init__(self, schema: IndexSchema, prefix: bytes) -> None:
        self._schema = schema
        self._projected = schema.projected
        self.prefix = prefix
        key = schema.key
        self._names = key.names
        self._marks = [stored.mark(name) for name in key.names]
        self._simple = compile_key(key, b"") if len(key.partition) == 1 and len(key.sort) <= 1 else None

    def may_hold(self, value: bytes) -> bool:
        """False where an item, as it is at rest, surely lacks a key attribute."""
        for mark in self._marks:  # noqa: SIM110 (this is called for every write, and a generator costs as much again)
            if mark not in value:
                return False
        return True

    def position(self, item: Item) -> bytes | None:
        """Where the index keeps the item, without prefix and base key; None if it does not (a sparse index).

        Raises IndexKeyError when a key attribute is there but can't be a key.
        """
        names = self._names
        missing = 0
        for name in names:
            if name not in item:
                missing += 1
        if missing == len(names):
            return None
        if not missing and self._simple is not None:
            try:
                return self._simple(item)
            except UNUSUAL:
                pass
        return self._position(item)

    def _position(self, item: Item) -> bytes | None:
        """The same for keys of several attributes, and for what is missing or can't be a key."""
        key = self._schema.key
        payloads = []
        for attribute in key.partition + key.sort:
            value = item.get(attribute.name)
            if value is None:
                # an attribute of the wrong type is refused even where another one is missing
                continue
            payload = value.get(attribute.type)
            if payload is None:
                raise IndexKeyError("type", self._schema, attribute, _type_of(value))
            if payload == "":
                raise IndexKeyError("empty", self._schema, attribute, attribute.type)
            payloads.append(payload)
        if len(payloads) < len(key.partition) + len(key.sort):
            return None
        return self._encode(payloads)

    def _encode(self, payloads: list[Any]) -> bytes:
        key = self._schema.key
        count = len(key.partition)
        raws = [
            keys.ENCODERS[attribute.type](payload)
            for attribute, payload in zip(key.partition, payloads[:count], strict=True)
        ]
        if sum(map(len, raws)) > limits.PARTITION_KEY_BYTES_MAX:
            raise IndexKeyError("partition size", self._schema, key.partition[0], "")
        position = keys.partition_bytes(raws)
        if not key.sort:
            return position
        try:
            return position + keys.sort_key_bytes([each.type for each in key.sort], payloads[count:])
        except keys.SortKeyTooLong:
            raise IndexKeyError("sort size", self._schema, key.sort[0], "") from None

    def entry(self, item: Item, base_key: bytes, value: bytes, size: int) -> Entry | None:
        """The entry of an item that the table keeps as `value`; None if the index leaves it out.

        `base_key` is the item's own storage key; what follows its hash makes the entry's key unique.
        """
        position = self.position(item)
        if position is None:
            return None
        key = self.prefix + position + base_key[KEY_HEAD:]
        if self._projected is None:
            return Entry(key, value, size, item)
        projected = self._projected
        content = {name: value for name, value in item.items() if name in projected}
        content_size = values.item_size(content)
        return Entry(key, stored.encode(content, content_size), content_size, content)
