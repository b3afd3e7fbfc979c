"""Tokens to trees, one method a production; the grammar stands above each.

Nesting is kept on stacks of our own, so that no expression, however deep, meets Python's recursion limit: thousands of
parentheses or function calls fit into the 4,096 bytes that are allowed. What is wrong but not a matter of syntax is
only noted here (`Parsed`); `check` reports it, in the service's order.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from dynamometer.base.errors import ValidationException
from dynamometer.expressions.tokens import (
    CONDITION_KEYWORDS,
    UPDATE_KEYWORDS,
    Token,
    syntax_error,
    tokenize,
)
from dynamometer.expressions.tree import (
    Action,
    Add,
    And,
    Arithmetic,
    Between,
    Call,
    Compare,
    Computed,
    Condition,
    Delete,
    Element,
    In,
    Not,
    Operand,
    Or,
    Path,
    Projection,
    Remove,
    Set,
    Update,
    Value,
)

EXPRESSION_BYTES_MAX = 4096
PATH_ELEMENTS_MAX = 32
LIST_INDEX_MAX = 2**31 - 1
IN_CHOICES_MAX = 100

_COMPARATORS = frozenset({"=", "<>", "<", "<=", ">", ">="})
_SECTIONS = ("SET", "REMOVE", "ADD", "DELETE")


@dataclass(slots=True)
class Notes:
    """What was met on the way, in written order."""

    problem: str | None = None
    """The first path or list of choices that is over a limit."""
    redundant: bool = False
    """Two pairs of parentheses around the same thing."""
    operators: int = 0
    """Operators and function calls."""
    calls: list[Call] = field(default_factory=list)
    """Inner calls before outer ones."""
    paths: list[Path] = field(default_factory=list)
    values: list[str] = field(default_factory=list)
    sections: list[str] = field(default_factory=list)

    def limit(self, problem: str) -> None:
        if self.problem is None:
            self.problem = problem


def parse_condition(kind: str, text: str) -> tuple[Condition, Notes]:
    """A condition, filter or key condition."""
    parser = _Parser(kind, text, CONDITION_KEYWORDS)
    return parser.condition(), parser.notes


def parse_update(kind: str, text: str) -> tuple[Update, Notes]:
    parser = _Parser(kind, text, UPDATE_KEYWORDS)
    return parser.update(), parser.notes


def parse_projection(kind: str, text: str) -> tuple[Projection, Notes]:
    parser = _Parser(kind, text, frozenset())
    return parser.projection(), parser.notes


class _Level:
    """What stands between one pair of parentheses, so far: disjuncts of conjuncts, and NOTs that wait for theirs."""

    __slots__ = ("conjuncts", "disjuncts", "negated", "nots")

    def __init__(self) -> None:
        self.disjuncts: list[Condition] = []
        self.conjuncts: list[Condition] = []
        self.nots = False
        self.negated = False

    @property
    def empty(self) -> bool:
        return not (self.conjuncts or self.disjuncts or self.nots)

    def negate(self) -> None:
        self.nots = True
        self.negated = not self.negated

    def conjunct(self, condition: Condition) -> None:
        self.conjuncts.append(Not(condition) if self.negated else condition)
        self.nots = self.negated = False

    def disjunct(self, condition: Condition) -> None:
        self.conjunct(condition)
        self.disjuncts.append(self.conjuncts[0] if len(self.conjuncts) == 1 else And(tuple(self.conjuncts)))
        self.conjuncts = []

    def close(self, condition: Condition) -> Condition:
        self.disjunct(condition)
        return self.disjuncts[0] if len(self.disjuncts) == 1 else Or(tuple(self.disjuncts))


class _Parser:
    def __init__(self, kind: str, text: str, keywords: frozenset[str]) -> None:
        self.kind = kind
        self.text = text
        if not text:
            raise self.invalid("The expression can not be empty;")
        # The text as sent counts, names not put in. UpdateExpression leaves the number out (measured on the service).
        size = len(text.encode())
        if size > EXPRESSION_BYTES_MAX:
            number = "" if kind == "UpdateExpression" else f" expression size: {size}"
            raise self.invalid(f"Expression size has exceeded the maximum allowed size;{number}")
        self.tokens = tokenize(text, keywords)
        self.index = 0
        self.token = self.tokens[0]
        self.notes = Notes()

    # --- Tokens

    def invalid(self, message: str) -> ValidationException:
        return ValidationException(f"Invalid {self.kind}: {message}")

    def unexpected(self) -> ValidationException:
        return self.invalid(syntax_error(self.text, self.tokens, self.index))

    def advance(self) -> Token:
        token = self.token
        self.index += 1
        if self.index < len(self.tokens):
            self.token = self.tokens[self.index]
        return token

    def accept(self, kind: str) -> bool:
        if self.token.kind != kind:
            return False
        self.advance()
        return True

    def expect(self, kind: str) -> Token:
        if self.token.kind != kind:
            raise self.unexpected()
        return self.advance()

    # --- Operands

    def path(self) -> Path:
        """path := element ( '.' element | '[' number ']' )*; element := name | #name"""
        elements = self.path_tail([self.element()])
        path = Path(tuple(elements))
        self.notes.paths.append(path)
        return path

    def element(self) -> str:
        if self.token.kind not in ("name", "reference"):
            raise self.unexpected()
        return self.advance().text

    def path_tail(self, elements: list[Element]) -> list[Element]:
        while True:
            if self.accept("."):
                elements.append(self.element())
            elif self.accept("["):
                index = int(self.expect("number").text)
                self.expect("]")
                if index > LIST_INDEX_MAX:
                    self.notes.limit(f"List index is not within the allowable range; index: [{index}]")
                elements.append(index)
            else:
                break
        if len(elements) > PATH_ELEMENTS_MAX:
            self.notes.limit(f"The document path has too many nesting levels; nesting levels: {len(elements)}")
        return elements

    def value(self) -> Value:
        key = self.expect("value").text
        self.notes.values.append(key)
        return Value(key)

    def operand(self) -> Operand:
        """operand := path | :value | name '(' operand ( ',' operand )* ')' | '(' operand ')'

        Calls and parentheses that are still open lie on `open_calls`, a parenthesis as a call without a name.
        """
        open_calls: list[tuple[str, list[Operand]]] = []
        while True:
            if self.token.kind == "(":
                self.advance()
                open_calls.append(("", []))
                continue
            if self.token.kind == "name" and self.tokens[self.index + 1].kind == "(":
                open_calls.append((self.advance().text, []))
                self.advance()
                continue
            operand: Operand = self.value() if self.token.kind == "value" else self.path()
            closed = self.close(operand, open_calls)
            if closed is not None:
                return closed

    def close(self, operand: Operand, open_calls: list[tuple[str, list[Operand]]]) -> Operand | None:
        """Give a complete operand to what is open around it; None when a comma asks for the next one."""
        wrapped = False
        while open_calls:
            function, arguments = open_calls[-1]
            if function:
                arguments.append(operand)
                if self.accept(","):
                    return None
                self.expect(")")
                operand = self.call(function, arguments)
                wrapped = False
            else:
                self.expect(")")
                if wrapped:
                    self.notes.redundant = True
                operand, wrapped = self.lengthened(operand)
            open_calls.pop()
        return operand

    def call(self, function: str, arguments: list[Operand]) -> Call:
        call = Call(function, tuple(arguments))
        self.notes.calls.append(call)
        self.notes.operators += 1
        return call

    def lengthened(self, operand: Operand) -> tuple[Operand, bool]:
        """An operand in parentheses; conditions let a path go on behind them: `(a.b).c`. And is it still in them?"""
        if type(operand) is not Path or self.kind == "UpdateExpression" or self.token.kind not in (".", "["):
            return operand, True
        path = Path(tuple(self.path_tail(list(operand.elements))))
        self.notes.paths[-1] = path
        return path, False

    # --- Conditions

    def condition(self) -> Condition:
        """condition := conjunction ( OR conjunction )*; conjunction := negation ( AND negation )*
        negation := NOT negation | '(' condition ')' | clause

        A parenthesis may hold an operand instead, and a clause begins with an operand: which it is shows behind it.
        """
        levels = [_Level()]
        while True:
            if self.accept("NOT"):
                self.notes.operators += 1
                levels[-1].negate()
            elif self.accept("("):
                levels.append(_Level())
            else:
                condition = self.follow(self.clause(self.operand()), levels)
                if condition is not None:
                    return condition

    def follow(self, node: Operand | Condition, levels: list[_Level]) -> Condition | None:
        """What may stand behind a clause: AND, OR, `)`, the end. None when another clause has to follow."""
        wrapped = False
        while True:
            kind = self.token.kind
            level = levels[-1]
            if kind == ")" and len(levels) > 1:
                if not level.empty:
                    node = level.close(self.proper(node))
                    wrapped = False
                self.advance()
                levels.pop()
                if wrapped:
                    self.notes.redundant = True
                node, wrapped = self.enclosed(node)
            elif kind == "AND" or kind == "OR":
                (level.conjunct if kind == "AND" else level.disjunct)(self.proper(node))
                self.notes.operators += 1
                self.advance()
                return None
            elif kind == "end" and len(levels) == 1:
                return level.close(self.proper(node))
            else:
                raise self.unexpected()

    def enclosed(self, node: Operand | Condition) -> tuple[Operand | Condition, bool]:
        """What stood in parentheses may be the first operand of a clause. And is it still just that?"""
        if type(node) is not Path and type(node) is not Value and type(node) is not Call:
            return node, True
        operand, wrapped = self.lengthened(node)
        clause = self.clause(operand)
        return clause, wrapped and clause is operand

    def proper(self, node: Operand | Condition) -> Condition:
        """`node`, if it can be a condition; a lone path or value can't."""
        if type(node) is Path or type(node) is Value:
            raise self.unexpected()
        return node

    def clause(self, left: Operand) -> Operand | Condition:
        """clause := operand comparator operand | operand BETWEEN operand AND operand
        | operand IN '(' operand ( ',' operand )* ')' | call"""
        kind = self.token.kind
        if kind in _COMPARATORS:
            self.advance()
            self.notes.operators += 1
            return Compare(kind, left, self.operand())
        if kind == "BETWEEN":
            self.advance()
            self.notes.operators += 1
            low = self.operand()
            self.expect("AND")
            return Between(left, low, self.operand())
        if kind == "IN":
            self.advance()
            self.notes.operators += 1
            return In(left, self.choices())
        return left

    def choices(self) -> tuple[Operand, ...]:
        self.expect("(")
        choices = [self.operand()]
        while self.accept(","):
            choices.append(self.operand())
        self.expect(")")
        if len(choices) > IN_CHOICES_MAX:
            self.notes.limit(f"The IN operator is provided with too many operands; number of operands: {len(choices)}")
        return tuple(choices)

    # --- Projections

    def projection(self) -> Projection:
        """projection := path ( ',' path )*"""
        paths = [self.path()]
        while self.accept(","):
            paths.append(self.path())
        self.expect("end")
        return Projection(tuple(paths))

    # --- Updates

    def update(self) -> Update:
        """update := section+; section := keyword action ( ',' action )*"""
        actions: list[Action] = []
        while self.token.kind in _SECTIONS:
            section = self.advance().kind
            self.notes.sections.append(section)
            actions.append(self.action(section))
            while self.accept(","):
                actions.append(self.action(section))
        if not actions or self.token.kind != "end":
            raise self.unexpected()
        return Update(tuple(actions))

    def action(self, section: str) -> Action:
        """SET path '=' computed; REMOVE path; ADD path :value; DELETE path :value"""
        path = self.path()
        if section == "SET":
            self.expect("=")
            return Set(path, self.computed())
        if section == "REMOVE":
            return Remove(path)
        if section == "ADD":
            return Add(path, self.value())
        return Delete(path, self.value())

    def computed(self) -> Computed:
        """computed := operand | operand '+' operand | operand '-' operand | '(' computed ')'"""
        parentheses = 0
        while self.accept("("):
            parentheses += 1
        left = self.operand()
        computed: Computed = left
        while True:
            if parentheses and self.accept(")"):
                parentheses -= 1
            elif computed is left and self.token.kind in ("+", "-"):
                self.notes.operators += 1
                computed = Arithmetic(self.advance().kind, left, self.operand())
            else:
                break
        if parentheses:
            raise self.unexpected()
        return computed
