"""WHERE: to a condition tree of `dynamometer.expressions`, checked with the same rules.

What PartiQL has beyond condition expressions is rewritten: IS MISSING and IS NULL become functions, and a condition
that is compared with a value (`contains(a, 'x') = false`) becomes the condition, its negation, or a constant, which is
an AND or OR of nothing.
"""

from __future__ import annotations

from typing import Any

from dynamometer.base.errors import ValidationException
from dynamometer.engine.partiql.literals import literal
from dynamometer.expressions import check, parser, rules
from dynamometer.expressions.tree import (
    And,
    Between,
    Compare,
    Condition,
    Element,
    In,
    Not,
    Operand,
    Or,
    Path,
    Value,
)
from dynamometer.expressions.tree import Call as Function
from dynamometer.partiql.tokens import INT_MAX, place
from dynamometer.partiql.tree import (
    Bag,
    Binary,
    Call,
    Expression,
    Index,
    Is,
    Junction,
    ListOf,
    Literal,
    Name,
    Parameter,
    Range,
    Tuple,
    Unary,
)

IN_CHOICES_MAX = 100
TRUE, FALSE = And(()), Or(())
_COMPARATORS = frozenset({"=", "<>", "<", "<=", ">", ">="})
_MIRRORED = {"=": "=", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_TYPES = {
    "null": "NULL",
    "bool": "BOOL",
    "boolean": "BOOL",
    "blob": "B",
    "string": "S",
    "numeric": "N",
    "struct": "M",
    "tuple": "M",
    "list": "L",
}
_PREFIX = "Invalid : "
"""What the checks of expressions put before a text for an expression without a name; PartiQL's texts lack it."""


class Lowering:
    """One statement's values, collected on the way from syntax to trees."""

    def __init__(self, statement: str, parameters: list[dict[str, Any]]) -> None:
        self.statement = statement
        self.parameters = parameters
        self.values: dict[str, dict[str, Any]] = {}
        """The literals, by the key of their tree node."""

    def values_with(self, parameters: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
        """The literals and the values of parameters."""
        if not parameters:
            return self.values
        return self.values | {f":p{number}": value for number, value in enumerate(parameters)}

    def error(self, text: str, node: Any) -> ValidationException:
        """An error that tells the node's place."""
        return ValidationException(f"{text} at {place(self.statement, node.start, node.end)}")

    # --- operands ------------------------------------------------------------------------------------------------

    def path(self, name: Name) -> Path:
        """A path with its indexes checked."""
        elements: list[Element] = []
        for step in name.steps:
            if isinstance(step, Index):
                if not 0 <= step.number <= INT_MAX:
                    raise self.error(f"List index is not within the allowable range; index: [{step.number}]", step)
                elements.append(step.number)
            elif step == "":
                raise ValidationException("Path component cannot be an empty string")
            else:
                elements.append(step)
        return Path(tuple(elements))

    def value(self, node: Expression) -> Value:
        """A literal or parameter."""
        if isinstance(node, Parameter):
            return Value(f":p{node.index}")
        key = f":l{len(self.values)}"
        self.values[key] = literal(node, self.statement)
        return Value(key)

    def operand(self, node: Expression) -> Operand:
        """What a condition compares: a path, a value, or a size."""
        match node:
            case Name():
                return self.path(node)
            case Literal() | Parameter() | ListOf() | Bag() | Tuple():
                return self.value(node)
            case Call(function="size"):
                return Function("size", self._arguments(node, 1))
            case Call():
                raise self.error(f"Unrecognized function: {node.function}", node)
            case Unary() if node.operator != "not":
                raise ValidationException(
                    "Incorrect number of operands for operator or function; "
                    f"operator or function: {node.operator}, number of operands: 1"
                )
            case Binary():
                raise ValidationException(
                    f"Unsupported operator in Condition Expression. Operator: {node.operator.upper()}"
                )
            case _:
                raise self.error("Unsupported token in expression", node)  # assumed

    def _arguments(self, call: Call, count: int) -> tuple[Operand, ...]:
        if len(call.arguments) != count:
            raise ValidationException(
                "Incorrect number of operands for operator or function; "
                f"operator or function: {call.function}, number of operands: {len(call.arguments)}"
            )
        return tuple(self.operand(argument) for argument in call.arguments)

    # --- conditions ----------------------------------------------------------------------------------------------

    def condition(self, node: Expression) -> Condition:
        match node:
            case Junction():
                parts = tuple(self.condition(part) for part in node.parts)
                return And(parts) if node.operator == "and" else Or(parts)
            case Unary(operator="not"):
                return self._negation(node)
            case Binary() if node.operator in _COMPARATORS:
                return self._comparison(node)
            case Binary(operator="in"):
                return self._choice(node)
            case Range():
                return Between(self.operand(node.operand), self.operand(node.low), self.operand(node.high))
            case Is():
                return self._type_test(node)
            case Call() if node.function in rules.CONDITION_FUNCTIONS and node.function != "size":
                arguments = self._arguments(node, rules.CONDITION_FUNCTIONS[node.function])
                return Function(node.function, arguments)
            case _:
                self.operand(node)
                raise self.error("Unsupported token in expression", node)  # assumed

    def _negation(self, node: Unary) -> Condition:
        negative = True
        operand = node.operand
        while isinstance(operand, Unary) and operand.operator == "not":
            negative = not negative
            operand = operand.operand
        condition = self.condition(operand)
        return Not(condition) if negative else condition

    def _comparison(self, node: Binary) -> Condition:
        left, right = is_condition(node.left), is_condition(node.right)
        if left or right:
            if node.operator not in ("=", "<>"):
                raise ValidationException(wrong_type(node.operator, "BOOL"))
            equal = self._equal(node, left, right)
            return equal if node.operator == "=" else Not(equal)
        return Compare(node.operator, self.operand(node.left), self.operand(node.right))

    def _equal(self, node: Binary, left: bool, right: bool) -> Condition:
        """Whether a condition's outcome equals a value or another condition's."""
        if left and right:
            first, second = self.condition(node.left), self.condition(node.right)
            return Or((And((first, second)), And((Not(first), Not(second)))))
        condition = self.condition(node.left if left else node.right)
        return self._equals_value(condition, node.right if left else node.left)

    def _equals_value(self, condition: Condition, other: Expression) -> Condition:
        if isinstance(other, Literal) and other.kind == "boolean":
            return condition if other.text == "true" else Not(condition)
        operand = self.operand(other)
        if isinstance(operand, Value) and not isinstance(other, Parameter):
            return FALSE
        true, false = f":l{len(self.values)}", f":l{len(self.values) + 1}"
        self.values |= {true: {"BOOL": True}, false: {"BOOL": False}}
        return Or(
            (
                And((condition, Compare("=", operand, Value(true)))),
                And((Not(condition), Compare("=", operand, Value(false)))),
            )
        )

    def _choice(self, node: Binary) -> Condition:
        if not isinstance(node.right, ListOf):
            raise self.error("The IN operator needs a list of values", node.right)  # assumed
        count = len(node.right.members)
        if count > IN_CHOICES_MAX:
            raise ValidationException(
                f"The IN operator is provided with too many operands; number of operands: {count}"
            )
        if count == 0:
            return FALSE
        if is_condition(node.left):
            condition = self.condition(node.left)
            return Or(tuple(self._equals_value(condition, member) for member in node.right.members))
        return In(self.operand(node.left), tuple(self.operand(member) for member in node.right.members))

    def _type_test(self, node: Is) -> Condition:
        operand = self.operand(node.operand)
        if node.type == "missing":
            return Function("attribute_not_exists", (operand,))
        kind = _TYPES.get(node.type)
        if kind is None:
            raise ValidationException(
                f"Unsupported data type for IS operator: {node.type.upper()}. Supported data types are "
                "[MISSING, NULL, BOOLEAN, BLOB, STRING, NUMERIC, STRUCT, TUPLE, LIST]"
            )
        key = f":l{len(self.values)}"
        self.values[key] = {"S": kind}
        return Function("attribute_type", (operand, Value(key)))

    # --- checks --------------------------------------------------------------------------------------------------

    def check(self, tree: Condition, values: dict[str, Any]) -> tuple[rules.Rule, ...]:
        """Check a lowered condition; the rules that other parameters have to meet."""
        notes = parser.Notes(operators=_operators(tree))
        try:
            return check.check_condition("", tree, notes, _names(tree), values)
        except ValidationException as error:
            raise plain(error) from None


def plain(error: ValidationException) -> ValidationException:
    """An error of the expressions in PartiQL's words."""
    return ValidationException(in_words(str(error.message).removeprefix(_PREFIX)))


def in_words(problem: str) -> str:
    """A rule's problem in PartiQL's words, which list the types in another order (measured)."""
    return problem.replace("{B,NULL,SS,BOOL,L,BS,N,NS,S,M}", "{N,BS,L,B,NULL,M,S,SS,NS,BOOL}")


def wrong_type(operator: str, kind: str) -> str:
    return f"Incorrect operand type for operator or function; operator or function: {operator}, operand type: {kind}"


def is_condition(node: Expression) -> bool:
    """Whether an expression is true or false rather than a value."""
    match node:
        case Junction() | Range() | Is():
            return True
        case Unary():
            return node.operator == "not"
        case Binary():
            return node.operator in _COMPARATORS or node.operator == "in"
        case Call():
            return node.function in rules.CONDITION_FUNCTIONS and node.function != "size"
        case _:
            return False


def mirrored(tree: Compare) -> Compare:
    """A comparison with its path on the left."""
    if isinstance(tree.left, Path) or not isinstance(tree.right, Path):
        return tree
    return Compare(_MIRRORED[tree.operator], tree.right, tree.left)


def paths_of(tree: Condition) -> list[Path]:
    """Every path of a condition, in written order."""
    found: list[Path] = []
    waiting: list[Any] = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, Path):
            found.append(node)
        elif isinstance(node, And | Or):
            waiting.extend(reversed(node.conditions))
        elif isinstance(node, Not):
            waiting.append(node.condition)
        elif isinstance(node, Compare):
            waiting.extend((node.right, node.left))
        elif isinstance(node, Between):
            waiting.extend((node.high, node.low, node.operand))
        elif isinstance(node, In):
            waiting.extend((*reversed(node.choices), node.operand))
        elif isinstance(node, Function):
            waiting.extend(reversed(node.arguments))
    return found


def _names(tree: Condition) -> dict[str, str]:
    """Names that look like the references of expressions stand for themselves."""
    return {
        element: element
        for path in paths_of(tree)
        for element in path.elements
        if isinstance(element, str) and element[0] == "#"
    }


def _operators(tree: Condition) -> int:
    count = 0
    waiting: list[Any] = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, And | Or):
            count += max(len(node.conditions) - 1, 0)
            waiting.extend(node.conditions)
        elif isinstance(node, Not):
            count += 1
            waiting.append(node.condition)
        elif isinstance(node, In) or not isinstance(node, Path | Value):
            count += 1
    return count
