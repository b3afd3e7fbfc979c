"""A statement without its table: lowered, checked, compiled, and kept for the next request with the same text.

What depends on the types of parameters is rules that every request's parameters are held against.
"""

from __future__ import annotations

from typing import Any

from dynamometer.base.errors import ResourceNotFoundException, ValidationException
from dynamometer.engine.catalog import Index, Table, World
from dynamometer.engine.partiql.changes import lower_changes
from dynamometer.engine.partiql.conditions import Lowering, in_words
from dynamometer.engine.partiql.literals import duplicate_key, key_of, node_name
from dynamometer.engine.requests import table_named
from dynamometer.engine.selection import NOT_SCANNED
from dynamometer.expressions import CompiledCondition, CompiledProjection, CompiledUpdate, get_path
from dynamometer.expressions.tree import And, Condition, Path, Projection
from dynamometer.partiql import parser
from dynamometer.partiql.tokens import place
from dynamometer.partiql.tree import (
    Call,
    Delete,
    Expression,
    Insert,
    Name,
    Order,
    Select,
    Source,
    Statement,
    Tuple,
    Update,
)

AttributeValue = dict[str, Any]

_PREPARED_MAX = 1024
_PREPARED_TEXT_MAX = 2**18
"""Statements, and characters of their texts, that are kept prepared: each character costs some dozens of bytes."""

_prepared: dict[str, Prepared] = {}
_prepared_text = 0

PARAMETER_COUNT = "Number of parameters in request and statement don't match."
MULTI_ATTRIBUTE = (
    "PartiQL statements cannot be executed on tables with multi-attribute HASH keys or multi-attribute RANGE keys."
)


class Columns:
    """A SELECT's columns. A path is named from its last attribute on: `a.b[0]` gives `b[0]` (measured)."""

    def __init__(self, paths: list[Path]) -> None:
        self.attributes = list(dict.fromkeys(str(path.elements[0]) for path in paths))
        self._columns = [(_column_name(path), path.elements) for path in paths]
        names = [name for name, _ in self._columns]
        for number, name in enumerate(names):
            if name in names[:number]:
                raise ValidationException(f"Duplicate identifiers in select clause: {name}")  # assumed
        self._flat = CompiledProjection(Projection(tuple(paths))) if all(len(p.elements) == 1 for p in paths) else None

    def project(self, item: dict[str, AttributeValue]) -> dict[str, AttributeValue]:
        if self._flat is not None:
            return self._flat.project(item)
        found = {}
        for name, elements in self._columns:
            value = get_path(item, elements)
            if value is not None:
                found[name] = value
        return found


def _column_name(path: Path) -> str:
    last = max(number for number, element in enumerate(path.elements) if isinstance(element, str))
    indexes = "".join(f"[{element}]" for element in path.elements[last + 1 :])
    return f"{path.elements[last]}{indexes}"


class Target:
    """The table a statement is about, which may not exist, and the index it names."""

    __slots__ = ("index", "index_name", "table", "table_name")

    def __init__(self, world: World, statement: Statement, text: str) -> None:
        source = statement.source
        _check_source(statement, source, text)
        self.table_name = source.parts[0]
        self.index_name = source.parts[1] if len(source.parts) > 1 else None
        self.table: Table | None = None
        self.index: Index | None = None
        try:
            self.table = table_named(world, self.table_name)
        except ResourceNotFoundException:
            return
        if self.index_name is not None:
            self.index = self.table.indexes.get(self.index_name)
            if self.index is not None and self.index.status == "DELETING":
                self.index = None
        if self.index is not None and self.index.schema.vector is not None:
            raise ValidationException(NOT_SCANNED)
        key = self.index.schema.key if self.index is not None else self.table.key
        if len(key.partition) > 1 or len(key.sort) > 1:
            raise ValidationException(MULTI_ATTRIBUTE)

    def require(self) -> Table:
        """The table. Raises ResourceNotFoundException."""
        if self.table is None:
            raise ResourceNotFoundException("Requested resource not found")
        return self.table


def _check_source(statement: Statement, source: Source, text: str) -> None:
    if source.aliased:
        raise ValidationException("Aliasing is not supported")
    if not source.parts:
        raise ValidationException(f"Unexpected path component at {place(text, source.start, source.end)}")  # assumed
    if "" in source.parts:
        raise ValidationException("Path component cannot be an empty string")
    if isinstance(statement, Insert) and len(source.parts) > 1:
        raise ValidationException(
            "FROM clause may only contain a single table name in data manipulation statements at "
            + place(text, source.start, source.end)
        )
    if len(source.parts) > 2:
        raise ValidationException("A path may contain at most 2 components in the FROM clause")
    if not isinstance(statement, Select) and len(source.parts) > 1:
        raise ValidationException("This operation is not supported on an index")


