"""JSON types of a request against the service's model, and what follows from the model for its operations.

This is the slow path. A well-formed request never comes here: code that meets a wrong JSON type fails, and the
request is then checked here from its beginning. The service reads a body in the order it was written and answers the
first member of a wrong type, without naming it. An explicit null is an absent member, an unknown member is ignored,
and some types are coerced: the words for a Boolean, fractions for an integer (all measured on the service).
"""

from __future__ import annotations

from binascii import Error as Base64Error
from binascii import a2b_base64, b2a_base64
from collections.abc import Callable
from math import floor
from typing import Any

from dynamometer.base.errors import SerializationException, ValidationException
from dynamometer.model.constraints import INTEGER_BITS, constraints
from dynamometer.model.service_model import RECURSIVE, SERVICES, Shape, input_of, load, service_of

__all__ = ["check_types", "constraints", "has_output", "operations", "service_of"]

VALUE_LEVELS_MAX = 40
"""Attribute values nested deeper are left as they are: they are refused for their nesting, which ends at 32."""

OBJECT_NOT_EXPECTED = "Start of structure or map found where not expected"
PACKAGE = "com.amazonaws.dynamodb.v20120810."
PARAMETERIZED = "sun.reflect.generics.reflectiveObjects.ParameterizedTypeImpl"
CAST = (
    f"class {PARAMETERIZED} cannot be cast to class java.lang.Class "
    f"({PARAMETERIZED} and java.lang.Class are in module java.base of loader 'bootstrap')"
)
"""What the service says of a scalar where it expected a list or map inside another collection."""

BOOLEAN_WORDS = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}
JAVA_CLASSES = {
    "string": "java.lang.String",
    "boolean": "java.lang.Boolean",
    "integer": "java.lang.Integer",
    "long": "java.lang.Long",
    "double": "java.lang.Double",
    "timestamp": "java.util.Date",
    "blob": "java.nio.ByteBuffer",
}
SET_WORDS = {"StringSetAttributeValue": "string", "NumberSetAttributeValue": "number"}

Shapes = dict[str, Shape]


def operations(service: str) -> tuple[str, ...]:
    """The names of all operations of `dynamodb` or `dynamodbstreams`."""
    if service not in SERVICES:
        raise ValueError(f"no such service: {service}")
    return tuple(load(service).inputs)


def has_output(operation: str) -> bool:
    """Whether the operation's answer has a body at all."""
    return operation in load(service_of(operation)).outputs


def check_types(operation: str, body: object) -> dict[str, Any]:
    """The body with its types coerced and without nulls and unknown members; a new object.

    Raises SerializationException for the first member, in the order of the body, that has a wrong type.
    """
    if not isinstance(body, dict):
        raise SerializationException()
    shape, shapes = input_of(operation)
    checked: dict[str, Any] = _structure(body, shape, shapes, True, 0)
    return checked


def _check(value: Any, shape: Shape, shapes: Shapes, is_member: bool, level: int) -> Any:
    return CHECKS[shape.type](value, shape, shapes, is_member, level)


def _structure(value: Any, shape: Shape, shapes: Shapes, is_member: bool, level: int) -> Any:
    if isinstance(value, list):
        raise SerializationException(f"Unrecognized collection type class {PACKAGE}{shape.name}")
    if not isinstance(value, dict):
        raise SerializationException("Unexpected field type" if is_member else "Unexpected value type in payload")
    if shape.name == RECURSIVE:
        level += 1
        if level > VALUE_LEVELS_MAX:
            return value
    members = shape.members
    return {
        name: _check(member, shapes[members[name]], shapes, True, level)
        for name, member in value.items()
        if member is not None and name in members
    }


def _list(value: Any, shape: Shape, shapes: Shapes, is_member: bool, level: int) -> Any:
    if isinstance(value, dict):
        raise SerializationException(OBJECT_NOT_EXPECTED)
    if not isinstance(value, list):
        raise SerializationException("Unexpected field type" if is_member else CAST)
    element = shapes[shape.element]
    checked = [_element(member, element, shapes, level) for member in value]
    if shape.name in SET_WORDS and None in checked:
        kind = SET_WORDS[shape.name]
        raise ValidationException(
            f"One or more parameter values were invalid: An {kind} set may not have a null {kind} as a member"
        )
    return checked


