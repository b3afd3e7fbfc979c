"""Conditions as functions: a tree is compiled once to closures over (item, values), which answer per item.

Items and values are normalised, so equality is Python's own. A missing attribute makes every comparison false, except
`<>`, which it makes true; so does an operand of a type that the operator doesn't order (developer guide, "Comparison
operator and function reference"; measured on the service).

Trees are checked before (`check`): at most 300 operators and calls, so neither compiling nor answering goes deep.
"""

from __future__ import annotations

from binascii import a2b_base64
from collections.abc import Callable, Mapping
from operator import ge, gt, le, lt
from typing import Any, TypeAlias

from dynamometer.expressions.tree import (
    And,
    Between,
    Call,
    Compare,
    Condition,
    Elements,
    In,
    Not,
    Operand,
    Or,
    Path,
    Value,
)
from dynamometer.model.numbers import compare_key

AttributeValue: TypeAlias = dict[str, Any]
Item: TypeAlias = Mapping[str, AttributeValue]
Values: TypeAlias = Mapping[str, AttributeValue]
Test: TypeAlias = Callable[[Item, Values], bool]
Getter: TypeAlias = Callable[[Item, Values], AttributeValue | None]

_ORDERS = {"<": lt, "<=": le, ">": gt, ">=": ge}


def _text(content: str) -> str:
    return content


_SORT_KEYS: dict[str, Callable[[str], Any]] = {"S": _text, "N": compare_key, "B": a2b_base64}
"""What the contents of ordered types are compared by. Code points order strings as their UTF-8 bytes would."""


def compile_condition(tree: Condition) -> Test:
    """A function that tells if an item ({} for none) meets the condition."""
    return _compilers[type(tree)](tree)


def compares_greater(first: AttributeValue, second: AttributeValue) -> bool:
    """Is `first` greater, of two values of one type? Never, if the type has no order."""
    ((kind, content),) = first.items()
    key = _SORT_KEYS.get(kind)
    return key is not None and bool(key(content) > key(second[kind]))


# --- Operands ----------------------------------------------------------------------------------------------------


def get_path(item: Item, elements: Elements) -> AttributeValue | None:
    """What stands at a path of an item, if anything does."""
    value = item.get(elements[0])  # type: ignore[arg-type]
    for element in elements[1:]:
        if value is None:
            return None
        if type(element) is int:
            members = value.get("L")
            value = members[element] if members is not None and element < len(members) else None
        else:
            members = value.get("M")
            value = members.get(element) if members is not None else None
    return value


def compile_path(path: Path) -> Getter:
    """A function that gives what stands at the path, or None."""
    elements = path.elements
    if len(elements) == 1:
        name = str(elements[0])
        return lambda item, values: item.get(name)
    return lambda item, values: get_path(item, elements)


def compile_value(value: Value) -> Getter:
    """A function that gives the request's value."""
    key = value.key
    return lambda item, values: values[key]


def _operand(operand: Operand) -> Getter:
    if type(operand) is Path:
        return compile_path(operand)
    if type(operand) is Value:
        return compile_value(operand)
    assert type(operand) is Call and operand.function == "size", "check lets no other call be an operand"
    return _size_getter(_operand(operand.arguments[0]))


def _size_getter(operand: Getter) -> Getter:
    def get(item: Item, values: Values) -> AttributeValue | None:
        value = operand(item, values)
        if value is None:
            return None
        ((kind, content),) = value.items()
        size = _SIZES.get(kind)
        return None if size is None else {"N": str(size(content))}

    return get


def _string_size(text: str) -> int:
    # UTF-16 code units, not characters and not bytes: measured on the service.
    return len(text) if text.isascii() else len(text.encode("utf-16-le")) // 2


def _binary_size(text: str) -> int:
    return len(a2b_base64(text))


_SIZES: dict[str, Callable[[Any], int]] = {
    "S": _string_size,
    "B": _binary_size,
    "SS": len,
    "NS": len,
    "BS": len,
    "L": len,
    "M": len,
}


# --- Clauses -----------------------------------------------------------------------------------------------------


def _compare(tree: Compare) -> Test:
    if tree.operator == "=":
        if type(tree.left) is Path and len(tree.left.elements) == 1 and type(tree.right) is Value:
            return _equals_value(str(tree.left.elements[0]), tree.right.key)
        return _equal(_operand(tree.left), _operand(tree.right))
    if tree.operator == "<>":
        equal = _equal(_operand(tree.left), _operand(tree.right))
        return lambda item, values: not equal(item, values)
    return _ordered(_operand(tree.left), _operand(tree.right), _ORDERS[tree.operator])


def _equals_value(name: str, key: str) -> Test:
    """The commonest clause: an attribute and a value. No value is None, so a missing attribute needs no look."""
    return lambda item, values: item.get(name) == values[key]


