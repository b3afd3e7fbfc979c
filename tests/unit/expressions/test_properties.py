"""Properties, drawn: any text gets an answer; conditions, updates and projections agree with slow and obvious twins."""

from __future__ import annotations

import copy
from decimal import Decimal
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from dynamometer.base.errors import ValidationException
from dynamometer.expressions import bind, get_path
from dynamometer.expressions.check import check_paths
from dynamometer.expressions.parser import parse_condition
from dynamometer.expressions.tree import And, Between, Call, Compare, Condition, In, Not, Operand, Or, Path, Value, show
from dynamometer.model.values import normalize_value

from .helpers import GET, PUT, UPDATE

PIECES = st.sampled_from(
    [
        *("a", "b", "c.d", "#n", ":v", ":w", "0", "7", "#", ":", "!", "_", "é", "\x00"),
        *("(", ")", "[", "]", ",", ".", "=", "<>", "<", "<=", ">", ">=", "+", "-"),
        *("and", "OR", "not", "BETWEEN", "in", "SET", "remove", "ADD", "delete"),
        *("size(", "contains(", "attribute_exists(", "list_append(", "if_not_exists(", "f("),
    ]
)
TEXTS = st.one_of(st.lists(PIECES, max_size=14).map(" ".join), st.text(max_size=20))


@given(st.sampled_from([*UPDATE, *GET, "FilterExpression"]), TEXTS)
def test_any_text_is_taken_or_refused(kind: str, text: str) -> None:
    body = {
        kind: text,
        "ExpressionAttributeNames": {"#n": "n"},
        "ExpressionAttributeValues": {":v": {"N": "1"}, ":w": {"S": "x"}},
    }
    try:
        bind(body, (kind,))
    except ValidationException as error:
        assert error.message


# --- Conditions against a twin -----------------------------------------------------------------------------------

small_numbers = st.integers(-2, 12).map(lambda number: {"N": str(number)})
small_texts = st.sampled_from(["", "a", "ab", "b", "é", "𝄞"]).map(lambda text: {"S": text})
scalars = st.one_of(small_numbers, small_texts, st.booleans().map(lambda flag: {"BOOL": flag}))
values: st.SearchStrategy[dict[str, Any]] = st.recursive(
    st.one_of(scalars, st.sets(st.sampled_from("abc"), min_size=1).map(lambda members: {"SS": sorted(members)})),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(lambda elements: {"L": elements}),
        st.dictionaries(st.sampled_from("xyz"), inner, max_size=3).map(lambda entries: {"M": entries}),
    ),
    max_leaves=6,
)
items = st.dictionaries(st.sampled_from("abcd"), values, max_size=4)

paths = st.builds(
    lambda name, rest: Path((name, *rest)),
    st.sampled_from("abcd"),
    st.lists(st.one_of(st.sampled_from("xyz"), st.integers(0, 2)), max_size=2),
)
value_keys = st.sampled_from([":0", ":1", ":2"]).map(Value)
operands: st.SearchStrategy[Operand] = st.one_of(paths, value_keys, paths.map(lambda path: Call("size", (path,))))
clauses: st.SearchStrategy[Condition] = st.one_of(
    st.builds(Compare, st.sampled_from(["=", "<>", "<", "<=", ">", ">="]), operands, operands),
    st.builds(Between, operands, paths, operands),
    st.builds(In, operands, st.lists(operands, min_size=1, max_size=3).map(tuple)),
    paths.map(lambda path: Call("attribute_exists", (path,))),
    st.builds(lambda one, two: Call("contains", (one, two)), paths, value_keys),
    st.builds(lambda one, two: Call("begins_with", (one, two)), paths, paths),
)
conditions: st.SearchStrategy[Condition] = st.recursive(
    clauses,
    lambda inner: st.one_of(
        inner.map(Not),
        st.lists(inner, min_size=2, max_size=3).map(lambda parts: And(tuple(parts))),
        st.lists(inner, min_size=2, max_size=3).map(lambda parts: Or(tuple(parts))),
    ),
    max_leaves=6,
)


