"""Text to tokens.

Kinds of tokens:

    word        a bare name               quoted      "a name in double quotes"
    keyword     a reserved word, `text` in small letters
    operator    + - / % < <= > >= = <> || @, and the words that are operators (and, or, not, in, between, is, like, …);
                two-word operators (not in, is not, not between, not like) are one token
    string      'text'                    number      its text as written, without a sign
    punctuation one of ( ) [ ] { } , : . * ? << >> ;  (the kind is the text)
    end

The reserved words are those of SQL-92 with PartiQL's own. A word among them has to be quoted to be an attribute's
name: the service refuses it (measured), with the texts of the open source PartiQL parser.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from dynamometer.base.errors import ValidationException

NOT_WELL_FORMED = "Statement wasn't well formed, can't be processed: "
INT_MAX, INT_MIN = 2**31 - 1, -(2**31)

WORD_OPERATORS = frozenset({"and", "or", "not", "in", "between", "is", "like", "union", "except", "intersect"})
_PAIRED = frozenset({("not", "in"), ("is", "not"), ("not", "between"), ("not", "like")})

KEYWORDS = frozenset(
    """
    absolute action add all allocate alter any are as asc assertion at authorization avg bag begin bit bit_length blob
    bool boolean by cascade cascaded case cast catalog char char_length character character_length check clob close
    coalesce collate collation column commit connect connection constraint constraints continue convert corresponding
    count create cross current current_date current_time current_timestamp current_user cursor date deallocate dec
    decimal declare default deferrable deferred delete desc describe descriptor diagnostics disconnect distinct domain
    double drop else end escape exception exec execute exists external extract false fetch first float for foreign found
    from full get global go goto grant group having identity immediate index indicator initially inner input insensitive
    insert int integer interval into isolation join key language last left let level limit list local lower match max
    min missing module names national natural nchar next no null nullif numeric octet_length of on only open option
    order outer output overlaps pad partial pivot position precision prepare preserve primary prior privileges procedure
    public read real references relative remove restrict returning revoke right rollback rows schema scroll section
    select session session_user set sexp smallint some space sql sqlcode sqlerror sqlstate string struct substring sum
    symbol system_user table temporary then time timestamp to transaction translate translation trim true tuple unique
    unknown unpivot update upper usage user using value values varchar varying view when whenever where with work write
    zone
    """.split()
)

_token = re.compile(
    r"(?P<space>[ \t\r\n]+|--[^\n]*|/\*.*?\*/)"
    r"|(?P<word>[A-Za-z_$][A-Za-z0-9_$]*)"
    r'|(?P<quoted>"(?:[^"]|"")*")'
    r"|(?P<string>'(?:[^']|'')*')"
    r"|(?P<number>(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?(?![A-Za-z0-9_$]))"
    r"|(?P<operator><=|>=|<>|!=|\|\||<(?!<)|>(?!>)|/(?!\*)|[-+%=@])"
    r"|(?P<punctuation><<|>>|[(){}\[\],:.*?;])",
    re.DOTALL,
)


class Token(NamedTuple):
    """`text` is the token's meaning (unquoted, in small letters if reserved); `start` and `end` its place."""

    kind: str
    text: str
    start: int
    end: int


def malformed(detail: str = "") -> ValidationException:
    """The service's error about a statement that can't be read."""
    return ValidationException(NOT_WELL_FORMED + detail)


def place(statement: str, start: int, end: int) -> str:
    """Line, column and length of a part of a statement, as the service prints them."""
    line = statement.count("\n", 0, start) + 1
    column = start - (statement.rfind("\n", 0, start) + 1) + 1
    return f"{line}:{column}:{end - start}"


def tokenize(statement: str) -> list[Token]:
    """The tokens, the last one of kind "end". Raises ValidationException for what begins no token."""
    tokens: list[Token] = []
    position, length = 0, len(statement)
    while position < length:
        match = _token.match(statement, position)
        if match is None:
            raise malformed()
        start, position = position, match.end()
        kind = match.lastgroup or ""
        if kind != "space":
            _append(tokens, kind, match.group(), start, position)
    tokens.append(Token("end", "", length, length))
    return tokens


def _append(tokens: list[Token], kind: str, text: str, start: int, end: int) -> None:
    if kind == "word":
        lower = text.lower()
        if lower in WORD_OPERATORS:
            if tokens and tokens[-1].kind == "operator" and (tokens[-1].text, lower) in _PAIRED:
                first = tokens.pop()
                tokens.append(Token("operator", f"{first.text} {lower}", first.start, end))
                return
            kind, text = "operator", lower
        elif lower in KEYWORDS:
            kind, text = "keyword", lower
    elif kind == "quoted":
        text = text[1:-1].replace('""', '"')
    elif kind == "string":
        text = text[1:-1].replace("''", "'")
    elif kind == "operator":
        text = "<>" if text == "!=" else text
    elif kind == "number":
        _check_exponent(text)
    else:
        kind = text
    tokens.append(Token(kind, text, start, end))


def _check_exponent(text: str) -> None:
    """A number's exponent and scale have to fit a 32-bit integer (measured on the service)."""
    mantissa, letter, exponent = text.lower().partition("e")
    if not letter:
        return
    power = int(exponent.lstrip("+-").lstrip("0")[:12] or "0") * (-1 if exponent[0] == "-" else 1)
    scale = len(mantissa.partition(".")[2]) - power
    if not INT_MIN <= power <= INT_MAX or not INT_MIN <= scale <= INT_MAX:
        raise malformed()
