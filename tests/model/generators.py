"""What the state machine draws: tables, items, conditions, updates. Few names and few values, so that they meet."""

from __future__ import annotations

import random
from decimal import Decimal
from typing import Any

from hypothesis import strategies as st

from tests.model.reference import conditions as c
from tests.model.reference import updates as u
from tests.model.reference.paths import Path
from tests.model.reference.tables import Index, Position, Table, position
from tests.model.reference.values import Item, Value

TEXTS = ["a", "b", "ab", "abc", "é", "\uffff", "\U0001f600", "Z"]
NUMBERS = ["0", "1", "-1", "2", "10", "0.5", "-0.5", "100", "1e2", "12345678901234567890123456789012345678", "1E-130"]
BYTES = [b"a", b"\x00", b"\x00\x00", b"\x00\xff", b"\xff", b"ab"]
EXTREMES = ["9.9999999999999999999999999999999999999E+125", "-9.9999999999999999999999999999999999999E+125"]

KEY_VALUES: dict[str, list[Value]] = {
    "S": [("S", text) for text in TEXTS],
    "N": [("N", Decimal(text)) for text in NUMBERS + EXTREMES],
    "B": [("B", raw) for raw in BYTES],
}
EMPTY_KEYS: dict[str, Value] = {"S": ("S", ""), "B": ("B", b"")}

texts = st.sampled_from(["", *TEXTS]).map(lambda text: ("S", text))
numbers = st.sampled_from(NUMBERS).map(lambda text: ("N", Decimal(text)))
binaries = st.sampled_from([b"", *BYTES]).map(lambda raw: ("B", raw))
scalars = st.one_of(texts, numbers, binaries, st.booleans().map(lambda flag: ("BOOL", flag)), st.just(("NULL", None)))
number_sets = st.frozensets(numbers.map(lambda value: value[1]), min_size=1, max_size=3).map(lambda raw: ("NS", raw))
text_sets = st.frozensets(st.sampled_from(TEXTS), min_size=1, max_size=3).map(lambda raw: ("SS", raw))
byte_sets = st.frozensets(st.sampled_from(BYTES), min_size=1, max_size=3).map(lambda raw: ("BS", raw))
sets = st.one_of(text_sets, number_sets, byte_sets)
lists = st.lists(scalars, max_size=3).map(lambda raw: ("L", raw))
maps = st.dictionaries(st.sampled_from(["k", "j"]), scalars, max_size=2).map(lambda raw: ("M", raw))
nested = st.dictionaries(st.sampled_from(["k", "j"]), st.one_of(lists, maps), max_size=2).map(lambda raw: ("M", raw))
bulky = st.sampled_from([1000, 3000, 5000]).map(lambda length: ("S", "x" * length))

ATTRIBUTES: dict[str, st.SearchStrategy[Value]] = {
    "n": numbers,
    "t": texts,
    "s": sets,
    "l": lists,
    "m": st.one_of(maps, nested),
    "x": st.one_of(scalars, sets, lists, maps),
    "size": bulky,
}
INDEX_ATTRIBUTES = {"gs": "S", "gn": "N", "gb": "B"}


@st.composite
def tables(draw: Any, name: str) -> Table:
    """A table with or without a sort key, and up to three indexes."""
    key = (("pk", draw(st.sampled_from("SNB"))),)
    if draw(st.integers(0, 3)):
        key += (("sk", draw(st.sampled_from("SNB"))),)
    found = []
    for number in range(draw(st.integers(0, 3))):
        is_global = len(key) == 1 or draw(st.booleans())
        names = draw(st.permutations(list(INDEX_ATTRIBUTES)))
        count = draw(st.integers(1, 2)) if is_global else 1
        chosen = tuple((name, INDEX_ATTRIBUTES[name]) for name in names[:count])
        if is_global and draw(st.integers(0, 3)) == 0:
            chosen = tuple(reversed(key))
        projection = draw(st.sampled_from(["ALL", "KEYS_ONLY", "INCLUDE"]))
        included = tuple(draw(st.sampled_from([("n",), ("x", "m"), ("t", "s")]))) if projection == "INCLUDE" else ()
        found.append(
            Index(f"index{number}", is_global, chosen if is_global else key[:1] + chosen, projection, included)
        )
    return Table(name, key, tuple(found))


POOLS: dict[str, list[Value]] = {
    "n": [("N", Decimal(text)) for text in NUMBERS],
    "t": [("S", text) for text in TEXTS],
    "s": [("SS", frozenset({"a", "b"})), ("NS", frozenset({Decimal(1), Decimal("0.5")})), ("BS", frozenset({b"a"}))],
    "l": [("L", [("S", "a"), ("N", Decimal(2))]), ("L", [])],
    "m": [("M", {"k": ("N", Decimal(1)), "j": ("S", "b")}), ("M", {"k": ("L", [("B", b"a")])})],
    "x": [("S", "a"), ("N", Decimal(1)), ("BOOL", True), ("NULL", None), ("L", [("S", "a")]), ("SS", frozenset({"a"}))],
    "size": [("S", "x" * length) for length in (500, 1000, 3000, 5000)],
}
"""Values to fill tables with, of the same kinds as those that are drawn one by one."""
PARTITIONS = 3
HUGE_BYTES = 200_000
HUGE_ITEMS_MAX = 8


