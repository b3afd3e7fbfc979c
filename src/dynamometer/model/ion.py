"""Text Ion: the small part of it that tables are exported in and imported from.

    $ion_1_0 {Item:{pk:"a",n:103.,tags:$dynamodb_SS::["x","y"],b:{{aGVsbG8=}},gone:null}}

A value of a table has exactly one form in Ion, so writing is a lookup. Reading takes whatever text Ion may write for
those values (comments, quoted names, long strings, `6d2`, `0x1F`, typed nulls) and refuses what a table can't hold
(symbols, timestamps, clobs, S-expressions) and binary Ion. Source: the developer guide's pages on the output format of
exports and the input formats of imports.

What is read is not normalised: that is `values.normalize_item`'s work, as for any client's item.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import orjson

VERSION_MARKER = "$ion_1_0"
NESTING_MAX = 64
"""Deeper than any item may be: what is nested further is refused here, before Python's own limit."""
VALUE_CHARACTERS_MAX = 1 << 24
"""An unfinished value that is longer is no item."""

_SET_PREFIX = "$dynamodb_"


class IonError(ValueError):
    """The text is not Ion, or a value that no table can hold. What follows it can't be found."""


# --- Writing -----------------------------------------------------------------------------------------------------

_plain_name = re.compile(r"[A-Za-z_][A-Za-z0-9_]*").fullmatch
_KEYWORDS = frozenset({"null", "true", "false", "nan"})


def write_struct(entries: dict[str, Any]) -> str:
    """Names and attribute values as a struct."""
    writers = _WRITERS
    parts = []
    for name, value in entries.items():
        (tag,) = value
        parts.append(f"{_name(name)}:{writers[tag](value[tag])}")
    return "{" + ",".join(parts) + "}"


def write_string(text: str) -> str:
    """A string: JSON's escapes are Ion's too."""
    return orjson.dumps(text).decode()


def write_number(text: str) -> str:
    """A decimal. The service writes numbers without the zeros at their end: 600 is `6d2`."""
    if "." in text:
        return text
    digits = text.rstrip("0")
    zeros = len(text) - len(digits)
    return f"{digits}d{zeros}" if zeros and digits not in ("", "-") else text + "."


def _name(text: str) -> str:
    if _plain_name(text) and text not in _KEYWORDS:
        return text
    quoted = write_string(text)[1:-1].replace("'", "\\'")
    return f"'{quoted}'"


def _write_value(value: dict[str, Any]) -> str:
    (tag,) = value
    return _WRITERS[tag](value[tag])


def _blob(text: str) -> str:
    return "{{" + text + "}}"


def _bool(flag: bool) -> str:
    return "true" if flag else "false"


def _null(_: bool) -> str:
    return "null"


def _list(elements: list[dict[str, Any]]) -> str:
    return "[" + ",".join(map(_write_value, elements)) + "]"


def _set_writer(kind: str, write: Callable[[str], str]) -> Callable[[list[str]], str]:
    def write_set(members: list[str]) -> str:
        return f"{_SET_PREFIX}{kind}::[" + ",".join(map(write, members)) + "]"

    return write_set


_WRITERS: dict[str, Callable[[Any], str]] = {
    "S": write_string,
    "N": write_number,
    "B": _blob,
    "M": write_struct,
    "L": _list,
    "BOOL": _bool,
    "NULL": _null,
    "SS": _set_writer("SS", write_string),
    "NS": _set_writer("NS", write_number),
    "BS": _set_writer("BS", _blob),
}


# --- Reading -----------------------------------------------------------------------------------------------------

