"""Answers to the Python objects that botocore makes of them, with each shape compiled once.

botocore walks the model for every answer; nearly all of an answer are attribute values, for most of which there is
nothing to do. A test compares the two on generated answers.
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Callable
from datetime import datetime
from typing import Any

import orjson
from botocore.utils import parse_timestamp

Convert = Callable[[Any], Any]

_compiled: dict[str, Convert | None] = {}
"""By shape name; None where the JSON value is already what botocore returns. Both services share shapes."""


def parser_of(output_shape: Any) -> Callable[[bytes], dict[str, Any]]:
    """How to read the body of an operation's answer."""
    if output_shape is None:
        return _empty
    members = _members(output_shape)

    def parse(body: bytes) -> dict[str, Any]:
        return _structure(orjson.loads(body), members)

    return parse


def _empty(body: bytes) -> dict[str, Any]:
    return {}


def attribute_value(value: dict[str, Any]) -> dict[str, Any]:
    """An attribute value, whose only conversion is from base64; ours are canonical and hold one member each."""
    for kind, raw in value.items():
        if kind == "B":
            return {"B": b64decode(raw)}
        if kind == "M":
            return {"M": {name: attribute_value(element) for name, element in raw.items()}}
        if kind == "L":
            return {"L": [attribute_value(element) for element in raw]}
        if kind == "BS":
            return {"BS": [b64decode(member) for member in raw]}
    return value


def item(value: dict[str, Any]) -> dict[str, Any]:
    """An item or a key."""
    return {name: attribute_value(element) for name, element in value.items()}


def _members(shape: Any) -> dict[str, Convert | None]:
    members: dict[str, Convert | None] = {}
    for name, member in shape.members.items():
        assert "name" not in member.serialization, f"{shape.name}.{name} has another name on the wire"
        members[name] = _compile(member)
    return members


def _structure(value: dict[str, Any], members: dict[str, Convert | None]) -> dict[str, Any]:
    """Known members that are not null, converted."""
    parsed = {}
    for name, raw in value.items():
        if raw is not None and name in members:
            convert = members[name]
            parsed[name] = raw if convert is None else convert(raw)
    return parsed


def _compile(shape: Any) -> Convert | None:
    name, kind = shape.name, shape.type_name
    if name == "AttributeValue":
        return attribute_value
    if kind == "map" and shape.value.name == "AttributeValue":
        return item
    if kind == "blob":
        return b64decode
    if kind == "timestamp":
        return _timestamp
    if kind not in ("structure", "list", "map"):
        return None
    if name not in _compiled:
        _compiled[name] = _compile_container(shape, kind)
    return _compiled[name]


def _timestamp(value: Any) -> datetime:
    moment: datetime = parse_timestamp(value)
    return moment


def _compile_container(shape: Any, kind: str) -> Convert | None:
    if kind == "structure":
        members = _members(shape)
        return lambda value: _structure(value, members)
    element = _compile(shape.member if kind == "list" else shape.value)
    if element is None:
        return None
    if kind == "list":
        return lambda value: [element(each) for each in value]
    return lambda value: {name: element(each) for name, each in value.items()}
