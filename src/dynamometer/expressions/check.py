"""Everything that can be wrong with an expression beside its syntax, in the order in which the service looks.

    conditions   parentheses, unknown functions, operators, misused functions, reserved words; then, clause by clause,
                 undefined names and values, operand counts, equal operands, operand types
    updates      reserved words, unknown functions, operators, repeated sections, undefined names, undefined values,
                 overlapping paths, conflicting paths, ADD and DELETE operands, functions
    projections  reserved words, undefined names, overlapping paths, conflicting paths

Most of it can be told from the text and the names. What depends on the values' types becomes rules (`Rule`) that are
checked again for every request that uses the expression. The order was measured on the service, one pair of errors at
a time, by the authors of public conformance suites.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from dynamometer.base.errors import ValidationException
from dynamometer.expressions.evaluate import compares_greater
from dynamometer.expressions.parser import Notes
from dynamometer.expressions.reserved import RESERVED_WORDS
from dynamometer.expressions.tree import (
    Add,
    And,
    Arithmetic,
    Between,
    Call,
    Clause,
    Compare,
    Condition,
    Delete,
    Not,
    Operand,
    Or,
    Path,
    Projection,
    Set,
    Update,
    Value,
    operands,
    show,
)

OPERATORS_MAX = 300

CONDITION_FUNCTIONS = {
    "attribute_exists": 1,
    "attribute_not_exists": 1,
    "attribute_type": 2,
    "begins_with": 2,
    "contains": 2,
    "size": 1,
}
UPDATE_FUNCTIONS = {"if_not_exists": 2, "list_append": 2}

TYPE_NAMES = frozenset({"B", "NULL", "SS", "BOOL", "L", "BS", "N", "NS", "S", "M"})
ORDERED_TYPES = frozenset({"S", "N", "B"})
_TEXT_TYPES = frozenset({"S", "B"})
_SIZED_TYPES = TYPE_NAMES - {"N", "BOOL", "NULL"}
_SET_TYPES = frozenset({"SS", "NS", "BS"})
_TYPE_WORDS = {
    "S": "STRING",
    "N": "NUMBER",
    "B": "BINARY",
    "NULL": "NULL",
    "BOOL": "BOOLEAN",
    "L": "LIST",
    "M": "MAP",
}

Names: TypeAlias = Mapping[str, str]
Values: TypeAlias = Mapping[str, dict[str, Any]]


@dataclass(frozen=True, slots=True)
class TypeRule:
    """A value has to be of one of some types."""

    key: str
    allowed: frozenset[str]
    operator: str
    section: bool = False

    def problem(self, values: Values) -> str | None:
        kind = type_of(values[self.key])
        if kind in self.allowed:
            return None
        return _wrong_section_type(self.operator, kind) if self.section else _wrong_type(self.operator, kind)


@dataclass(frozen=True, slots=True)
class TypeNameRule:
    """The second argument of attribute_type has to name a type."""

    key: str

    def problem(self, values: Values) -> str | None:
        value = values[self.key]
        kind = type_of(value)
        if kind != "S":
            return _wrong_type("attribute_type", kind)
        if value["S"] in TYPE_NAMES:
            return None
        valid = "{B,NULL,SS,BOOL,L,BS,N,NS,S,M}"
        return f"Invalid attribute type name found; type: {value['S']}, valid types: {valid}"


@dataclass(frozen=True, slots=True)
class BoundsRule:
    """The bounds of BETWEEN have to be of one type, and in order."""

    low: str
    high: str

    def problem(self, values: Values) -> str | None:
        low, high = values[self.low], values[self.high]
        if type_of(low) != type_of(high):
            need = "The BETWEEN operator requires same data type for lower and upper bounds"
        elif compares_greater(low, high):
            need = "The BETWEEN operator requires upper bound to be greater than or equal to lower bound"
        else:
            return None
        return f"{need}; lower bound operand: {_print(low)}, upper bound operand: {_print(high)}"


@dataclass(frozen=True, slots=True)
class Broken:
    """A rule that no values can meet."""

    text: str

    def problem(self, _: Values) -> str | None:
        return self.text


Rule: TypeAlias = TypeRule | TypeNameRule | BoundsRule | Broken


def check_condition(kind: str, tree: Condition, notes: Notes, names: Names, values: Values) -> tuple[Rule, ...]:
    """Check a condition as it was parsed; the rules that further values have to meet."""
    _check_limits(kind, notes)
    if notes.redundant:
        raise _invalid(kind, "The expression has redundant parentheses;")
    _check_functions(kind, notes, CONDITION_FUNCTIONS, UPDATE_FUNCTIONS, "a condition")
    _check_operators(kind, notes)
    clauses = list(clauses_of(tree))
    for clause in clauses:
        for problem in _misuses(clause):
            raise _invalid(kind, problem)
        if type(clause) is Call and clause.function == "size":
            raise _invalid(kind, _misused("size"))
    _check_reserved(kind, notes)
    rules: list[Rule] = []
    for clause in clauses:
        clause_rules = list(_clause_rules(clause))
        for problem in _clause_problems(clause, clause_rules, names, values):
            raise _invalid(kind, problem)
        rules += clause_rules
    return tuple(rules)


def check_update(kind: str, tree: Update, notes: Notes, names: Names, values: Values) -> tuple[Rule, ...]:
    """Check an update as it was parsed; the rules that further values have to meet."""
    _check_limits(kind, notes)
    _check_reserved(kind, notes)
    _check_functions(kind, notes, UPDATE_FUNCTIONS, CONDITION_FUNCTIONS, "an update")
    _check_operators(kind, notes)
    for index, section in enumerate(notes.sections):
        if section in notes.sections[:index]:
            raise _invalid(kind, f'The "{section}" section can only be used once in an update expression;')
    _check_names(kind, notes, names)
    for key in notes.values:
        if key not in values:
            raise _invalid(kind, _undefined_value(key))
    check_paths(kind, [resolve_path(action.path, names) for action in tree.actions])
    rules = [*_section_rules(tree), *_function_rules(tree)]
    for rule in rules:
        problem = rule.problem(values)
        if problem is not None:
            raise _invalid(kind, problem)
    return tuple(rules)


def check_projection(kind: str, tree: Projection, notes: Notes, names: Names) -> None:
    """Check a projection as it was parsed."""
    _check_limits(kind, notes)
    _check_reserved(kind, notes)
    _check_names(kind, notes, names)
    check_paths(kind, [resolve_path(path, names) for path in tree.paths])


# --- Names -------------------------------------------------------------------------------------------------------


def resolve_path(path: Path, names: Names) -> Path:
    """`path` with every `#name` replaced by the attribute's name."""
    elements = path.elements
    for element in elements:
        if type(element) is str and element[0] == "#":
            break
    else:
        return path
    return Path(tuple([names[e] if type(e) is str and e[0] == "#" else e for e in elements]))


