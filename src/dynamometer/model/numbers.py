"""Numbers: up to 38 significant digits, magnitudes from 1E-130 to 9.99...E+125, and zero; exact throughout.

A number at rest is its canonical text: plain decimal, no exponent, no plus sign, no zeros that carry no value
(`007.10` is `7.1`, `1e3` is `1000`, `-0` is `0`). Two numbers are equal exactly when their canonical texts are.

    normalize, measure    text as a client wrote it -> canonical text (and size), or the service's error
    size, encode          of canonical text: billed bytes; bytes that sort as the numbers do
    add, subtract         of canonical texts, exact or refused

Every number of every item passes here, so `measure` keeps what it has seen: numbers repeat (0, 1, prices, counters).
"""

from __future__ import annotations

import re
from binascii import unhexlify
from decimal import Decimal

from dynamometer.base.errors import ValidationException

SIGNIFICANT_DIGITS_MAX = 38
EXPONENT_MIN = -130
EXPONENT_MAX = 125

OVERFLOW = "Number overflow. Attempting to store a number with magnitude larger than supported range"
UNDERFLOW = "Number underflow. Attempting to store a number with magnitude smaller than supported range"
TOO_PRECISE = "Attempting to store more than 38 significant digits in a Number"
NOT_A_NUMBER = "The parameter cannot be converted to a numeric value"

_canonical = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]*[1-9])?").fullmatch
_number = re.compile(r"([+-]?)([0-9]*)(?:\.([0-9]*))?(?:[eE]([+-]?[0-9]+))?").fullmatch

_EXPONENT_DIGITS_MAX = 19
_LONG_MAX = 2**63 - 1
_INTEGER_LIMIT = 10**SIGNIFICANT_DIGITS_MAX

_SEEN_TEXT_MAX = 38
_SEEN_MAX = 8192
_seen: dict[str, tuple[str, int]] = {}

seen = _seen.get
"""What `measure` would answer for a text it has seen lately, or None."""


def measure(text: str) -> tuple[str, int]:
    """The canonical text of a number and its size, or the service's error."""
    known = _seen.get(text)
    if known is not None:
        return known
    if len(text) > _SEEN_TEXT_MAX:
        return _normalize(text)
    # At most 38 characters of canonical shape can't break a limit; "-0" alone has the shape and isn't canonical.
    known = (text, _size(text)) if _canonical(text) is not None and text != "-0" else _normalize(text)
    if len(_seen) >= _SEEN_MAX:
        _seen.clear()
    _seen[text] = known
    return known


def normalize(text: str) -> str:
    """The canonical text of a number, or the service's error."""
    return measure(text)[0]


def size(text: str) -> int:
    """How many bytes a canonical number counts."""
    known = _seen.get(text)
    return _size(text) if known is None else known[1]


def _size(text: str) -> int:
    """One byte, one for a minus sign, one per two significant digits on either side of the point.

    Measured on the service to the byte, at the item size limit; the developer guide only gives an approximation.
    """
    whole, _, fraction = text.partition(".")
    total = 1
    if whole[0] == "-":
        whole = whole[1:]
        total = 2
    if fraction:
        if whole == "0":
            return total + (len(fraction.lstrip("0")) + 1 >> 1)
        return total + (len(whole) + 1 >> 1) + (len(fraction) + 1 >> 1)
    return total + (len(whole.rstrip("0")) + 1 >> 1)


def _normalize(text: str) -> tuple[str, int]:
    match = _number(text)
    if match is None:
        raise _not_a_number(text)
    sign, whole, fraction, exponent_text = match.groups("")
    digits = whole + fraction
    if not digits:
        raise _not_a_number(text)
    exponent = -len(fraction)
    if exponent_text:
        exponent += _exponent(exponent_text, text)
    canonical = _compose(sign == "-", digits, exponent)
    return canonical, _size(canonical)


def _exponent(exponent_text: str, text: str) -> int:
    """The exponent, unless it doesn't fit in 64 bits: measured on the service, that is no number at all."""
    digits = exponent_text.lstrip("+-").lstrip("0")
    if len(digits) > _EXPONENT_DIGITS_MAX:
        raise _not_a_number(text)
    exponent = int(digits or "0")
    if exponent_text[0] == "-":
        exponent = -exponent
    if not -_LONG_MAX - 1 <= exponent <= _LONG_MAX:
        raise _not_a_number(text)
    return exponent


