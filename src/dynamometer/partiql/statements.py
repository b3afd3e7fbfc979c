"""Statements: SELECT, INSERT, UPDATE (also in its FROM-first form), DELETE and EXISTS(SELECT ...)."""

from __future__ import annotations

from dynamometer.partiql.expressions import ExpressionParser
from dynamometer.partiql.tokens import Token, malformed
from dynamometer.partiql.tree import (
    Assign,
    Call,
    Change,
    Clause,
    Delete,
    Discard,
    Expression,
    Insert,
    Name,
    Order,
    Other,
    Select,
    Source,
    Update,
)

_LEFT_OVER = "Unexpected token after expression"
_NO_CHANGE = "Expected data manipulation"
_RETURNING = "Expected ( MODIFIED | ALL ) ( NEW | OLD ) in each returning element."
_REFUSED_CLAUSES = ("let", "group", "having", "limit")


class StatementParser(ExpressionParser):
    """One statement, and a semicolon at most."""

    def parse(self) -> Expression:
        statement = self.expression()
        self.take(";")
        if self.token.kind != "end":
            raise malformed(_LEFT_OVER)
        return statement

    def keyword_term(self) -> Expression:
        token = self.token
        match token.text:
            case "select":
                self.advance()
                return self._select(token)
            case "insert":
                return self._insert()
            case "update":
                self.advance()
                source = self._source(self.simple_path())
                changes = self._changes()
                return self._finish_update(token, source, changes, self._where())
            case "delete":
                return self._delete()
            case "from":
                self.advance()
                source = self._from_source()
                where = self._where()
                return self._finish_update(token, source, self._changes(), where)
            case "set" | "remove":
                self._changes()
                return Other("DataManipulation", token.start, token.end)
            case _:
                return super().keyword_term()

    def exists(self, name: Token) -> Expression:
        """EXISTS(SELECT ...), its name and bracket gone over."""
        select = self.expression()
        self.expect(")")
        return Call("exists", (select,), name.start, name.end)

    # --- SELECT --------------------------------------------------------------------------------------------------

    def _select(self, first: Token) -> Expression:
        refused: Clause | None = None
        if self.at_keyword("distinct"):
            token = self.advance()
            refused = Clause("DISTINCT", token.start, token.end)
        elif self.at_keyword("all"):
            self.advance()
        if self.at_keyword("value"):
            token = self.advance()
            refused = Clause("SELECT VALUE", token.start, token.end)
        columns = self._columns()
        if not self.at_keyword("from"):
            raise malformed("Expected FROM after SELECT list")
        self.advance()
        source = self._from_source()
        where: Expression | None = None
        order: tuple[Order, ...] = ()
        if self.at_keyword("let"):
            refused = self._refused_clause() or refused
        if self.at_keyword("where"):
            self.advance()
            where = self.expression(5)
        if self.at_keyword("order"):
            order = self._order()
        while self.token.kind == "keyword" and self.token.text in _REFUSED_CLAUSES:
            clause = self._refused_clause()
            refused = refused or clause
        return Select(columns, source, where, order, refused, first.start, self.last_end())

    def _columns(self) -> tuple[Expression, ...] | None:
        star: Token | None = None
        columns: list[Expression] = []
        while True:
            if self.token.kind == "*":
                star = self.advance()
            else:
                columns.append(self._column())
            if not self.take(","):
                break
        if star is None:
            return tuple(columns)
        if columns:
            raise malformed(
                "Other expressions may not be present in the select list when '*' is used without dot notation."
            )
        return None

    def _column(self) -> Expression:
        column = self.expression()
        if self.at_keyword("as"):
            self.advance()
            self._identifier("Expected identifier for AS-alias")
            return Other("Alias", column.start, column.end)
        if self.token.kind in ("word", "quoted"):
            self.advance()
            return Other("Alias", column.start, column.end)
        return column

    def _identifier(self, problem: str) -> None:
        if self.token.kind not in ("word", "quoted"):
            raise malformed(problem)
        self.advance()

    def _order(self) -> tuple[Order, ...]:
        self.advance()
        if not self.at_keyword("by"):
            raise malformed("Expected keyword by")
        self.advance()
        terms: list[Order] = []
        while True:
            by = self.expression(5)
            descending = self.at_keyword("desc")
            if descending or self.at_keyword("asc"):
                self.advance()
            terms.append(Order(by, descending))
            if not self.take(","):
                return tuple(terms)

    def _refused_clause(self) -> Clause:
        name = self.advance().text.upper()
        if self.at_keyword("by"):
            self.advance()
            name += " BY"
        place = self.token
        while True:
            self.expression(5)
            if self.at_keyword("as"):
                self.advance()
                self._identifier("Expected identifier for AS-alias")
            if not self.take(","):
                return Clause(name, place.start, place.end)

    # --- sources -------------------------------------------------------------------------------------------------

    def _from_source(self) -> Source:
        """The source of a SELECT: grammatically any expression."""
        table = self.expression(5)
        if not isinstance(table, Name):
            table = Name((), table.start, table.end)
        source = self._source(table)
        if self.token.kind == ",":
            while self.take(","):
                self.expression(5)
            return Source((), False, source.start, source.end)
        return source

    def _source(self, path: Name) -> Source:
        aliased = False
        if self.at_keyword("as"):
            self.advance()
            self._identifier("Expected identifier for AS-alias")
            aliased = True
        elif self.token.kind in ("word", "quoted"):
            self.advance()
            aliased = True
        for word in ("at", "by"):
            if self.at_keyword(word):
                self.advance()
                self._identifier(f"Expected identifier for {word.upper()}-alias")
                aliased = True
        parts = tuple(step if isinstance(step, str) else f"[{step.number}]" for step in path.steps)
        return Source(parts, aliased, path.start, path.end)

    def _where(self) -> Expression | None:
        if not self.at_keyword("where"):
            return None
        self.advance()
        return self.expression()

    # --- writes --------------------------------------------------------------------------------------------------

    def _insert(self) -> Expression:
        first = self.advance()
        if not self.at_keyword("into"):
            raise malformed("Unexpected keyword")
        self.advance()
        path = self.simple_path()
        source = Source(
            tuple(step if isinstance(step, str) else f"[{step.number}]" for step in path.steps),
            False,
            path.start,
            path.end,
        )
        if not self.at_keyword("value"):
            self.expression()
            return Other("Insert", first.start, self.last_end())
        self.advance()
        value = self.expression()
        return Insert(source, value, self._returning(), first.start, self.last_end())

    def _delete(self) -> Expression:
        first = self.advance()
        if not self.at_keyword("from"):
            raise malformed("Expected FROM after DELETE")
        self.advance()
        source = self._source(self.simple_path())
        where = self._where()
        return Delete(source, where, self._returning(), first.start, self.last_end())

    def _finish_update(
        self, first: Token, source: Source, changes: tuple[Change, ...], where: Expression | None
    ) -> Expression:
        return Update(source, changes, where, self._returning(), first.start, self.last_end())

    def _changes(self) -> tuple[Change, ...]:
        changes: list[Change] = []
        while True:
            if self.at_keyword("set"):
                self.advance()
                changes.append(self._assignment())
                while self.take(","):
                    changes.append(self._assignment())
            elif self.at_keyword("remove"):
                self.advance()
                changes.append(Discard(self.simple_path()))
            elif self.at_keyword("insert"):
                self._insert()
                raise malformed(_NO_CHANGE)
            else:
                break
        if not changes:
            raise malformed(_NO_CHANGE)
        return tuple(changes)

    def _assignment(self) -> Assign:
        target = self.simple_path()
        if self.token.kind != "operator" or self.token.text != "=":
            raise malformed("Expected '='")
        self.advance()
        return Assign(target, self.expression())

    def _returning(self) -> str | None:
        if not self.at_keyword("returning"):
            return None
        self.advance()
        which, state = self.advance().text.upper(), self.advance().text.upper()
        if which not in ("ALL", "MODIFIED") or state not in ("OLD", "NEW"):
            raise malformed(_RETURNING)
        if not self.take("*"):
            raise malformed("Unsupported syntax in RETURNING columns.")
        return f"{which} {state} *"