class Parsed:
    """A statement's text and node. `exists`: it is the SELECT of an EXISTS."""

    __slots__ = ("exists", "node", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        node = parser.parse(text)
        self.exists = False
        if isinstance(node, Call) and node.function == "exists" and len(node.arguments) == 1:
            inner = node.arguments[0]
            if isinstance(inner, Select):
                self.exists = True
                node = inner
        if not isinstance(node, Select | Insert | Update | Delete):
            raise ValidationException(f"Unsupported operation: {_operation(node)}")
        self.node: Statement = node

    @property
    def is_read(self) -> bool:
        return isinstance(self.node, Select) and not self.exists


def _operation(node: Expression) -> str:
    name = node_name(node)
    return name[:1].upper() + name[1:]


class Prepared:
    """A lowered statement."""

    __slots__ = (
        "_lowering",
        "_parameters",
        "_residuals",
        "columns",
        "condition",
        "conjuncts",
        "item",
        "order",
        "returning",
        "rules",
        "update",
    )

    def __init__(self, text: str, node: Statement, parameters: list[AttributeValue]) -> None:
        lowering = Lowering(text, parameters)
        self._lowering = lowering
        self._residuals: dict[tuple[Condition, ...], CompiledCondition | None] = {}
        self.rules: list[Any] = []
        self.columns: Columns | None = None
        self.condition: CompiledCondition | None = None
        self.conjuncts: tuple[Condition, ...] = ()
        self.update: CompiledUpdate | None = None
        self.item: list[tuple[str, str]] = []
        self.order: tuple[Order, ...] = ()
        self.returning: str | None = None
        match node:
            case Select():
                self._select(node)
            case Insert():
                self._insert(node)
            case Update():
                self._changes(node)
            case Delete():
                self._where(node.where, parameters)
                self.returning = node.returning
                _check_delete_returning(node.returning)
        if isinstance(node, Select):
            self._where(node.where, parameters)
        self.check(self.values(parameters))

    def values(self, parameters: list[AttributeValue]) -> dict[str, AttributeValue]:
        return self._lowering.values_with(parameters)

    def check(self, values: dict[str, AttributeValue]) -> None:
        """Raise the problem of the first rule that the values break."""
        for rule in self.rules:
            problem = rule.problem(values)
            if problem is not None:
                raise ValidationException(in_words(problem))

    def residual(self, conjuncts: tuple[Condition, ...]) -> CompiledCondition | None:
        """The condition that some of the WHERE's conjuncts make together."""
        if not conjuncts:
            return None
        compiled = self._residuals.get(conjuncts)
        if compiled is None:
            compiled = CompiledCondition(conjuncts[0] if len(conjuncts) == 1 else And(conjuncts))
            self._residuals[conjuncts] = compiled
        return compiled

    def _where(self, where: Expression | None, parameters: list[AttributeValue]) -> None:
        if where is None:
            return
        tree = self._lowering.condition(where)
        self.rules += self._lowering.check(tree, self.values(parameters))
        self.condition = CompiledCondition(tree)
        self.conjuncts = conjuncts_of(tree)

    def _select(self, node: Select) -> None:
        if node.refused is not None:
            raise self._lowering.error(f"Unsupported clause: {node.refused.name}", node.refused)
        self.order = node.order
        if node.columns is None:
            return
        paths = []
        for column in node.columns:
            if not isinstance(column, Name):
                raise self._lowering.error("Unexpected path component", column)
            paths.append(self._lowering.path(column))
        self.columns = Columns(paths)

    def _insert(self, node: Insert) -> None:
        if node.returning is not None:
            raise ValidationException("RETURNING is not supported in INSERT")  # assumed
        value = node.value
        if not isinstance(value, Tuple):
            raise self._lowering.error(f"Unsupported data type: {node_name(value)} under key root", value)  # assumed
        seen: set[str] = set()
        for key_node, member in value.members:
            name = key_of(key_node, self._lowering.statement)
            if name in seen:
                raise duplicate_key(name, "root")
            seen.add(name)
            self.item.append((name, self._lowering.value(member).key))

    def _changes(self, node: Update) -> None:
        update, rules = lower_changes(self._lowering, node.changes)
        self.rules += rules
        self.check(self.values(self._lowering.parameters))
        self.update = CompiledUpdate(update)
        self.returning = node.returning
        self._where(node.where, self._lowering.parameters)


def _check_delete_returning(returning: str | None) -> None:
    if returning is not None and returning != "ALL OLD *":
        raise ValidationException(
            f"Invalid returning clause: RETURNING {returning}. Only RETURNING ALL OLD * is allowed in DELETE "
            "statements."
        )


def conjuncts_of(tree: Condition) -> tuple[Condition, ...]:
    """What a condition joins by AND, in written order."""
    if not isinstance(tree, And):
        return (tree,)
    found: list[Condition] = []
    for part in tree.conditions:
        found += conjuncts_of(part)
    return tuple(found)


def prepare(parsed: Parsed, parameters: list[AttributeValue]) -> tuple[Prepared, dict[str, AttributeValue]]:
    """The lowered statement and its values. Raises ValidationException."""
    global _prepared_text
    text = parsed.text
    if text.count("?") > len(parameters) and count_parameters(text) > len(parameters):
        raise ValidationException(PARAMETER_COUNT)
    prepared = _prepared.get(text)
    if prepared is None:
        prepared = Prepared(text, parsed.node, parameters)
        if len(_prepared) >= _PREPARED_MAX or _prepared_text > _PREPARED_TEXT_MAX:
            _prepared.clear()
            _prepared_text = 0
        _prepared[text] = prepared
        _prepared_text += len(text)
        return prepared, prepared.values(parameters)
    values = prepared.values(parameters)
    if parameters:
        prepared.check(values)
    return prepared, values


def count_parameters(text: str) -> int:
    """How many `?` a statement has that stand for values."""
    return sum(token.kind == "?" for token in parser.tokens_of(text))