def _equal(left: Getter, right: Getter) -> Test:
    def test(item: Item, values: Values) -> bool:
        value = left(item, values)
        return value is not None and value == right(item, values)

    return test


def _ordered(left: Getter, right: Getter, order: Callable[[Any, Any], bool]) -> Test:
    def test(item: Item, values: Values) -> bool:
        first = left(item, values)
        second = right(item, values)
        return first is not None and second is not None and in_order(first, second, order)

    return test


def in_order(first: AttributeValue, second: AttributeValue, order: Callable[[Any, Any], bool]) -> bool:
    """Do two values of one ordered type stand in this order?"""
    ((kind, content),) = first.items()
    other = second.get(kind)
    if other is None:
        return False
    key = _SORT_KEYS.get(kind)
    return key is not None and order(key(content), key(other))


def _between(tree: Between) -> Test:
    operand, low, high = _operand(tree.operand), _operand(tree.low), _operand(tree.high)

    def test(item: Item, values: Values) -> bool:
        value = operand(item, values)
        if value is None:
            return False
        lower, upper = low(item, values), high(item, values)
        return lower is not None and upper is not None and in_order(lower, value, le) and in_order(value, upper, le)

    return test


def _in(tree: In) -> Test:
    operand = _operand(tree.operand)
    choices = [_operand(choice) for choice in tree.choices]

    def test(item: Item, values: Values) -> bool:
        value = operand(item, values)
        if value is None:
            return False
        for choice in choices:  # noqa: SIM110 (a generator costs as much as three comparisons)
            if choice(item, values) == value:
                return True
        return False

    return test


def _call(tree: Call) -> Test:
    return _functions[tree.function](*[_operand(argument) for argument in tree.arguments])


def _attribute_exists(operand: Getter) -> Test:
    return lambda item, values: operand(item, values) is not None


def _attribute_not_exists(operand: Getter) -> Test:
    return lambda item, values: operand(item, values) is None


def _attribute_type(operand: Getter, kind: Getter) -> Test:
    def test(item: Item, values: Values) -> bool:
        value = operand(item, values)
        wanted = kind(item, values)
        return value is not None and wanted is not None and wanted["S"] in value

    return test


def _begins_with(operand: Getter, prefix: Getter) -> Test:
    def test(item: Item, values: Values) -> bool:
        value = operand(item, values)
        start = prefix(item, values)
        if value is None or start is None:
            return False
        if "S" in value:
            text = start.get("S")
            return text is not None and bool(value["S"].startswith(text))
        if "B" in value and "B" in start:
            return a2b_base64(value["B"]).startswith(a2b_base64(start["B"]))
        return False

    return test


_MEMBER_TYPES = {"SS": "S", "NS": "N", "BS": "B"}


def _contains(operand: Getter, member: Getter) -> Test:
    def test(item: Item, values: Values) -> bool:
        value = operand(item, values)
        wanted = member(item, values)
        if value is None or wanted is None:
            return False
        ((kind, content),) = value.items()
        if kind == "L":
            return wanted in content
        if kind in _MEMBER_TYPES:
            return wanted.get(_MEMBER_TYPES[kind]) in content
        if kind == "S" and "S" in wanted:
            return wanted["S"] in content
        if kind == "B" and "B" in wanted:
            return a2b_base64(wanted["B"]) in a2b_base64(content)
        return False

    return test


_functions: dict[str, Callable[..., Test]] = {
    "attribute_exists": _attribute_exists,
    "attribute_not_exists": _attribute_not_exists,
    "attribute_type": _attribute_type,
    "begins_with": _begins_with,
    "contains": _contains,
}


# --- Connectives -------------------------------------------------------------------------------------------------


def _not(tree: Not) -> Test:
    condition = compile_condition(tree.condition)
    return lambda item, values: not condition(item, values)


def _and(tree: And) -> Test:
    if len(tree.conditions) == 2:
        first, second = compile_condition(tree.conditions[0]), compile_condition(tree.conditions[1])
        return lambda item, values: first(item, values) and second(item, values)
    conditions = [compile_condition(condition) for condition in tree.conditions]

    def test(item: Item, values: Values) -> bool:
        for condition in conditions:  # noqa: SIM110
            if not condition(item, values):
                return False
        return True

    return test


def _or(tree: Or) -> Test:
    if len(tree.conditions) == 2:
        first, second = compile_condition(tree.conditions[0]), compile_condition(tree.conditions[1])
        return lambda item, values: first(item, values) or second(item, values)
    conditions = [compile_condition(condition) for condition in tree.conditions]

    def test(item: Item, values: Values) -> bool:
        for condition in conditions:  # noqa: SIM110
            if condition(item, values):
                return True
        return False

    return test


_compilers: dict[type, Callable[[Any], Test]] = {
    Compare: _compare,
    Between: _between,
    In: _in,
    Call: _call,
    Not: _not,
    And: _and,
    Or: _or,
}