def fill(table: Table, count: int, seed: int, huge: bool) -> list[Item]:
    """Items to begin with: a few partitions with many sort keys, most of them in the indexes, or some huge ones."""
    chance = random.Random(seed)
    found: dict[Position, Item] = {}
    for _ in range(min(count, HUGE_ITEMS_MAX) if huge else count):
        item = {
            name: chance.choice(KEY_VALUES[kind][: PARTITIONS if place == 0 and len(table.key) > 1 else None])
            for place, (name, kind) in enumerate(table.key)
        }
        place = position(item)
        for name, pool in POOLS.items():
            if chance.random() < 0.5:
                item[name] = chance.choice(pool)
        for name, kind in INDEX_ATTRIBUTES.items():
            if chance.random() < 0.8:
                item[name] = chance.choice(KEY_VALUES[kind][:PARTITIONS])
        if huge:
            item["huge"] = ("S", "y" * HUGE_BYTES)
        found[place] = item
    return list(found.values())


@st.composite
def keys(draw: Any, table: Table) -> Item:
    """The key of a stored item, or another one; rarely one that the service refuses."""
    if table.items and draw(st.integers(0, 2)):
        places = sorted(table.items, key=repr)
        return dict(draw(st.sampled_from(places)))  # type: ignore[arg-type]
    key = {name: draw(st.sampled_from(KEY_VALUES[kind])) for name, kind in table.key}
    return _spoiled(draw, table, key)


def _spoiled(draw: Any, table: Table, key: Item) -> Item:
    fault = draw(st.integers(0, 40))
    name, kind = table.key[-1]
    if fault == 1:
        del key[name]
    elif fault == 2:
        key[name] = ("BOOL", True)
    elif fault == 3 and kind in EMPTY_KEYS:
        key[name] = EMPTY_KEYS[kind]
    elif fault == 4:
        key["x"] = ("S", "a")
    return key


@st.composite
def items(draw: Any, table: Table) -> Item:
    """An item to put. Key mistakes come with the key."""
    item = draw(keys(table))
    for name in draw(st.lists(st.sampled_from(list(ATTRIBUTES)), max_size=4, unique=True)):
        item[name] = draw(ATTRIBUTES[name])
    for name, kind in INDEX_ATTRIBUTES.items():
        if draw(st.integers(0, 2)):
            item[name] = draw(index_values(kind))
    if draw(st.integers(0, 60)) == 1:
        item["huge"] = ("S", "y" * draw(st.sampled_from([200_000, 390_000, 409_600])))
    return item


@st.composite
def index_values(draw: Any, kind: str) -> Value:
    """A value for an index key attribute: mostly of its type."""
    fault = draw(st.integers(0, 60))
    if fault == 1:
        return "BOOL", True
    if fault == 2:
        return EMPTY_KEYS.get(kind, ("NULL", None))
    value: Value = draw(st.sampled_from(KEY_VALUES[kind]))
    return value


LEAF_PATHS: list[Path] = [
    *[("n",), ("t",), ("s",), ("l",), ("m",), ("x",), ("gs",), ("m", "k"), ("m", "j"), ("l", 0), ("l", 1)],
    ("m", "k", 0),
]
leaf_paths: st.SearchStrategy[Path] = st.sampled_from(LEAF_PATHS)


def projections_of(paths: list[Path]) -> st.SearchStrategy[list[Path]]:
    """Some of these paths, none inside another."""
    chosen = st.lists(st.sampled_from(paths), min_size=1, max_size=4, unique=True)
    return chosen.map(_disjoint)


def _disjoint(paths: list[Path]) -> list[Path]:
    found: list[Path] = []
    for path in paths:
        if not any(path[: len(other)] == other or other[: len(path)] == path for other in found):
            found.append(path)
    return found


projections = projections_of(LEAF_PATHS)
orderable = st.one_of(texts, numbers, binaries)
literals = st.one_of(scalars, sets, lists, maps)


@st.composite
def betweens(draw: Any, path: c.At | c.Size) -> c.Condition:
    kind = draw(st.sampled_from("SNB"))
    low, high = sorted((draw(st.sampled_from(KEY_VALUES[kind])) for _ in range(2)), key=c.order)
    return c.Between(path, c.Literal(low), c.Literal(high))


CONDITION_KINDS = ["=", "<>", "<", ">=", "between", "in", "exists", "type", "begins", "contains", "size"]