_space = re.compile(r"(?:\s+|//[^\n]*(?:\n|$)|/\*.*?\*/)*", re.DOTALL)
_token = re.compile(
    r"""
      "(?P<string>(?:[^"\\\n]|\\.)*)"
    | '''(?P<long>(?:[^'\\]|\\.|'(?!''))*)'''
    | '(?!'')(?P<quoted>(?:[^'\\\n]|\\.)*)'
    | \{\{\s*(?P<blob>[A-Za-z0-9+/=\s]*)\}\}
    | (?P<mark>::|[{}\[\],:])
    | (?P<number>[+-]?[0-9][\w.:+-]*)
    | (?P<name>[A-Za-z_$][\w$]*(?:\.[a-z]+)?)
    """,
    re.VERBOSE | re.DOTALL,
)
_simple_member = re.compile(r"""\s*([A-Za-z_][A-Za-z0-9_]*)\s*:\s*(?:"([^"\\\n]*)"|(-?[0-9][0-9.d]*))\s*([,}])""").match
"""A whole member of the kind that most are: a plain name, and a string without escapes or a number."""
_number = re.compile(r"-?(?:0|[1-9](?:_?[0-9])*)(?:\.(?:[0-9](?:_?[0-9])*)?)?(?:[dDeE][+-]?[0-9]+)?").fullmatch
_radix = re.compile(r"(-?)0([xXbB])([0-9A-Fa-f_]+)").fullmatch
_escape = re.compile(r"\\(x[0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8}|\r\n|.)", re.DOTALL)
_ESCAPES = {
    "0": "\0", "a": "\a", "b": "\b", "t": "\t", "n": "\n", "f": "\f", "r": "\r", "v": "\v",
    '"': '"', "'": "'", "?": "?", "\\": "\\", "/": "/", "\n": "", "\r": "", "\r\n": "",
}  # fmt: skip


class _Unfinished(Exception):
    """The text ends before the value does."""


def read_structs(pieces: Iterable[str]) -> Iterator[dict[str, Any]]:
    """The structs of a stream, one after the other: names to attribute values.

    Raises IonError at what is no struct; nothing behind it is read.
    """
    text, position = "", 0
    for piece in pieces:
        text, position = text[position:] + piece, 0
        while True:
            try:
                struct, position = _read_top(text, position)
            except _Unfinished:
                break
            if struct is None:
                break
            yield struct
        if len(text) - position > VALUE_CHARACTERS_MAX:
            raise IonError("a value is too long to be an item")
    text, position = text[position:] + "\n\n\n", 0
    while True:
        try:
            struct, position = _read_top(text, position)
        except _Unfinished:
            raise IonError("the text ends in the middle of a value") from None
        if struct is None:
            return
        yield struct


def _read_top(text: str, position: int) -> tuple[dict[str, Any] | None, int]:
    """The next struct and where it ends; None when only space is left."""
    parser = _Parser(text, position)
    start = position
    while True:
        parser.skip()
        if parser.position == len(text):
            return None, start
        match = parser.next()
        if match["mark"] == "{":
            return parser.struct(1), parser.position
        if match["name"] != VERSION_MARKER:
            raise IonError(f"there is {match[0][:20]!r} where a struct should begin")
        start = parser.position


