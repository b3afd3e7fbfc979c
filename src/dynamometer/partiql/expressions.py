"""Expressions: terms, paths and operators.

Precedence, from the loosest: union and its kin; or; and; not; = <> is in; < <= > >= between like; + - ||; * / %.
"""

from __future__ import annotations

from dynamometer.partiql.tokens import Token, malformed, tokenize
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
    Other,
    Parameter,
    Range,
    Step,
    Tuple,
    Unary,
)

DEPTH_MAX = 64
"""Nested lists, tuples, calls and groups in one statement. Values may nest 32 levels; assumed."""
_INDEX_DIGITS_MAX = 100
_NOT_PRECEDENCE = 20
_PRECEDENCE = {
    **dict.fromkeys(("union", "except", "intersect"), 5),
    "or": 10,
    "and": 15,
    **dict.fromkeys(("=", "<>", "is", "is not", "in", "not in"), 30),
    **dict.fromkeys(("<", "<=", ">", ">=", "between", "not between", "like", "not like"), 40),
    **dict.fromkeys(("+", "-", "||"), 50),
    **dict.fromkeys(("*", "/", "%"), 60),
}
_FUNCTION_KEYWORDS = frozenset(
    """exists count avg max min sum substring char_length character_length octet_length bit_length upper lower nullif
    coalesce trim extract cast""".split()
)
_TYPE_PAIRS = {("character", "varying"), ("double", "precision")}
_TYPES = frozenset(
    """missing null bool boolean smallint int integer float real dec decimal numeric timestamp char character varchar
    string symbol clob blob struct tuple list sexp bag""".split()
)
_WORD_TYPES = frozenset({"int2", "int4", "int8", "integer2", "integer4", "integer8"})
_LITERALS = {"true": "boolean", "false": "boolean", "null": "null", "missing": "missing"}
_TERMS_OF_OTHERS = {"create": "Create", "drop": "Drop", "case": "Case", "pivot": "Pivot", "values": "Values"}


