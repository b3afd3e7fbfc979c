"""Attribute values as the model holds them: pairs (type, Python value), equal exactly when the service says so."""

from __future__ import annotations

import base64
from decimal import Context, Decimal
from typing import Any

Value = tuple[str, Any]
Item = dict[str, Value]

EXACT = Context(prec=400, Emin=-1000, Emax=1000)


def number_text(number: Decimal) -> str:
    """A number as the service prints it: plain, without exponent, without needless zeros."""
    return "0" if number == 0 else format(number.normalize(EXACT), "f")


def read(wire: dict[str, Any]) -> Value:
    """From the JSON form."""
    ((kind, raw),) = wire.items()
    match kind:
        case "S" | "BOOL":
            return kind, raw
        case "NULL":
            return kind, None
        case "N":
            return kind, Decimal(raw)
        case "B":
            return kind, base64.b64decode(raw)
        case "SS":
            return kind, frozenset(raw)
        case "NS":
            return kind, frozenset(map(Decimal, raw))
        case "BS":
            return kind, frozenset(map(base64.b64decode, raw))
        case "L":
            return kind, [read(element) for element in raw]
        case "M":
            return kind, read_item(raw)
    raise AssertionError(f"no such type: {kind}")


def read_item(wire: dict[str, Any]) -> Item:
    return {name: read(value) for name, value in wire.items()}


def write(value: Value) -> dict[str, Any]:
    """To the JSON form. Numbers keep the spelling they came with, so that the service has something to normalise."""
    kind, raw = value
    match kind:
        case "S" | "BOOL":
            return {kind: raw}
        case "NULL":
            return {kind: True}
        case "N":
            return {kind: str(raw)}
        case "B":
            return {kind: base64.b64encode(raw).decode()}
        case "SS":
            return {kind: sorted(raw)}
        case "NS":
            return {kind: [str(number) for number in raw]}
        case "BS":
            return {kind: [base64.b64encode(member).decode() for member in raw]}
        case "L":
            return {kind: [write(element) for element in raw]}
        case "M":
            return {kind: write_item(raw)}
    raise AssertionError(f"no such type: {kind}")


def write_item(item: Item) -> dict[str, Any]:
    return {name: write(value) for name, value in item.items()}


def number_size(number: Decimal) -> int:
    """Developer guide, item sizes: a byte for two digits each side of the point, one more, and one for a minus sign."""
    whole, _, fraction = number_text(number.copy_abs()).partition(".")
    whole = whole.strip("0") if not fraction else whole.lstrip("0")
    fraction = fraction.rstrip("0") if whole else fraction.strip("0")
    return 1 + (len(whole) + 1) // 2 + (len(fraction) + 1) // 2 + (number < 0)


def size(value: Value) -> int:
    """Bytes of a value, without its name."""
    kind, raw = value
    match kind:
        case "S":
            return len(raw.encode())
        case "N":
            return number_size(raw)
        case "B":
            return len(raw)
        case "BOOL" | "NULL":
            return 1
        case "SS" | "NS" | "BS":
            return sum(size((kind[0], member)) for member in raw)
        case "L":
            return 3 + sum(1 + size(element) for element in raw)
    return 3 + sum(1 + len(name.encode()) + size(element) for name, element in raw.items())


def item_size(item: Item) -> int:
    return sum(len(name.encode()) + size(value) for name, value in item.items())


def order(value: Value) -> Any:
    """What values of one key type are sorted by: strings by their UTF-8 bytes, binary unsigned, numbers by value."""
    kind, raw = value
    return raw.encode() if kind == "S" else raw


def assert_canonical(wire: dict[str, Any]) -> None:
    """The numbers of an answer are printed plainly, and no set repeats a member."""
    for value in wire.values():
        ((kind, raw),) = value.items()
        if kind == "N":
            assert raw == number_text(Decimal(raw)), raw
        elif kind in ("SS", "NS", "BS"):
            assert len(set(raw)) == len(raw) > 0, raw
        elif kind == "L":
            assert_canonical({str(place): element for place, element in enumerate(raw)})
        elif kind == "M":
            assert_canonical(raw)