def _map(value: Any, shape: Shape, shapes: Shapes, is_member: bool, level: int) -> Any:
    if isinstance(value, list):
        raise SerializationException(
            f"Unrecognized collection type java.util.Map<java.lang.String, {_java(shape.element, shapes)}>"
        )
    if not isinstance(value, dict):
        raise SerializationException("Unexpected field type" if is_member else CAST)
    element = shapes[shape.element]
    return {name: _element(member, element, shapes, level) for name, member in value.items()}


def _element(value: Any, shape: Shape, shapes: Shapes, level: int) -> Any:
    """A member of a collection. A null one stays, as an empty structure or list: what reads it refuses it."""
    if value is None:
        if shape.type == "blob":
            raise ValidationException(
                "One or more parameter values were invalid: Binary sets may not contain null or empty values"
            )
        return {} if shape.type in ("structure", "map") else [] if shape.type == "list" else None
    return _check(value, shape, shapes, False, level)


def _java(name: str, shapes: Shapes) -> str:
    """How the service names the type of a map's values."""
    shape = shapes[name]
    if shape.type == "structure":
        return PACKAGE + name
    if shape.type == "list":
        return f"java.util.List<{_java(shape.element, shapes)}>"
    if shape.type == "map":
        return f"java.util.Map<java.lang.String, {_java(shape.element, shapes)}>"
    return JAVA_CLASSES[shape.type]


def _no_collection(value: Any, shape: Shape) -> None:
    if isinstance(value, dict):
        raise SerializationException(OBJECT_NOT_EXPECTED)
    if isinstance(value, list):
        raise SerializationException(f"Unrecognized collection type class {JAVA_CLASSES[shape.type]}")


def _token(value: Any) -> str:
    if isinstance(value, bool):
        return "TRUE_VALUE" if value else "FALSE_VALUE"
    if isinstance(value, str):
        return "STRING_VALUE"
    return "NUMBER_VALUE" if isinstance(value, int) else "DECIMAL_VALUE"


def _string(value: Any, shape: Shape, shapes: Shapes, is_member: bool, level: int) -> Any:
    if isinstance(value, str):
        return value
    _no_collection(value, shape)
    raise SerializationException(f"{_token(value)} cannot be converted to String")


def _boolean(value: Any, shape: Shape, shapes: Shapes, is_member: bool, level: int) -> Any:
    if isinstance(value, bool):
        return value
    _no_collection(value, shape)
    if not isinstance(value, str):
        raise SerializationException(f"{_token(value)} cannot be converted to Boolean")
    word = BOOLEAN_WORDS.get(value.lower())
    if word is None:
        raise SerializationException("Unexpected token received from parser")
    return word


def _number(value: Any, shape: Shape, shapes: Shapes, is_member: bool, level: int) -> Any:
    _no_collection(value, shape)
    if isinstance(value, bool | str):
        class_name = JAVA_CLASSES[shape.type].rpartition(".")[2]
        raise SerializationException(f"{_token(value)} cannot be converted to {class_name}")
    if shape.type not in INTEGER_BITS:
        return value
    # as Java narrows a number: what is too large becomes the largest
    limit = 1 << INTEGER_BITS[shape.type]
    return max(-limit, min(limit - 1, floor(value)))


def _blob(value: Any, shape: Shape, shapes: Shapes, is_member: bool, level: int) -> Any:
    _no_collection(value, shape)
    if not isinstance(value, str):
        raise SerializationException("only base-64-encoded strings are convertible to bytes")
    if len(value) % 4:
        raise SerializationException(f"Base64 encoded length is expected a multiple of 4 bytes but found: {len(value)}")
    try:
        if b2a_base64(a2b_base64(value, strict_mode=True), newline=False) == value.encode():
            return value
    except (Base64Error, ValueError):
        pass
    raise SerializationException("Invalid last non-pad Base64 character dectected")


CHECKS: dict[str, Callable[[Any, Shape, Shapes, bool, int], Any]] = {
    "structure": _structure,
    "list": _list,
    "map": _map,
    "string": _string,
    "boolean": _boolean,
    "integer": _number,
    "long": _number,
    "double": _number,
    "timestamp": _number,
    "blob": _blob,
}
"""By type of the model. `is_member`: the value is a structure's member, not inside a list or map."""