def _compose(negative: bool, digits: str, exponent: int) -> str:
    """Canonical text of digits * 10**exponent, or the service's error. Magnitude is checked before precision."""
    digits = digits.lstrip("0")
    significant = digits.rstrip("0")
    exponent += len(digits) - len(significant)
    # Zero is checked by the exponent it is written with (0e126 is refused, 0.0e126 is not): measured on the service.
    highest = exponent + len(significant) - 1 if significant else exponent
    if highest > EXPONENT_MAX:
        raise ValidationException(OVERFLOW)
    if highest < EXPONENT_MIN:
        raise ValidationException(UNDERFLOW)
    if len(significant) > SIGNIFICANT_DIGITS_MAX:
        raise ValidationException(TOO_PRECISE)
    if not significant:
        return "0"
    if exponent >= 0:
        text = significant + "0" * exponent
    elif highest >= 0:
        text = f"{significant[: highest + 1]}.{significant[highest + 1 :]}"
    else:
        text = f"0.{'0' * (-highest - 1)}{significant}"
    return "-" + text if negative else text


def _not_a_number(text: str) -> ValidationException:
    return ValidationException(f"{NOT_A_NUMBER}: {text}" if text else NOT_A_NUMBER)


def compare_key(text: str) -> int | Decimal:
    """What canonical numbers are compared by: exact, and cheap for integers."""
    return Decimal(text) if "." in text else int(text)


def add(a: str, b: str) -> str:
    """The exact sum of two canonical numbers, or the service's error.

    A sum that needs more than 38 digits is refused with the overflow text, however small: measured on the service.
    """
    if "." in a or "." in b:
        return _add_decimals(a, b)
    total = int(a) + int(b)
    if -_INTEGER_LIMIT < total < _INTEGER_LIMIT:
        return str(total)
    return _result(total, 0)


def subtract(a: str, b: str) -> str:
    """The exact difference of two canonical numbers, or the service's error."""
    return add(a, b[1:] if b[0] == "-" else "-" + b)


def _add_decimals(a: str, b: str) -> str:
    whole_a, _, fraction_a = a.partition(".")
    whole_b, _, fraction_b = b.partition(".")
    scale = max(len(fraction_a), len(fraction_b))
    total = int(whole_a + fraction_a) * 10 ** (scale - len(fraction_a))
    total += int(whole_b + fraction_b) * 10 ** (scale - len(fraction_b))
    return _result(total, -scale)


def _result(total: int, exponent: int) -> str:
    if not total:
        return "0"
    try:
        return _compose(total < 0, str(abs(total)), exponent)
    except ValidationException as error:
        if error.message == TOO_PRECISE:
            raise ValidationException(OVERFLOW) from None
        raise


# --- Bytes that sort as the numbers do ---------------------------------------------------------------------------
#
#     negative   00, exponent inverted, digits inverted      nibbles: digit d is 14 - d, end is 15
#     zero       01
#     positive   02, exponent + 130, digits                  nibbles: digit d is d + 1, end is 0
#
# The exponent is that of the first significant digit. The end nibble, doubled where the last byte needs it, makes
# the code its own terminator: no code begins with another, so anything may follow it in a key.

_POSITIVE_HEADS = tuple(bytes((2, biased)) for biased in range(256))
_NEGATIVE_HEADS = tuple(bytes((0, 255 - biased)) for biased in range(256))
_POSITIVE_DIGITS = bytes.maketrans(b"0123456789", b"123456789a")
_NEGATIVE_DIGITS = bytes.maketrans(b"0123456789", b"edcba98765")
_ZERO = b"\x01"


def encode(text: str) -> bytes:
    """Bytes of a canonical number: their order is the numbers' order, and no code is the beginning of another."""
    negative = text[0] == "-"
    whole, _, fraction = text[negative:].partition(".")
    if whole != "0":
        biased = len(whole) - 1 - EXPONENT_MIN
        significant = whole + fraction if fraction else whole.rstrip("0")
    elif fraction:
        significant = fraction.lstrip("0")
        biased = len(significant) - len(fraction) - 1 - EXPONENT_MIN
    else:
        return _ZERO
    digits = significant.encode()
    odd = len(digits) & 1
    if negative:
        return _NEGATIVE_HEADS[biased] + unhexlify(digits.translate(_NEGATIVE_DIGITS) + (b"f" if odd else b"ff"))
    return _POSITIVE_HEADS[biased] + unhexlify(digits.translate(_POSITIVE_DIGITS) + (b"0" if odd else b"00"))
