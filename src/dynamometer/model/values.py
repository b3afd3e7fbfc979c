"""Attribute values and items: one walk checks, normalises and measures.

A value is the wire's own JSON, `{"S": "x"}`. What came from a client is normalised in place: numbers to their
canonical text, sets sorted (strings by code point, which is UTF-8 order; numbers by value; binaries by byte).
Normalised values are equal exactly when the Python objects are.

    normalize_item, normalize_value     what a client wrote: check, change in place, measure
    item_size, value_size               what is normalised already: measure, and refuse what is nested too deep

JSON types are not checked one by one. A value of the wrong JSON type, or base64 that is not canonical, ends in a
TypeError, AttributeError, KeyError or ValueError, never in silence; the caller then asks the service model which
type is wrong. Sizes follow the developer guide ("DynamoDB item sizes and formats").
"""

from __future__ import annotations

from binascii import a2b_base64, b2a_base64
from collections.abc import Callable, Iterable
from decimal import Decimal
from typing import Any

from dynamometer.base.errors import ValidationException
from dynamometer.base.limits import NESTING_LEVELS_MAX
from dynamometer.model.numbers import measure, seen, size

AttributeValue = dict[str, Any]
Item = dict[str, AttributeValue]

CONTAINER_BYTES = 3
ELEMENT_BYTES = 1

EMPTY_VALUE = "Supplied AttributeValue is empty, must contain exactly one of the supported datatypes"
SEVERAL_TYPES = (
    "Supplied AttributeValue has more than one datatypes set, must contain exactly one of the supported datatypes"
)
EMPTY_NAME = "Empty attribute name"
NESTED_TOO_DEEP = (
    "Nesting Levels have exceeded supported limits: Attributes in the item have nested levels beyond supported limit"
)
_INVALID = "One or more parameter values were invalid: "
NULL_FALSE = _INVALID + "Null attribute value types must have the value of true"
EMPTY_STRING_SET = _INVALID + "An string set  may not be empty"
EMPTY_NUMBER_SET = _INVALID + "An number set  may not be empty"
EMPTY_BINARY_SET = _INVALID + "Binary sets should not be empty"
DUPLICATE_NUMBERS = "Input collection contains duplicates"


# --- What a client wrote -----------------------------------------------------------------------------------------


def normalize_item(item: Item) -> int:
    """Check and normalise an item in place; its size in bytes. The size limit is the caller's to check."""
    if "" in item:
        raise ValidationException(EMPTY_NAME)
    return _entries(item, 1)


def normalize_value(value: AttributeValue, depth: int = 1) -> int:
    """Check and normalise one value in place; its size in bytes, without a name."""
    try:
        (tag,) = value
    except ValueError:
        tag = _only_tag(value, depth)
    content = value[tag]
    try:
        normalizer = _normalizers[tag]
    except KeyError:
        raise ValidationException(EMPTY_VALUE) from None
    return normalizer(value, content, depth)


def _entries(entries: Item, depth: int) -> int:
    """Names and values of an item, or of a map whose values are at `depth`. Strings and known numbers go first."""
    total = 0
    for name, value in entries.items():
        total += len(name) if name.isascii() else len(name.encode())
        try:
            (tag,) = value
        except ValueError:
            tag = _only_tag(value, depth)
        content = value[tag]
        if tag == "S":
            total += len(content) if content.isascii() else len(content.encode())
        elif tag == "N":
            canonical, number_bytes = seen(content) or measure(content)
            total += number_bytes
            value["N"] = canonical
        else:
            try:
                normalizer = _normalizers[tag]
            except KeyError:
                raise ValidationException(EMPTY_VALUE) from None
            total += normalizer(value, content, depth)
    return total


def _string(_: AttributeValue, text: str, __: int) -> int:
    return len(text) if text.isascii() else len(text.encode())


def _number(value: AttributeValue, text: str, _: int) -> int:
    value["N"], number_bytes = measure(text)
    return number_bytes


def _binary(_: AttributeValue, text: str, __: int) -> int:
    return len(decode_binary(text))


def _bool(_: AttributeValue, flag: bool, __: int) -> int:
    if flag is not True and flag is not False:
        raise TypeError("BOOL is a boolean")
    return 1


def _null(_: AttributeValue, flag: bool, __: int) -> int:
    if flag is not True:
        if flag is False:
            raise ValidationException(NULL_FALSE)
        raise TypeError("NULL is a boolean")
    return 1


# A value's own level counts, so 31 maps or lists around a scalar is the most (measured on the service).


def _map(_: AttributeValue, entries: Item, depth: int) -> int:
    if depth >= NESTING_LEVELS_MAX and entries:
        raise ValidationException(NESTED_TOO_DEEP)
    return CONTAINER_BYTES + ELEMENT_BYTES * len(entries) + _entries(entries, depth + 1)


def _list(_: AttributeValue, elements: list[AttributeValue], depth: int) -> int:
    if type(elements) is not list:
        raise TypeError("L is a list")
    if depth >= NESTING_LEVELS_MAX and elements:
        raise ValidationException(NESTED_TOO_DEEP)
    depth += 1
    total = CONTAINER_BYTES + ELEMENT_BYTES * len(elements)
    for element in elements:
        total += normalize_value(element, depth)
    return total


def _string_set(_: AttributeValue, members: list[str], __: int) -> int:
    if type(members) is not list:
        raise TypeError("SS is a list")
    if not members:
        raise ValidationException(EMPTY_STRING_SET)
    total = len("".join(members).encode())
    if len(set(members)) != len(members):
        raise ValidationException(f"{_INVALID}Input collection [{', '.join(members)}] contains duplicates.")
    members.sort()
    return total