def written(node: Any) -> str:
    """A tree as text, every part of AND, OR and NOT in parentheses of its own."""
    if isinstance(node, Path):
        return str(node.elements[0]) + "".join(f"[{e}]" if isinstance(e, int) else f".{e}" for e in node.elements[1:])
    if isinstance(node, Value):
        return node.key
    if isinstance(node, Call):
        return f"{node.function}({', '.join(map(written, node.arguments))})"
    if isinstance(node, Compare):
        return f"{written(node.left)} {node.operator} {written(node.right)}"
    if isinstance(node, Between):
        return f"{written(node.operand)} BETWEEN {written(node.low)} AND {written(node.high)}"
    if isinstance(node, In):
        return f"{written(node.operand)} IN ({', '.join(map(written, node.choices))})"
    if isinstance(node, Not):
        return f"NOT ({written(node.condition)})"
    joint = " AND " if isinstance(node, And) else " OR "
    return joint.join(f"({written(condition)})" for condition in node.conditions)


def plain(value: dict[str, Any] | None) -> Any:
    """A value that Python compares as the service does, within one type; None for nothing."""
    if value is None:
        return None
    ((kind, content),) = value.items()
    if kind == "N":
        return kind, Decimal(content)
    if kind == "S":
        return kind, content.encode()
    return kind, repr(sorted(content)) if kind == "SS" else repr(content)


