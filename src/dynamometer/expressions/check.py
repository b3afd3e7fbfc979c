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

from collections.abc import Iterator

from dynamometer.base.errors import ValidationException
from dynamometer.expressions.parser import Notes
from dynamometer.expressions.reserved import RESERVED_WORDS
from dynamometer.expressions.resolve import Names, resolve_path
from dynamometer.expressions.rules import (
    CONDITION_FUNCTIONS,
    UPDATE_FUNCTIONS,
    Rule,
    Values,
    clause_rules,
    function_rules,
    misused,
    section_rules,
    wrong_count,
)
from dynamometer.expressions.tree import (
    Between,
    Call,
    Clause,
    Compare,
    Condition,
    Elements,
    Operand,
    Path,
    Projection,
    Update,
    Value,
    calls_of,
    clauses_of,
    operands,
    show,
)

OPERATORS_MAX = 300


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
            raise _invalid(kind, misused("size"))
    _check_reserved(kind, notes)
    rules: list[Rule] = []
    for clause in clauses:
        own = list(clause_rules(clause))
        for problem in _clause_problems(clause, own, names, values):
            raise _invalid(kind, problem)
        rules += own
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
    rules = [*section_rules(tree), *function_rules(tree)]
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
    ends: dict[Elements, int] = {}
    goes_on: dict[tuple[Elements, type], int] = {}
    conflict: tuple[Path, Path] | None = None
    for index, path in enumerate(paths):
        elements = path.elements
        overlapping = [ends.get(elements[:length]) for length in range(1, len(elements) + 1)]
        overlapping += [goes_on.get((elements, str)), goes_on.get((elements, int))]
        if any(other is not None for other in overlapping):
            raise _invalid(kind, _two_paths("overlap", paths[_least(overlapping)], path))
        for length in range(1, len(elements)):
            kind_here = type(elements[length])
            other = goes_on.get((elements[:length], int if kind_here is str else str))
            if other is not None and conflict is None:
                conflict = paths[other], path
            goes_on.setdefault((elements[:length], kind_here), index)
        ends[elements] = index
    if conflict is not None:
        raise _invalid(kind, _two_paths("conflict", *conflict))


def _least(indexes: list[int | None]) -> int:
    return min(index for index in indexes if index is not None)


def _two_paths(clash: str, first: Path, second: Path) -> str:
    return (
        f"Two document paths {clash} with each other; must remove or rewrite one of these paths; "
        f"path one: {show(first.elements)}, path two: {show(second.elements)}"
    )


# --- Clauses of conditions ---------------------------------------------------------------------------------------


def _misuses(clause: Clause) -> Iterator[str]:
    """Only size gives a value; the other functions can't be operands."""
    for call in calls_of(clause):
        for argument in call.arguments:
            if type(argument) is Call and argument.function != "size":
                yield misused(argument.function)
    for operand in operands(clause):
        if type(operand) is Call and operand.function != "size":
            yield misused(operand.function)


def _clause_problems(clause: Clause, rules: list[Rule], names: Names, values: Values) -> Iterator[str]:
    yield from _undefined(clause, names, values)
    for call in calls_of(clause):
        if len(call.arguments) != CONDITION_FUNCTIONS[call.function]:
            yield wrong_count(call)
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