def _number_set(value: AttributeValue, members: list[str], _: int) -> int:
    if type(members) is not list:
        raise TypeError("NS is a list")
    if not members:
        raise ValidationException(EMPTY_NUMBER_SET)
    total = 0
    canonical_members = []
    for text in members:
        canonical, number_bytes = measure(text)
        total += number_bytes
        canonical_members.append(canonical)
    if len(set(canonical_members)) != len(canonical_members):
        raise ValidationException(DUPLICATE_NUMBERS)
    sort_numbers(canonical_members)
    value["NS"] = canonical_members
    return total


def _binary_set(value: AttributeValue, members: list[str], _: int) -> int:
    if type(members) is not list:
        raise TypeError("BS is a list")
    if not members:
        raise ValidationException(EMPTY_BINARY_SET)
    contents = [decode_binary(text) for text in members]
    if len(set(contents)) != len(contents):
        raise ValidationException(f"{_INVALID}Input collection [{', '.join(members)}]of type BS contains duplicates.")
    contents.sort()
    value["BS"] = [encode_binary(content) for content in contents]
    return sum(map(len, contents))


_normalizers: dict[str, Callable[[AttributeValue, Any, int], int]] = {
    "S": _string,
    "N": _number,
    "B": _binary,
    "M": _map,
    "L": _list,
    "BOOL": _bool,
    "NULL": _null,
    "SS": _string_set,
    "NS": _number_set,
    "BS": _binary_set,
}

TYPES = frozenset(_normalizers)
"""The ten types of a value."""


def _only_tag(value: AttributeValue, depth: int) -> str:
    """The one type of a value that has no member, or several: members that the service doesn't know are ignored.

    Each member is checked before their number is; a bad number in a value of two types is answered first.
    """
    if type(value) is not dict:
        raise TypeError("an attribute value is a map")
    tags = [tag for tag in value if tag in _normalizers]
    if not tags:
        raise ValidationException(EMPTY_VALUE)
    if len(tags) > 1:
        for tag in tags:
            _normalizers[tag](value, value[tag], depth)
        raise ValidationException(SEVERAL_TYPES)
    tag = tags[0]
    content = value[tag]
    value.clear()
    value[tag] = content
    return tag


def decode_binary(text: str) -> bytes:
    """The bytes of canonical base64; ValueError for any other text.

    The service refuses missing padding, foreign characters and stray last bits alike, so going back must give the text.
    """
    content = a2b_base64(text)
    if b2a_base64(content, newline=False).decode() != text:
        raise ValueError("not canonical base64")
    return content


def encode_binary(content: bytes) -> str:
    """Canonical base64."""
    return b2a_base64(content, newline=False).decode()


def sort_numbers(members: list[str]) -> None:
    """Sort canonical numbers by value, in place."""
    try:
        members.sort(key=int)
    except ValueError:
        members.sort(key=Decimal)


# --- What is normalised ------------------------------------------------------------------------------------------


def item_size(item: Item) -> int:
    """The size in bytes of a normalised item. Refuses nesting that an update has made too deep."""
    return _entries_size(item, 1)


def changed_size(size: int, before: Item, after: Item, names: Iterable[str]) -> int:
    """The size in bytes of a normalised item that has `size` before and differs in the named attributes at the most."""
    for name in names:
        old, new = before.get(name), after.get(name)
        if old is new:
            continue
        if old is not None:
            size -= value_size(old)
        if new is not None:
            size += value_size(new)
        if old is None or new is None:
            size += len(name.encode()) if old is None else -len(name.encode())
    return size


def value_size(value: AttributeValue, depth: int = 1) -> int:
    """The size in bytes of a normalised value, without a name."""
    (tag,) = value
    return _sizers[tag](value[tag], depth)


def _entries_size(entries: Item, depth: int) -> int:
    total = 0
    for name, value in entries.items():
        total += len(name) if name.isascii() else len(name.encode())
        (tag,) = value
        content = value[tag]
        if tag == "S":
            total += len(content) if content.isascii() else len(content.encode())
        else:
            total += _sizers[tag](content, depth)
    return total


def _string_size(text: str, _: int) -> int:
    return len(text) if text.isascii() else len(text.encode())


def _number_size(text: str, _: int) -> int:
    return size(text)


def _binary_size(text: str, _: int) -> int:
    return len(text) // 4 * 3 - text[-2:].count("=")


def _flag_size(_: bool, __: int) -> int:
    return 1


def _map_size(entries: Item, depth: int) -> int:
    if depth >= NESTING_LEVELS_MAX and entries:
        raise ValidationException(NESTED_TOO_DEEP)
    return CONTAINER_BYTES + ELEMENT_BYTES * len(entries) + _entries_size(entries, depth + 1)


def _list_size(elements: list[AttributeValue], depth: int) -> int:
    if depth >= NESTING_LEVELS_MAX and elements:
        raise ValidationException(NESTED_TOO_DEEP)
    depth += 1
    total = CONTAINER_BYTES + ELEMENT_BYTES * len(elements)
    for element in elements:
        total += value_size(element, depth)
    return total


def _string_set_size(members: list[str], _: int) -> int:
    return len("".join(members).encode())


def _number_set_size(members: list[str], _: int) -> int:
    return sum(map(size, members))


def _binary_set_size(members: list[str], depth: int) -> int:
    return sum(_binary_size(text, depth) for text in members)


_sizers: dict[str, Callable[[Any, int], int]] = {
    "S": _string_size,
    "N": _number_size,
    "B": _binary_size,
    "M": _map_size,
    "L": _list_size,
    "BOOL": _flag_size,
    "NULL": _flag_size,
    "SS": _string_set_size,
    "NS": _number_set_size,
    "BS": _binary_set_size,
}