def _undefined_name(path: Path, names: Names) -> str | None:
    for element in path.elements:
        if type(element) is str and element[0] == "#" and not names.get(element):
            return f"An expression attribute name used in the document path is not defined; attribute name: {element}"
    return None


def _undefined_value(key: str) -> str:
    return f"An expression attribute value used in expression is not defined; attribute value: {key}"


def _check_names(kind: str, notes: Notes, names: Names) -> None:
    for path in notes.paths:
        problem = _undefined_name(path, names)
        if problem is not None:
            raise _invalid(kind, problem)


# --- The whole expression ----------------------------------------------------------------------------------------


def _invalid(kind: str, text: str) -> ValidationException:
    return ValidationException(f"Invalid {kind}: {text}")


def _check_limits(kind: str, notes: Notes) -> None:
    if notes.problem is not None:
        raise _invalid(kind, notes.problem)


def _check_operators(kind: str, notes: Notes) -> None:
    # The service stops counting there, so it never prints another number.
    if notes.operators > OPERATORS_MAX:
        raise _invalid(kind, f"The expression contains too many operators; operator count: {OPERATORS_MAX + 1}")


def _check_reserved(kind: str, notes: Notes) -> None:
    for path in notes.paths:
        for element in path.elements:
            if type(element) is str and element.upper() in RESERVED_WORDS:
                raise _invalid(kind, f"Attribute name is a reserved keyword; reserved keyword: {element}")


