"""Which items a WHERE names, and which ranges of a key it reads.

A SELECT whose every alternative has an equality on the partition key is taken apart into reads, each one range of one
item collection; IN and OR over key attributes give several. They may not overlap, except where a sort key condition is
negated: then the collection is read once and the WHERE sorts out the rest. All else is a scan. (Rules and texts
measured on the service.)
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from dynamometer.base.errors import ValidationException
from dynamometer.engine import reading
from dynamometer.engine.keyspace import successor
from dynamometer.engine.partiql.conditions import mirrored, paths_of
from dynamometer.expressions.tree import And, Between, Call, Compare, Condition, In, Not, Or, Path, Value
from dynamometer.model import keys
from dynamometer.model.schema import KeyAttribute, KeySchema

AttributeValue = dict[str, Any]
Values = dict[str, AttributeValue]

READS_MAX = 50
TOO_MANY_READS = "Too many decomposed read operations for a given query."
OVERLAP = "Overlapping conditions with range keys are not supported in where clause"
NO_KEY = "Where clause does not contain a mandatory equality on all key attributes"


def _attribute(operand: Any) -> str | None:
    """The top-level attribute that an operand is."""
    if isinstance(operand, Path) and len(operand.elements) == 1:
        return str(operand.elements[0])
    return None


def equality(tree: Condition) -> tuple[str, str] | None:
    """Attribute and value key of `attribute = value`."""
    if isinstance(tree, Compare) and tree.operator == "=":
        tree = mirrored(tree)
        name = _attribute(tree.left)
        if name is not None and isinstance(tree.right, Value):
            return name, tree.right.key
    return None


def _single(tree: Condition) -> tuple[str, str] | None:
    """The same, or `attribute IN [value]`."""
    if isinstance(tree, In) and len(tree.choices) == 1:
        name, choice = _attribute(tree.operand), tree.choices[0]
        if name is not None and isinstance(choice, Value):
            return name, choice.key
    return equality(tree)


# --- One item ----------------------------------------------------------------------------------------------------


def one_item(
    conjuncts: tuple[Condition, ...], schema: KeySchema, values: Values
) -> tuple[dict[str, AttributeValue], tuple[Condition, ...], str | None]:
    """The key that equalities name, the other conjuncts, and the key attribute that is given two values."""
    names = schema.names
    key: dict[str, AttributeValue] = {}
    rest: list[Condition] = []
    contradicted: str | None = None
    for conjunct in conjuncts:
        found = equality(conjunct)
        if found is None or found[0] not in names:
            rest.append(conjunct)
            continue
        name, value_key = found
        value = values[value_key]
        if name not in key:
            key[name] = value
        elif key[name] != value:
            rest.append(conjunct)
            contradicted = contradicted or name
    return key, tuple(rest), contradicted


def key_only(conjuncts: tuple[Condition, ...], schema: KeySchema, values: Values) -> dict[str, AttributeValue] | None:
    """The key of a WHERE that gives one value to each key attribute and says nothing else; None for any other."""
    key: dict[str, AttributeValue] = {}
    for conjunct in conjuncts:
        found = _single(conjunct)
        if found is None or found[0] not in schema.names:
            return None
        name, value = found[0], values[found[1]]
        if key.setdefault(name, value) != value:
            return None
    return key if len(key) == len(schema.attributes) else None


# --- Ranges ------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Branch:
    """One alternative of a WHERE."""

    partition: list[AttributeValue] = field(default_factory=list)
    sort: list[tuple[str, list[AttributeValue]]] = field(default_factory=list)
    filters: list[Condition] = field(default_factory=list)
    negated: bool = False
    """It has a negated condition on the sort key."""


@dataclass(slots=True)
class Read:
    """One range of one item collection."""

    partition: bytes
    start: bytes
    end: bytes
    negated: bool
    filters: list[Condition]
    whole_key: bool


@dataclass(slots=True)
class KeyPlan:
    """The reads of a keyed SELECT, by partition key and sort key; `exact` if they need no filter.

    `filters`: those of every alternative, of those too that can't hold anything.
    """

    reads: list[Read]
    partitions: int
    exact: bool
    filters: list[list[Condition]]


def is_keyed(tree: Condition, partition: str) -> bool:
    """Whether every alternative has an equality on the partition key."""
    if isinstance(tree, And):
        return any(is_keyed(part, partition) for part in tree.conditions)
    if isinstance(tree, Or):
        return bool(tree.conditions) and all(is_keyed(part, partition) for part in tree.conditions)
    if isinstance(tree, In):
        return _attribute(tree.operand) == partition and all(isinstance(choice, Value) for choice in tree.choices)
    found = equality(tree)
    return found is not None and found[0] == partition


class Planner:
    """Takes a WHERE apart for one key."""

    def __init__(self, schema: KeySchema, prefix: bytes, values: Values, is_table: bool) -> None:
        self._partition = schema.partition[0]
        self._sort = schema.sort[0] if schema.sort else None
        self._names = schema.names
        self._prefix = prefix
        self._values = values
        self._is_table = is_table

    def plan(self, tree: Condition) -> KeyPlan | None:
        """The reads, or None for a scan. Raises ValidationException."""
        if not is_keyed(tree, self._partition.name):
            return None
        alternatives = self._alternatives(tree)
        branches = [self._branch(conjuncts) for conjuncts in alternatives]
        reads = [read for branch in branches if (read := self._read(branch)) is not None]
        reads.sort(key=_place)
        partitions = len({read.partition for read in reads})
        exact = all(not read.filters and not read.negated for read in reads) and len(reads) == len(branches)
        branches.sort(key=self._raw)
        merged = self._without_overlap(reads)
        return KeyPlan(merged, partitions, exact and len(merged) == len(reads), [branch.filters for branch in branches])

    def _raw(self, branch: Branch) -> bytes:
        key_type = self._partition.type
        return keys.ENCODERS[key_type](branch.partition[0][key_type])

    def _alternatives(self, tree: Condition) -> list[list[Condition]]:
        """The WHERE as alternatives, each a list of conjuncts; ORs that name no key attribute stay together."""
        if isinstance(tree, And):
            product: list[list[Condition]] = [[]]
            for part in tree.conditions:
                further = self._alternatives(part)
                if len(product) * len(further) > READS_MAX:
                    raise ValidationException(TOO_MANY_READS)
                product = [before + behind for before in product for behind in further]
            return product
        if isinstance(tree, Or) and self._names_key(tree):
            found = [each for part in tree.conditions for each in self._alternatives(part)]
            if len(found) > READS_MAX:
                raise ValidationException(TOO_MANY_READS)
            return found
        if isinstance(tree, In) and _attribute(tree.operand) in self._names:
            if len(tree.choices) > READS_MAX:
                raise ValidationException(TOO_MANY_READS)
            return [[Compare("=", tree.operand, choice)] for choice in tree.choices]
        return [[tree]]

    def _names_key(self, tree: Or) -> bool:
        """Whether an OR has a condition on a key attribute that is not negated."""
        for part in tree.conditions:
            if isinstance(part, Or) and self._names_key(part):
                return True
            if isinstance(part, And) and any(
                self._key_clause(each) or (isinstance(each, Or) and self._names_key(each)) for each in part.conditions
            ):
                return True
            if self._key_clause(part):
                return True
        return False

    def _key_clause(self, tree: Condition) -> bool:
        if isinstance(tree, In):
            return _attribute(tree.operand) in self._names
        return self._range_clause(tree) is not None

    def _range_clause(self, tree: Condition) -> tuple[str, str, list[AttributeValue]] | None:
        """(attribute, operator, values) of a condition on a key attribute that a range can hold."""
        operator = ""
        operands: tuple[Any, ...] = ()
        name: str | None = None
        if isinstance(tree, Compare) and tree.operator != "<>":
            tree = mirrored(tree)
            name, operator, operands = _attribute(tree.left), tree.operator, (tree.right,)
        elif isinstance(tree, Between):
            name, operator, operands = _attribute(tree.operand), "BETWEEN", (tree.low, tree.high)
        elif isinstance(tree, Call) and tree.function == "begins_with":
            name, operator, operands = _attribute(tree.arguments[0]), "begins_with", (tree.arguments[1],)
        if name not in self._names or name is None or not all(isinstance(each, Value) for each in operands):
            return None
        return name, operator, [self._values[each.key] for each in operands if isinstance(each, Value)]

    def _branch(self, conjuncts: list[Condition]) -> Branch:
        branch = Branch()
        for conjunct in conjuncts:
            clause = self._range_clause(conjunct)
            if clause is None:
                branch.negated = branch.negated or self._negates_sort(conjunct)
                branch.filters.append(conjunct)
                continue
            name, operator, operands = clause
            if name == self._partition.name:
                if operator == "=":
                    self._check_type(self._partition, operands)
                    branch.partition.append(operands[0])
                else:
                    branch.filters.append(conjunct)
            elif self._sort is not None:
                self._check_type(self._sort, operands)
                branch.sort.append((operator, operands))
        return branch

    def _negates_sort(self, tree: Condition) -> bool:
        """`<>` on the sort key, or NOT of a condition on it."""
        if self._sort is None:
            return False
        if isinstance(tree, Not) or (isinstance(tree, Compare) and tree.operator == "<>"):
            return any(path.elements == (self._sort.name,) for path in paths_of(tree))
        return False

    def _check_type(self, attribute: KeyAttribute, operands: list[AttributeValue]) -> None:
        if any(attribute.type not in operand for operand in operands):
            raise ValidationException(
                f"Key attribute's data type should match its data type in table's schema: Key {attribute.name}"
            )

    def _read(self, branch: Branch) -> Read | None:
        """The range of one branch; None if it can't hold anything."""
        value = branch.partition[0]
        if any(other != value for other in branch.partition):
            return None
        key_type = self._partition.type
        prefix = reading.collection_prefix(self._prefix, [key_type], [value[key_type]])
        start, end = prefix, successor(prefix)
        whole_key = self._is_table and self._sort is None
        for operator, operands in branch.sort:
            assert self._sort is not None
            payloads = [operand[self._sort.type] for operand in operands]
            try:
                low, high = reading.sort_bounds(prefix, operator, self._sort.type, payloads)
            except keys.KeyTooLong:
                raise ValidationException(
                    "One or more parameter values were invalid: Aggregated size of all range keys has exceeded the "
                    "size limit of 1024 bytes"
                ) from None
            start, end = max(start, low), min(end, high)
            whole_key = whole_key or (self._is_table and operator == "=")
        if start >= end:
            return None
        return Read(self._raw(branch), start, end, branch.negated, branch.filters, whole_key)

    def _without_overlap(self, reads: list[Read]) -> list[Read]:
        """The reads of each collection, refused where they overlap, or made one where a condition is negated."""
        merged: list[Read] = []
        for read in reads:
            last = merged[-1] if merged else None
            if last is None or last.partition != read.partition or read.start >= last.end:
                merged.append(read)
            elif last.negated or read.negated:
                last.end = max(last.end, read.end)
                last.negated, last.whole_key = True, False
            else:
                raise ValidationException(OVERLAP)
        return merged


def _place(read: Read) -> tuple[bytes, bytes]:
    return read.partition, read.start


def unprojected_filters(alternatives: list[list[Condition]], projected: frozenset[str]) -> list[str]:
    """The attributes that the last alternative filters by and the index lacks; none if one has no such filter."""
    names: list[str] = []
    for filters in alternatives:
        names = [
            name
            for name in dict.fromkeys(str(path.elements[0]) for condition in filters for path in paths_of(condition))
            if name not in projected
        ]
        if not names:
            return []
    return sorted(names, key=_bucket)


def _bucket(name: str) -> int:
    """Where a small Java HashSet keeps a string: the order in which the service prints such names (measured)."""
    code = 0
    units = name.encode("utf-16-be")
    for high, low in zip(units[::2], units[1::2], strict=True):
        code = (31 * code + (high << 8 | low)) & 0xFFFFFFFF
    return (code ^ code >> 16) & 15
