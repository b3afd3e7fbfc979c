"""Tokens to a statement: recursive descent, operators by precedence, nesting bounded.

The grammar is that of the open source PartiQL parser as far as it matters to DynamoDB, and so are the texts: the
service passes them on (measured on the service where a public suite does it; otherwise taken from the parser).
"""

from __future__ import annotations

from dynamometer.base.errors import ValidationException
from dynamometer.partiql.statements import StatementParser
from dynamometer.partiql.tokens import Token, tokenize
from dynamometer.partiql.tree import Expression

STATEMENTS_MAX = 1024
_TEXT_MAX = 2**19
"""Statements, and characters of their texts, that are kept parsed."""

_kept: dict[str, Expression | str] = {}
_kept_text = 0


def parse(text: str) -> Expression:
    """The statement, or an expression that is none. Raises ValidationException with the service's text."""
    global _kept_text
    kept = _kept.get(text)
    if kept is None:
        try:
            kept = StatementParser(text).parse()
        except ValidationException as error:
            kept = str(error.message)
        if len(_kept) >= STATEMENTS_MAX or _kept_text > _TEXT_MAX:
            _kept.clear()
            _kept_text = 0
        _kept[text] = kept
        _kept_text += len(text)
    if isinstance(kept, str):
        raise ValidationException(kept)
    return kept


def tokens_of(text: str) -> list[Token]:
    """The tokens of a statement that can be read."""
    return tokenize(text)