def _check_functions(kind: str, notes: Notes, known: dict[str, int], foreign: dict[str, int], here: str) -> None:
    for call in notes.calls:
        if call.function in known:
            continue
        if call.function in foreign:
            raise _invalid(kind, f"The function is not allowed in {here} expression; function: {call.function}")
        raise _invalid(kind, f"Invalid function name; function: {call.function}")


def check_paths(kind: str, paths: list[Path]) -> None:
    """No two paths may overlap (one begins with the other), nor conflict (a map here, a list there)."""
    conflict: tuple[Path, Path] | None = None
    for index, second in enumerate(paths):
        for first in paths[:index]:
            clash = _clash(first, second)
            if clash == "overlap":
                raise _invalid(kind, _two_paths("overlap", first, second))
            if clash and conflict is None:
                conflict = first, second
    if conflict is not None:
        raise _invalid(kind, _two_paths("conflict", *conflict))


def _clash(first: Path, second: Path) -> str:
    for one, other in zip(first.elements, second.elements, strict=False):
        if type(one) is not type(other):
            return "conflict"
        if one != other:
            return ""
    return "overlap"


def _two_paths(clash: str, first: Path, second: Path) -> str:
    return (
        f"Two document paths {clash} with each other; must remove or rewrite one of these paths; "
        f"path one: {show(first.elements)}, path two: {show(second.elements)}"
    )


# --- Clauses of conditions ---------------------------------------------------------------------------------------


def clauses_of(tree: Condition) -> Iterator[Clause]:
    """The clauses of a condition in written order."""
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        if type(node) is And or type(node) is Or:
            waiting.extend(reversed(node.conditions))
        elif type(node) is Not:
            waiting.append(node.condition)
        else:
            yield node


def calls_of(operand: Operand | Clause) -> Iterator[Call]:
    """Calls in an operand or clause, inner ones first."""
    if type(operand) is Path or type(operand) is Value:
        return
    for inner in operands(operand):
        if type(inner) is Call:
            yield from calls_of(inner)
    if type(operand) is Call:
        yield operand


def _misused(function: str) -> str:
    return f"The function is not allowed to be used this way in an expression; function: {function}"


def _misuses(clause: Clause) -> Iterator[str]:
    """Only size gives a value; the other functions can't be operands."""
    for call in calls_of(clause):
        for argument in call.arguments:
            if type(argument) is Call and argument.function != "size":
                yield _misused(argument.function)
    for operand in operands(clause):
        if type(operand) is Call and operand.function != "size":
            yield _misused(operand.function)


def _clause_problems(clause: Clause, rules: list[Rule], names: Names, values: Values) -> Iterator[str]:
    yield from _undefined(clause, names, values)
    for call in calls_of(clause):
        if len(call.arguments) != CONDITION_FUNCTIONS[call.function]:
            yield _wrong_count(call)
    for call in calls_of(clause):
        yield from _repeated(call.function, call.arguments, names)
    if type(clause) is not Call:
        yield from _repeated(_operator(clause), operands(clause), names)
    for rule in rules:
        problem = rule.problem(values)
        if problem is not None:
            yield problem


def _undefined(operand: Operand | Clause, names: Names, values: Values) -> Iterator[str]:
    """Undefined names and values, in written order."""
    if type(operand) is Path:
        problem = _undefined_name(operand, names)
        if problem is not None:
            yield problem
    elif type(operand) is Value:
        if operand.key not in values:
            yield _undefined_value(operand.key)
    else:
        for inner in operands(operand):
            yield from _undefined(inner, names, values)


def _operator(clause: Clause) -> str:
    if type(clause) is Compare:
        return clause.operator
    return "BETWEEN" if type(clause) is Between else "IN"


def _wrong_count(call: Call) -> str:
    return (
        "Incorrect number of operands for operator or function; "
        f"operator or function: {call.function}, number of operands: {len(call.arguments)}"
    )


def _repeated(operator: str, arguments: tuple[Operand, ...], names: Names) -> Iterator[str]:
    """The first operand, if a path, may not come back among the others."""
    first = arguments[0]
    if type(first) is not Path:
        return
    path = resolve_path(first, names)
    for argument in arguments[1:]:
        if type(argument) is Path and resolve_path(argument, names) == path:
            yield (
                "The first operand must be distinct from the remaining operands for this operator or function; "
                f"operator: {operator}, first operand: {show(path.elements)}"
            )