class ExpressionParser:
    """A cursor over the tokens of one statement."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = tokenize(text)
        self.at = 0
        self.parameters = 0
        self._depth = 0

    # --- the cursor ----------------------------------------------------------------------------------------------

    @property
    def token(self) -> Token:
        return self.tokens[self.at]

    @property
    def next(self) -> Token:
        return self.tokens[min(self.at + 1, len(self.tokens) - 1)]

    def advance(self) -> Token:
        token = self.tokens[self.at]
        if token.kind != "end":
            self.at += 1
        return token

    def at_keyword(self, word: str) -> bool:
        token = self.tokens[self.at]
        return token.kind == "keyword" and token.text == word

    def take(self, kind: str) -> bool:
        """Go over a token of this kind, if it is next."""
        if self.tokens[self.at].kind != kind:
            return False
        self.at += 1
        return True

    def expect(self, kind: str) -> Token:
        if self.token.kind != kind:
            raise malformed(f"Expected {kind}")
        return self.advance()

    def last_end(self) -> int:
        return self.tokens[max(self.at - 1, 0)].end

    # --- operators -----------------------------------------------------------------------------------------------

    def expression(self, above: int = -1) -> Expression:
        """An expression of operators that bind tighter than `above`."""
        self._depth += 1
        if self._depth > DEPTH_MAX:
            raise malformed("Statement is nested too deeply")
        left = self._unary()
        while True:
            token = self.token
            operator = token.text if token.kind in ("operator", "*") else ""
            precedence = _PRECEDENCE.get(operator, -1)
            if precedence <= above:
                break
            self.advance()
            left = self._infix(operator, left, precedence)
        self._depth -= 1
        return left

    def _infix(self, operator: str, left: Expression, precedence: int) -> Expression:
        if operator in ("is", "is not"):
            kind = self._type()
            test: Expression = Is(left, kind, left.start, self.last_end())
            return Unary("not", test, test.start, test.end) if operator == "is not" else test
        if operator in ("in", "not in") and self.token.kind == "(" and self.next.text not in ("select", "values"):
            start = self.advance().start
            members = self._members(")")
            right: Expression = ListOf(members, start, self.last_end())
        else:
            if self.token.kind == "end":
                raise malformed("Missing right-hand side expression of infix operator")
            right = self.expression(precedence)
        start, end = left.start, self.last_end()
        if operator in ("between", "not between"):
            if self.token.text != "and" or self.token.kind != "operator":
                raise malformed("Expected keyword and")
            self.advance()
            if self.token.kind == "end":
                raise malformed("Expected expression after AND")
            high = self.expression(precedence)
            between: Expression = Range(left, right, high, start, self.last_end())
            return Unary("not", between, start, between.end) if operator == "not between" else between
        if operator in ("and", "or"):
            parts = left.parts if isinstance(left, Junction) and left.operator == operator else (left,)
            return Junction(operator, (*parts, right), start, end)
        if operator.startswith("not "):
            return Unary("not", Binary(operator[4:], left, right, start, end), start, end)
        return Binary(operator, left, right, start, end)

    def _type(self) -> str:
        first = self.token
        if (first.text.lower(), self.next.text.lower()) in _TYPE_PAIRS:
            self.advance()
            self.advance()
            return f"{first.text} {self.tokens[self.at - 1].text}".lower()
        if (first.kind == "keyword" and first.text in _TYPES) or (
            first.kind == "word" and first.text.lower() in _WORD_TYPES
        ):
            self.advance()
            if self.take("("):
                self._members(")")
            return first.text.lower()
        raise malformed("Expected type name")

    def _unary(self) -> Expression:
        nots: list[Token] = []
        signs: list[Token] = []
        while self.token.kind == "operator" and self.token.text in ("not", "+", "-"):
            token = self.advance()
            if token.text == "not":
                nots.append(token)
                continue
            signs.append(token)
        if signs and nots:
            # rare: a sign and a NOT before one term; the sign is what DynamoDB refuses
            return Unary(signs[0].text, self._path_term(), signs[0].start, self.last_end())
        if signs:
            return self._signed(signs)
        if not nots:
            return self._path_term()
        operand = self.expression(_NOT_PRECEDENCE)
        for token in reversed(nots):
            operand = Unary("not", operand, token.start, operand.end)
        return operand

    def _signed(self, signs: list[Token]) -> Expression:
        """Signs in front of a number are part of it."""
        term = self._path_term()
        negative = sum(sign.text == "-" for sign in signs) % 2 == 1
        if isinstance(term, Literal) and term.kind == "number":
            return Literal("number", f"-{term.text}" if negative else term.text, term.start, term.end)
        return Unary(signs[0].text, term, signs[0].start, self.last_end())

    # --- terms ---------------------------------------------------------------------------------------------------

    def simple_path(self) -> Name:
        """A path that begins with a name."""
        if self.token.kind not in ("word", "quoted"):
            raise malformed("Expected identifier for simple path")
        token = self.advance()
        path = self._steps(Name((token.text,), token.start, token.end))
        assert isinstance(path, Name)
        return path

    def _path_term(self) -> Expression:
        term = self._term()
        if self.token.kind not in (".", "["):
            return term
        return self._steps(term)

    def _steps(self, term: Expression) -> Expression:
        """What follows a term behind dots and in brackets."""
        steps: list[Step] = list(term.steps) if isinstance(term, Name) else []
        odd = not isinstance(term, Name)
        while True:
            if self.take("."):
                token = self.token
                if token.kind == "*":
                    odd = True
                elif token.kind not in ("word", "quoted"):
                    raise malformed("Invalid path dot component")
                steps.append(self.advance().text)
            elif self.take("["):
                odd = self.take("*") or not self._bracket(steps) or odd
                self.expect("]")
            else:
                break
        if odd:
            return Other("Path", term.start, term.end)
        return Name(tuple(steps), term.start, term.end)

    def _bracket(self, steps: list[Step]) -> bool:
        """What stands in brackets behind a path: whether it is a step of one."""
        index = self.expression()
        if not isinstance(index, Literal) or index.kind not in ("number", "string"):
            return False
        if index.kind == "string":
            steps.append(index.text)
            return True
        if not index.text.lstrip("-").isdigit() or len(index.text) > _INDEX_DIGITS_MAX:
            return False
        steps.append(Index(int(index.text), index.start, index.end))
        return True

    def _term(self) -> Expression:
        token = self.token
        kind = token.kind
        if kind in ("word", "quoted"):
            self.advance()
            if self.token.kind == "(":
                return self._call(token)
            return Name((token.text,), token.start, token.end)
        if kind in ("string", "number"):
            self.advance()
            return Literal(kind, token.text, token.start, token.end)
        if kind == "?":
            self.advance()
            self.parameters += 1
            return Parameter(self.parameters - 1, token.start, token.end)
        if kind == "keyword":
            return self.keyword_term()
        if kind == "operator":
            raise malformed("Unexpected operator")
        if kind == "(":
            return self._group()
        if kind in ("[", "<<"):
            self.advance()
            members = self._members("]" if kind == "[" else ">>")
            return (ListOf if kind == "[" else Bag)(members, token.start, self.last_end())
        if kind == "{":
            return self._tuple()
        raise malformed("Unexpected term")

    def keyword_term(self) -> Expression:
        """A term that begins with a reserved word."""
        token = self.token
        if token.text in _LITERALS:
            self.advance()
            return Literal(_LITERALS[token.text], token.text, token.start, token.end)
        if token.text in _FUNCTION_KEYWORDS and self.next.kind == "(":
            self.advance()
            return self._call(token)
        if token.text in _TERMS_OF_OTHERS:
            self.at = next(number for number, each in enumerate(self.tokens) if each.kind in (";", "end"))
            return Other(_TERMS_OF_OTHERS[token.text], token.start, token.end)
        raise malformed("Unexpected keyword")

    def _group(self) -> Expression:
        start = self.advance().start
        if self.token.kind == ")":
            raise malformed("Expression group cannot be empty")
        members = self._members(")")
        if len(members) == 1:
            return members[0]
        return ListOf(members, start, self.last_end())

    def _members(self, close: str) -> tuple[Expression, ...]:
        """Expressions with commas between them, to the closing bracket."""
        members: list[Expression] = []
        if self.take(close):
            return ()
        while True:
            members.append(self.expression())
            if not self.take(","):
                break
        self.expect(close)
        return tuple(members)

    def _tuple(self) -> Expression:
        start = self.advance().start
        members: list[tuple[Expression, Expression]] = []
        if not self.take("}"):
            while True:
                key = self.expression()
                self.expect(":")
                members.append((key, self.expression()))
                if not self.take(","):
                    break
            self.expect("}")
        return Tuple(tuple(members), start, self.last_end())

    def _call(self, name: Token) -> Expression:
        self.advance()
        function = name.text.lower()
        if self.token.kind == "*":
            if function != "count":
                raise malformed(f"{function}(*) is not allowed")
            self.advance()
            self.expect(")")
            return Call(function, (), name.start, name.end)
        if function == "exists" and self.at_keyword("select"):
            return self.exists(name)
        return Call(function, self._members(")"), name.start, name.end)

    def exists(self, name: Token) -> Expression:
        raise NotImplementedError