class _Parser:
    """Reads one value by recursive descent. Values become attribute values as they are read."""

    __slots__ = ("position", "text")

    def __init__(self, text: str, position: int) -> None:
        self.text = text
        self.position = position

    def skip(self) -> None:
        """Pass space and comments."""
        match = _space.match(self.text, self.position)
        assert match is not None
        self.position = match.end()

    def next(self) -> re.Match[str]:
        """The next token."""
        self.skip()
        match = _token.match(self.text, self.position)
        if match is None:
            rest = self.text[self.position : self.position + 3]
            if len(self.text) - self.position < 3 or rest[0] in "\"'{/":
                # a string, blob or comment whose end has not come yet; at the end of the stream that is an error
                raise _Unfinished
            raise IonError(f"{rest!r} begins no value that a table can hold")
        if match["mark"] == "{" and self.text.startswith("{{", self.position):
            if "}}" not in self.text[self.position :]:
                raise _Unfinished
            raise IonError("{{ }} holds no base64")
        self.position = match.end()
        if self.position == len(self.text) and match.lastgroup in ("number", "name", "quoted"):
            raise _Unfinished
        return match

    def mark(self) -> str:
        """The next token, which has to be a mark."""
        mark = self.next()["mark"]
        if mark is None:
            raise IonError("a comma or bracket is missing")
        return mark

    def struct(self, depth: int) -> dict[str, Any]:
        """The fields of a struct whose brace was read."""
        fields: dict[str, Any] = {}
        while True:
            simple = _simple_member(self.text, self.position)
            if simple is not None:
                name, string, number, closing = simple.groups()
                if name in fields or name in _KEYWORDS:
                    raise IonError(f"a struct has the name {name!r} twice, or unquoted")
                fields[name] = {"S": string} if number is None else {"N": _number_text(number)}
                self.position = simple.end()
                if closing == "}":
                    return fields
                continue
            match = self.next()
            if match["mark"] == "}":
                return fields
            name = self._field_name(match)
            if self.mark() != ":":
                raise IonError("a name in a struct is followed by a colon")
            if name in fields:
                raise IonError("a struct has one name twice")
            fields[name] = self.value(self.next(), depth)
            closing = self.mark()
            if closing == "}":
                return fields
            if closing != ",":
                raise IonError("a comma or brace is missing in a struct")

    @staticmethod
    def _field_name(match: re.Match[str]) -> str:
        name = match["name"]
        if name is not None and "." not in name and name not in _KEYWORDS:
            return name
        for kind in ("quoted", "string", "long"):
            if match[kind] is not None:
                return _unescape(match[kind])
        raise IonError(f"{match[0][:20]!r} is not a name")

    def value(self, match: re.Match[str], depth: int) -> dict[str, Any]:
        """The attribute value that begins with a token."""
        if depth > NESTING_MAX:
            raise IonError("values are nested too deep")
        kind = match.lastgroup
        content = match[kind or 0]
        if kind == "string":
            return {"S": _unescape(content)}
        if kind == "number":
            return {"N": _number_text(content)}
        if kind == "name":
            return self._named(content, depth)
        if kind == "mark":
            if content == "{":
                return {"M": self.struct(depth + 1)}
            if content == "[":
                return {"L": self._elements(depth + 1)}
        elif kind == "blob":
            return {"B": "".join(content.split())}
        elif kind == "long":
            return {"S": self._long_string(content)}
        elif kind == "quoted" and self._at("::"):
            return self._annotated(_unescape(content), depth)
        raise IonError(f"{match[0][:20]!r} is no value that a table can hold")

    def _at(self, mark: str) -> bool:
        """Whether a mark follows."""
        self.skip()
        if len(self.text) - self.position < len(mark):
            raise _Unfinished
        return self.text.startswith(mark, self.position)

    def _named(self, name: str, depth: int) -> dict[str, Any]:
        if name in ("true", "false"):
            return {"BOOL": name == "true"}
        if name.partition(".")[0] == "null":
            return {"NULL": True}
        if self._at("::"):
            return self._annotated(name, depth)
        raise IonError(f"{name!r} is a symbol, which no table can hold")

    def _annotated(self, annotation: str, depth: int) -> dict[str, Any]:
        self.next()
        value = self.value(self.next(), depth)
        kind = annotation.removeprefix(_SET_PREFIX)
        if annotation == kind or kind not in ("SS", "NS", "BS") or "L" not in value:
            raise IonError(f"the annotation {annotation!r} is unknown, or not before a list")
        try:
            return {kind: [element[kind[0]] for element in value["L"]]}
        except KeyError:
            raise IonError(f"a member of a set of type {kind} has another type") from None

    def _elements(self, depth: int) -> list[dict[str, Any]]:
        elements: list[dict[str, Any]] = []
        while True:
            match = self.next()
            if match["mark"] == "]":
                return elements
            elements.append(self.value(match, depth))
            closing = self.mark()
            if closing == "]":
                return elements
            if closing != ",":
                raise IonError("a comma or bracket is missing in a list")

    def _long_string(self, first: str) -> str:
        parts = [_unescape(first)]
        while self._at("'''"):
            parts.append(_unescape(self.next()["long"] or ""))
        return "".join(parts)


def _number_text(text: str) -> str:
    if _number(text) is not None:
        text = text.replace("_", "").replace("d", "e").replace("D", "e")
        return text.replace(".e", "e").removesuffix(".")
    radix = _radix(text)
    if radix is None:
        raise IonError(f"{text[:20]!r} is not a number that a table can hold")
    sign, base, digits = radix.groups()
    try:
        return sign + str(int(digits, 16 if base in "xX" else 2))
    except ValueError:
        raise IonError(f"{text[:20]!r} is not a number") from None


def _unescape(text: str) -> str:
    return _escape.sub(_unescaped, text) if "\\" in text else text


def _unescaped(match: re.Match[str]) -> str:
    code = match[1]
    if code[0] in "xuU" and len(code) > 1:
        try:
            return chr(int(code[1:], 16))
        except (ValueError, OverflowError):
            raise IonError(f"\\{code} is not a character") from None
    try:
        return _ESCAPES[code]
    except KeyError:
        raise IonError(f"\\{code} is not an escape") from None
