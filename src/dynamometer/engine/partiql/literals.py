"""Literals of a statement as attribute values, and the checks of the values that come as parameters.

A literal's problems are told with the path to it, `root` being the value of one attribute. A parameter's number is read
as Java's BigDecimal would (measured): an exponent beyond 32 bits can't be converted at all.
"""

from __future__ import annotations

from typing import Any

from dynamometer.base.errors import ValidationException
from dynamometer.model import numbers, values
from dynamometer.partiql.tokens import INT_MAX, INT_MIN, place
from dynamometer.partiql.tree import (
    Bag,
    Binary,
    Call,
    Expression,
    Is,
    Junction,
    ListOf,
    Literal,
    Name,
    Other,
    Parameter,
    Range,
    Tuple,
)

AttributeValue = dict[str, Any]

_LEVELS_MAX = 32
_UNCONVERTIBLE = "The parameter cannot be converted to a numeric value"
_UNDERFLOW = "Number underflow. Attempting to store a number with magnitude smaller than supported range"
_INVALID = "One or more parameter values were invalid: "
_NODE_NAMES: dict[type, str] = {
    Parameter: "Parameter",
    Name: "VariableReference",
    Junction: "NAry",
    Binary: "NAry",
    Range: "NAry",
    Is: "IsType",
}


def node_name(node: Expression) -> str:
    """What the service calls a kind of expression; only IsType and Parameter are known for sure."""
    if isinstance(node, Call):
        return node.function
    if isinstance(node, Other):
        return node.operation
    return _NODE_NAMES.get(type(node), "Literal")


def literal(node: Expression, statement: str, path: str = "root", depth: int = 1) -> AttributeValue:
    """The value of a literal, normalised. Raises ValidationException with the service's text."""
    match node:
        case Literal():
            return _scalar(node, statement, path)
        case ListOf():
            _check_depth(depth, node.members, path, "[0]")
            return {"L": [literal(each, statement, f"{path}[{n}]", depth + 1) for n, each in enumerate(node.members)]}
        case Tuple():
            return {"M": _entries(node, statement, path, depth)}
        case Bag():
            return _set(node, statement, path)
        case _:
            where = place(statement, node.start, node.end)
            raise ValidationException(f"Unsupported data type: {node_name(node)} under key {path} at {where}")


def _check_depth(depth: int, members: tuple[Any, ...], path: str, step: str) -> None:
    if depth >= _LEVELS_MAX and members:
        raise ValidationException(f"Nesting Levels have exceeded supported limits under {path}{step}")


def _scalar(node: Literal, statement: str, path: str) -> AttributeValue:
    if node.kind == "string":
        return {"S": node.text}
    if node.kind == "number":
        return {"N": _number(node.text, path)}
    if node.kind == "boolean":
        return {"BOOL": node.text == "true"}
    if node.kind == "null":
        return {"NULL": True}
    where = place(statement, node.start, node.end)
    raise ValidationException(f"Unsupported data type: MISSING under key {path} at {where}")


def _number(text: str, path: str) -> str:
    try:
        return numbers.normalize(
            text.replace("-.", "-0.") if text[0] == "-" else f"0{text}" if text[0] == "." else text
        )
    except ValidationException as error:
        raise ValidationException(f"{error.message} under {path}") from None


def key_of(node: Expression, statement: str) -> str:
    """The name of a tuple's member."""
    if isinstance(node, Literal) and node.kind == "string":
        return node.text
    where = place(statement, node.start, node.end)
    raise ValidationException(f"Tuple keys must be strings at {where}")  # assumed


def _entries(node: Tuple, statement: str, path: str, depth: int) -> dict[str, AttributeValue]:
    entries: dict[str, AttributeValue] = {}
    for key_node, member in node.members:
        key = key_of(key_node, statement)
        _check_depth(depth, node.members, path, f".{key}")
        if key in entries:
            raise duplicate_key(key, path)
        entries[key] = literal(member, statement, f"{path}.{key}", depth + 1)
    return entries


def duplicate_key(key: str, path: str) -> ValidationException:
    return ValidationException(f"Duplicate keys in tuple. Key: {key} under {path}")


def _set(node: Bag, statement: str, path: str) -> AttributeValue:
    if not node.members:
        raise ValidationException("Empty bags are not supported")
    kinds = {member.kind for member in node.members if isinstance(member, Literal)}
    if any(not isinstance(member, Literal) for member in node.members) or kinds not in ({"string"}, {"number"}):
        raise ValidationException(
            "Unsupported data type in Bag. DynamoDB only supports either numbers or strings in bags"
        )
    written = [member.text for member in node.members if isinstance(member, Literal)]
    if kinds == {"string"}:
        if len(set(written)) < len(written):
            raise ValidationException(f"{_INVALID}Input collection [{', '.join(written)}] contains duplicates.")
        return {"SS": sorted(written)}
    members = [_number(text, path) for text in written]
    if len(set(members)) < len(members):
        raise ValidationException(
            f"{_INVALID}Input collection [{', '.join(written)}] contains duplicates! under {path}"
        )
    return {"NS": sorted(members, key=numbers.compare_key)}


# --- Parameters --------------------------------------------------------------------------------------------------


def check_parameters(parameters: list[AttributeValue]) -> None:
    """Check and normalise a statement's parameters in place. Raises ValidationException."""
    for parameter in parameters:
        try:
            values.normalize_value(parameter)
        except ValidationException as error:
            if str(error.message).startswith("Number "):
                _explain_numbers(parameter)
            raise


def _explain_numbers(value: AttributeValue) -> None:
    """Raise what is said of the first number whose exponent is the problem, if there is one."""
    waiting: list[AttributeValue] = [value]
    while waiting:
        ((kind, content),) = waiting.pop().items()
        if kind == "N":
            _explain_number(content)
        elif kind == "NS":
            for member in content:
                _explain_number(member)
        elif kind == "L":
            waiting.extend(reversed(content))
        elif kind == "M":
            waiting.extend(reversed(content.values()))


def _explain_number(text: str) -> None:
    mantissa, letter, exponent = text.lower().partition("e")
    digits = exponent.lstrip("+-")
    if not letter or not digits.isdigit():
        return
    power = int(digits.lstrip("0")[:12] or "0") * (-1 if exponent[0] == "-" else 1)
    scale = len(mantissa.partition(".")[2]) - power
    if not INT_MIN < power <= INT_MAX or not INT_MIN <= scale <= INT_MAX:
        raise ValidationException(f"{_UNCONVERTIBLE}: {text}")
    if power == INT_MAX:
        # the magnitude is computed in 32 bits, which wraps
        raise ValidationException(_UNDERFLOW)