def _clause_rules(clause: Clause) -> Iterator[Rule]:
    """What the types of a clause's operands have to be, inner calls first."""
    for call in calls_of(clause):
        yield from _call_rules(call)
    if type(clause) is Compare:
        if clause.operator not in ("=", "<>"):
            yield from _typed(clause.operator, (clause.left, clause.right), ORDERED_TYPES)
    elif type(clause) is Between:
        yield from _typed("BETWEEN", (clause.operand, clause.low, clause.high), ORDERED_TYPES)
        if type(clause.low) is Value and type(clause.high) is Value:
            yield BoundsRule(clause.low.key, clause.high.key)


def _call_rules(call: Call) -> Iterator[Rule]:
    if call.function in ("attribute_exists", "attribute_not_exists"):
        if type(call.arguments[0]) is not Path:
            yield Broken(_no_path(call))
    elif call.function == "begins_with":
        yield from _typed("begins_with", call.arguments, _TEXT_TYPES)
    elif call.function == "size":
        yield from _typed("size", call.arguments, _SIZED_TYPES)
    elif call.function == "attribute_type" and len(call.arguments) > 1:
        second = call.arguments[1]
        if type(second) is Value:
            yield TypeNameRule(second.key)
        else:
            kind = "N" if type(second) is Call else "{NS,SS,L,BS,N,M,B,BOOL,NULL,S}"
            yield Broken(_wrong_type("attribute_type", kind))


def _typed(operator: str, arguments: tuple[Operand, ...], allowed: frozenset[str]) -> Iterator[Rule]:
    """Values have to be of an allowed type, and so does what a function gives."""
    for argument in arguments:
        if type(argument) is Value:
            yield TypeRule(argument.key, allowed, operator)
        elif type(argument) is Call and argument.function == "size" and "N" not in allowed:
            yield Broken(_wrong_type(operator, "N"))


def _no_path(call: Call) -> str:
    return f"Operator or function requires a document path; operator or function: {call.function}"


def _wrong_type(operator: str, kind: str) -> str:
    return f"Incorrect operand type for operator or function; operator or function: {operator}, operand type: {kind}"


# --- Actions of updates ------------------------------------------------------------------------------------------


def _wrong_section_type(section: str, kind: str) -> str:
    return (
        "Incorrect operand type for operator or function; "
        f"operator: {section}, operand type: {_TYPE_WORDS.get(kind, kind)}"
    )


def _section_rules(tree: Update) -> Iterator[Rule]:
    for action in tree.actions:
        if type(action) is Add:
            yield TypeRule(action.value.key, _SET_TYPES | {"N"}, "ADD", section=True)
        elif type(action) is Delete:
            yield TypeRule(action.value.key, _SET_TYPES, "DELETE", section=True)


def _function_rules(tree: Update) -> Iterator[Rule]:
    for action in tree.actions:
        if type(action) is not Set:
            continue
        value = action.value
        if type(value) is Arithmetic:
            for operand in (value.left, value.right):
                yield from _update_call_rules(operand, nested=True)
            yield from _typed(value.operator, (value.left, value.right), frozenset({"N"}))
        else:
            yield from _update_call_rules(value, nested=False)


def _update_call_rules(operand: Operand, nested: bool) -> Iterator[Rule]:
    """Rules of a call and those in it. Only if_not_exists may stand inside another (measured on the service)."""
    if type(operand) is not Call:
        return
    for argument in operand.arguments:
        yield from _update_call_rules(argument, nested=True)
    if nested and operand.function == "list_append":
        yield Broken(_misused("list_append"))
    elif len(operand.arguments) != UPDATE_FUNCTIONS[operand.function]:
        yield Broken(_wrong_count(operand))
    elif operand.function == "list_append":
        yield from _typed("list_append", operand.arguments, frozenset({"L"}))
    elif type(operand.arguments[0]) is not Path:
        yield Broken(_no_path(operand))


# --- Values ------------------------------------------------------------------------------------------------------


def type_of(value: dict[str, Any]) -> str:
    """S, N, B, ... of a normalised value."""
    (kind,) = value
    return kind


def _print(value: dict[str, Any]) -> str:
    ((kind, content),) = value.items()
    return f"AttributeValue: {{{kind}:{content}}}"