@st.composite
def simple_conditions(draw: Any, paths: st.SearchStrategy[Path]) -> c.Condition:
    """A condition on one path."""
    path = draw(paths)
    at = c.At(path)
    match draw(
        st.sampled_from(["=", "<>", "<", ">=", "between", "in", "exists", "type", "begins", "contains", "size"])
    ):
        case "=" | "<>" as sign:
            return c.Compare(sign, at, c.Literal(draw(literals)))
        case "<" | ">=" as sign:
            literal, turned = c.Literal(draw(orderable)), draw(st.booleans())
            return c.Compare(sign, literal, at) if turned else c.Compare(sign, at, literal)
        case "between":
            return draw(betweens(at))  # type: ignore[no-any-return]
        case "in":
            return c.In(at, tuple(c.Literal(value) for value in draw(st.lists(scalars, min_size=1, max_size=3))))
        case "exists":
            return c.Exists(path, draw(st.booleans()))
        case "type":
            return c.HasType(path, draw(st.sampled_from(["S", "N", "B", "SS", "NS", "BS", "L", "M", "BOOL", "NULL"])))
        case "begins":
            return c.BeginsWith(path, c.Literal(draw(st.one_of(texts, binaries))))
        case "contains":
            return c.Contains(path, c.Literal(draw(orderable)))
    return c.Compare(draw(st.sampled_from(["=", "<", ">"])), c.Size(path), c.Literal(draw(numbers)))


@st.composite
def conditions(draw: Any, paths: st.SearchStrategy[Path] = leaf_paths, depth: int = 2) -> c.Condition:
    """A condition of up to four parts."""
    shape = draw(st.integers(0, 5)) if depth else 0
    if shape < 3:
        return draw(simple_conditions(paths))  # type: ignore[no-any-return]
    if shape == 3:
        return c.Not(draw(conditions(paths, depth - 1)))
    return c.Join("AND" if shape == 4 else "OR", draw(conditions(paths, depth - 1)), draw(conditions(paths, depth - 1)))


def write_conditions(table: Table) -> st.SearchStrategy[c.Condition | None]:
    """Conditions of writes: often none, often whether the item is there."""
    there = st.booleans().map(lambda wanted: c.Exists((table.key[0][0],), wanted))
    return st.one_of(st.none(), st.none(), there, conditions())


operands = st.one_of(numbers.map(c.Literal), st.sampled_from([c.At(("n",)), c.At(("m", "k")), c.At(("x",))]))
list_operands = st.one_of(lists.map(c.Literal), st.sampled_from([c.At(("l",)), c.At(("x",))]))
SET_TARGETS: list[Path] = [("n",), ("t",), ("x",), ("l", 0), ("l", 7), ("m", "k"), ("m", "j"), ("m", "k", 0), ("new",)]


@st.composite
def sources(draw: Any) -> u.Source:
    """The right side of a SET."""
    match draw(st.sampled_from(["literal", "literal", "path", "sum", "default", "append"])):
        case "literal":
            return c.Literal(draw(literals))
        case "path":
            return c.At(draw(leaf_paths))
        case "sum":
            return u.Sum(draw(operands), draw(st.sampled_from("+-")), draw(operands))
        case "default":
            return u.IfNotExists(draw(leaf_paths), c.Literal(draw(scalars)))
    return u.ListAppend(draw(list_operands), draw(list_operands))


@st.composite
def actions(draw: Any) -> list[u.Action]:
    """The actions of one update: their targets never overlap, since no two start with the same name."""
    chosen: dict[str | int, u.Action] = {}
    for _ in range(draw(st.integers(0, 3))):
        action = draw(single_actions())
        chosen.setdefault(action.path[0], action)
    if draw(st.integers(0, 7)) == 0:
        kind, places = draw(st.sampled_from([u.Remove, u.Set])), draw(st.permutations([0, 1, 2, 9]))[:2]
        chosen.pop("l", None)
        several = [
            u.Remove(("l", n)) if kind is u.Remove else u.Set(("l", n), c.Literal(draw(scalars))) for n in places
        ]
        return [*chosen.values(), *several]
    return list(chosen.values())


@st.composite
def single_actions(draw: Any) -> u.Action:
    match draw(st.sampled_from(["set", "set", "index", "remove", "add", "add_set", "delete"])):
        case "set":
            return u.Set(draw(st.sampled_from(SET_TARGETS)), draw(sources()))
        case "index":
            name = draw(st.sampled_from(list(INDEX_ATTRIBUTES)))
            return u.Set((name,), c.Literal(draw(index_values(INDEX_ATTRIBUTES[name]))))
        case "remove":
            return u.Remove(draw(leaf_paths))
        case "add":
            return u.Add(draw(st.sampled_from([("n",), ("x",), ("m", "k")])), c.Literal(draw(numbers)))
        case "add_set":
            return u.Add(draw(st.sampled_from([("s",), ("x",)])), c.Literal(draw(sets)))
    return u.Delete(draw(st.sampled_from([("s",), ("x",)])), c.Literal(draw(sets)))
