"""Text to tokens, and the service's report of the token that doesn't fit.

A name begins with a letter; `#` and `:` need at least one letter, digit or underscore behind them. A character that
begins no token is a token of its own, kind "bad", which no production takes: so the report is the same for both.
Keywords are words whose kind is the keyword in capitals. Which words are, depends on the expression (developer guide,
"Using expressions"; measured: a keyword of another expression is an ordinary, reserved, name).
"""

from __future__ import annotations

import re
from typing import NamedTuple

CONDITION_KEYWORDS = frozenset({"AND", "OR", "NOT", "BETWEEN", "IN"})
UPDATE_KEYWORDS = frozenset({"SET", "REMOVE", "ADD", "DELETE"})

_token = re.compile(
    r"(?P<name>[A-Za-z][A-Za-z0-9_]*)"
    r"|(?P<reference>\#[A-Za-z0-9_]+)"
    r"|(?P<value>:[A-Za-z0-9_]+)"
    r"|(?P<number>[0-9]+)"
    r"|(?P<punctuation><=|>=|<>|[-+=<>(),.\[\]])"
    r"|(?P<bad>[^ \t\r\n])"
)


class Token(NamedTuple):
    """`kind` is name, reference, value, number, bad or end; a keyword; or the punctuation itself."""

    kind: str
    text: str
    start: int
    end: int


def tokenize(text: str, keywords: frozenset[str]) -> list[Token]:
    """The tokens of `text`, the last one of kind "end"."""
    tokens = []
    for match in _token.finditer(text):
        kind = match.lastgroup or "bad"
        word = match.group()
        if kind == "punctuation":
            kind = word
        elif kind == "name" and word.upper() in keywords:
            kind = word.upper()
        tokens.append(Token(kind, word, match.start(), match.end()))
    tokens.append(Token("end", "<EOF>", len(text), len(text)))
    return tokens


def syntax_error(text: str, tokens: list[Token], index: int) -> str:
    """The message about token `index`; "near" is the text from the token before it to the token behind it."""
    token = tokens[index]
    first = tokens[max(index - 1, 0)]
    last = token
    if token.kind == "end":
        last = first
    elif tokens[index + 1].kind != "end":
        last = tokens[index + 1]
    near = text[first.start : last.end]
    return f'Syntax error; token: "{token.text}", near: "{near}"'
