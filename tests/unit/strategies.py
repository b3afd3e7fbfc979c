"""What Hypothesis draws values, items and numbers from.

`numbers` and `items` are as a client may write them, and good; normalise them first where canonical ones are needed.
"""

from __future__ import annotations

from base64 import b64encode
from decimal import Decimal
from typing import Any

from hypothesis import strategies as st

MAGNITUDE = st.integers(-130, 125)
DIGITS = st.integers(1, 10**38 - 1)


@st.composite
def decimals(draw: st.DrawFn) -> Decimal:
    """Any number the service holds: zero, or a sign, up to 38 digits and a magnitude."""
    digits = str(draw(st.one_of(st.integers(1, 999), DIGITS)))
    magnitude = draw(st.one_of(st.integers(-3, 40), MAGNITUDE))
    sign = draw(st.sampled_from(("", "-")))
    # From text, because arithmetic would round to the context's 28 digits.
    return Decimal(f"{sign}{digits}e{magnitude - len(digits) + 1}") if draw(st.integers(0, 9)) else Decimal(0)


def plain(number: Decimal) -> str:
    """A number's canonical text, the slow and obvious way."""
    text = format(number, "f")
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    return "0" if text in ("-0", "") else text


@st.composite
def numbers(draw: st.DrawFn) -> str:
    """A number in one of the ways of writing it."""
    number = draw(decimals())
    if not draw(st.booleans()):
        return plain(number)
    sign, digits, exponent = number.as_tuple()
    assert isinstance(exponent, int)
    zeros = "0" * draw(st.integers(0, 3))
    if not number:
        return f"{draw(st.sampled_from(('', '-', '+')))}{zeros}0"
    coefficient = zeros + "".join(map(str, digits)) + "0" * len(zeros)
    point = draw(st.integers(0, len(coefficient)))
    exponent += len(coefficient) - point - len(zeros)
    mark = draw(st.sampled_from(("e", "E", "e+"))) if exponent >= 0 else "e"
    plus = draw(st.sampled_from(("", "+")))
    return f"{'-' if sign else plus}{coefficient[:point]}.{coefficient[point:]}{mark}{exponent}"


texts = st.text(max_size=12)
names = st.text(min_size=1, max_size=8)
binaries = st.binary(max_size=12).map(lambda content: b64encode(content).decode())

scalars: st.SearchStrategy[dict[str, Any]] = st.one_of(
    texts.map(lambda text: {"S": text}),
    numbers().map(lambda text: {"N": text}),
    binaries.map(lambda text: {"B": text}),
    st.booleans().map(lambda flag: {"BOOL": flag}),
    st.just({"NULL": True}),
)

sets: st.SearchStrategy[dict[str, Any]] = st.one_of(
    st.lists(texts, min_size=1, max_size=5, unique=True).map(lambda members: {"SS": members}),
    st.lists(numbers(), min_size=1, max_size=5, unique_by=Decimal).map(lambda members: {"NS": members}),
    st.lists(binaries, min_size=1, max_size=5, unique=True).map(lambda members: {"BS": members}),
)

values: st.SearchStrategy[dict[str, Any]] = st.recursive(
    scalars | sets,
    lambda children: st.one_of(
        st.lists(children, max_size=4).map(lambda elements: {"L": elements}),
        st.dictionaries(st.text(max_size=8), children, max_size=4).map(lambda entries: {"M": entries}),
    ),
    max_leaves=12,
)

items: st.SearchStrategy[dict[str, Any]] = st.dictionaries(names, values, max_size=6)