def meaning(node: Any, item: dict[str, Any], given_values: dict[str, Any]) -> Any:
    """What a node says, the slow and obvious way: an operand's value, or a condition's truth."""
    if isinstance(node, Path):
        return get_path(item, node.elements)
    if isinstance(node, Value):
        return given_values[node.key]
    if isinstance(node, Call) and node.function == "size":
        value = meaning(node.arguments[0], item, given_values)
        if value is None or "N" in value or "BOOL" in value:
            return None
        ((kind, content),) = value.items()
        return {"N": str(len(content.encode("utf-16-le")) // 2 if kind == "S" else len(content))}
    if isinstance(node, Not):
        return not meaning(node.condition, item, given_values)
    if isinstance(node, And):
        return all(meaning(condition, item, given_values) for condition in node.conditions)
    if isinstance(node, Or):
        return any(meaning(condition, item, given_values) for condition in node.conditions)
    parts = [node.operand, node.low, node.high] if isinstance(node, Between) else None
    parts = parts or ([node.left, node.right] if isinstance(node, Compare) else None)
    parts = parts or ([node.operand, *node.choices] if isinstance(node, In) else list(node.arguments))
    return clause_meaning(node, [meaning(part, item, given_values) for part in parts])


def clause_meaning(node: Any, found: list[dict[str, Any] | None]) -> bool:
    first = found[0]
    if isinstance(node, Compare):
        if node.operator in ("=", "<>"):
            return (first is not None and first == found[1]) == (node.operator == "=")
        return ordered(node.operator, first, found[1])
    if isinstance(node, Between):
        return ordered("<=", found[1], first) and ordered("<=", first, found[2])
    if isinstance(node, In):
        return first is not None and first in found[1:]
    if node.function == "attribute_exists":
        return first is not None
    second = found[1]
    if first is None or second is None:
        return False
    if "S" in first and "S" in second:
        return second["S"] in first["S"] if node.function == "contains" else first["S"].startswith(second["S"])
    if node.function == "begins_with":
        return False
    return second in first.get("L", []) or ("S" in second and second["S"] in first.get("SS", []))


def ordered(operator: str, first: dict[str, Any] | None, second: dict[str, Any] | None) -> bool:
    one, two = plain(first), plain(second)
    if one is None or two is None or one[0] != two[0] or one[0] not in ("N", "S"):
        return False
    return bool({"<": one < two, "<=": one <= two, ">": one > two, ">=": one >= two}[operator])


@given(conditions, items, st.lists(scalars, min_size=3, max_size=3))
def test_conditions_mean_what_their_trees_say(tree: Condition, item: dict[str, Any], given_values: list[Any]) -> None:
    text = written(tree)
    named = {f":{index}": value for index, value in enumerate(given_values) if f":{index}" in text}
    body: dict[str, Any] = {"ConditionExpression": text} | ({"ExpressionAttributeValues": named} if named else {})
    try:
        bound = bind(body, PUT)
    except ValidationException:
        return  # operands that are equal, or of the wrong type: other tests' matter
    assert bound.condition is not None
    assert bound.condition.test(item, bound.values) is meaning(tree, item, bound.values)


@given(conditions)
def test_written_trees_are_read_back(tree: Condition) -> None:
    read, _ = parse_condition("ConditionExpression", written(tree))
    assert written(read) == written(tree)


# --- Paths that clash --------------------------------------------------------------------------------------------


def slow_clash(first: Path, second: Path) -> str:
    for one, other in zip(first.elements, second.elements, strict=False):
        if type(one) is not type(other):
            return "conflict"
        if one != other:
            return ""
    return "overlap"


@given(st.lists(paths, min_size=2, max_size=5))
def test_the_first_pair_of_paths_that_clashes_is_named(chosen: list[Path]) -> None:
    pairs = [(one, two, slow_clash(one, two)) for i, two in enumerate(chosen) for one in chosen[:i]]
    clashes = [pair for pair in pairs if pair[2] == "overlap"] or [pair for pair in pairs if pair[2]]
    try:
        check_paths("ProjectionExpression", chosen)
    except ValidationException as error:
        first, second, clash = clashes[0]
        assert error.message is not None and f"paths {clash} with" in error.message
        assert error.message.endswith(f"path one: {show(first.elements)}, path two: {show(second.elements)}")
    else:
        assert not clashes


# --- Updates and projections against twins -----------------------------------------------------------------------


@given(items, values, paths, paths)
def test_an_update_changes_its_paths_and_nothing_else(
    item: dict[str, Any], value: dict[str, Any], target: Path, removed: Path
) -> None:
    normalize_value(value)
    text = f"SET {written(target)} = :v REMOVE {written(removed)}"
    kept, given_value = copy.deepcopy(item), copy.deepcopy(value)
    try:
        bound = bind({"UpdateExpression": text, "ExpressionAttributeValues": {":v": value}}, UPDATE)
        assert bound.update is not None
        new = bound.update.apply(item, bound.values)
    except ValidationException:
        new = item
    else:
        untouched = set("abcd") - bound.update.targets
        assert {name: new.get(name) for name in untouched} == {name: kept.get(name) for name in untouched}
        if all(type(element) is str for element in target.elements):
            assert get_path(new, target.elements) == given_value
    assert item == kept and value == given_value


@given(items, st.lists(paths, min_size=1, max_size=3, unique=True))
def test_a_projection_holds_what_is_at_its_paths(item: dict[str, Any], chosen: list[Path]) -> None:
    try:
        bound = bind({"ProjectionExpression": ", ".join(map(written, chosen))}, GET)
    except ValidationException:
        return
    assert bound.projection is not None
    projected = bound.projection.project(item)
    assert projected.keys() <= bound.projection.attributes
    for path in chosen:
        if all(type(element) is str for element in path.elements):
            assert get_path(projected, path.elements) == get_path(item, path.elements)
    assert leaves(projected) == sum(leaves_at(get_path(item, path.elements)) for path in chosen)


def leaves(entries: dict[str, Any]) -> int:
    return sum(leaves_at(value) for value in entries.values())


def leaves_at(value: dict[str, Any] | None) -> int:
    """Scalars, sets and empty containers in a value."""
    if value is None:
        return 0
    inner = value.get("L") or list((value.get("M") or {}).values())
    return sum(map(leaves_at, inner)) if inner else 1
