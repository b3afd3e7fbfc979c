"""Numbers: what is accepted, how it is written and sized, exact sums, and an order that bytes keep."""

from __future__ import annotations

from decimal import Context, Decimal, Inexact
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynamometer.base.errors import ValidationException
from dynamometer.model import numbers
from tests.unit import strategies

EXACT = Context(prec=400, Emin=-9999, Emax=9999, traps=[Inexact])


def refusal(text: str) -> str | None:
    with pytest.raises(ValidationException) as caught:
        numbers.normalize(text)
    return caught.value.message


@pytest.mark.parametrize(
    ("written", "canonical"),
    [
        ("0", "0"),
        ("-0", "0"),
        ("+0.0", "0"),
        ("00", "0"),
        ("0e125", "0"),
        ("0.0e126", "0"),
        ("0e-130", "0"),
        ("7", "7"),
        ("007", "7"),
        ("+3", "3"),
        ("100", "100"),
        ("100.000", "100"),
        ("1.10", "1.1"),
        (".5", "0.5"),
        ("5.", "5"),
        ("-.5", "-0.5"),
        ("-0.5", "-0.5"),
        ("0.10", "0.1"),
        ("1e3", "1000"),
        ("1E+3", "1000"),
        ("1.23e4", "12300"),
        ("1.23e-1", "0.123"),
        ("123e-2", "1.23"),
        ("-17.4E37", "-174" + "0" * 36),
        ("1e-20", "0." + "0" * 19 + "1"),
        ("0.1e126", "1" + "0" * 125),
        ("1e125", "1" + "0" * 125),
        ("1e-130", "0." + "0" * 129 + "1"),
        ("1.5e-130", "0." + "0" * 129 + "15"),
        ("1e0000000000000000000000003", "1000"),
        ("3.1415926535897932384626433832795028841", "3.1415926535897932384626433832795028841"),
        ("0000000000000000000000000000000000000000000042.1200", "42.12"),
    ],
)
def test_a_number_has_one_canonical_text(written: str, canonical: str) -> None:
    assert numbers.normalize(written) == canonical
    assert numbers.normalize(written) == canonical, "seen or not"
    assert numbers.normalize(canonical) == canonical


@pytest.mark.parametrize("text", ["NaN", "Infinity", "-Infinity", "dog", " 1", "1 ", "1\n", "0x1", "1_0", "٣", "--1"])
def test_what_is_no_number_is_named(text: str) -> None:
    assert refusal(text) == f"The parameter cannot be converted to a numeric value: {text}"


@pytest.mark.parametrize("text", [".", "-", "e5", "1e", "1e+", "1.2.3", "1e9223372036854775808", "1e" + "9" * 50])
def test_half_a_number_is_none(text: str) -> None:
    assert refusal(text) == f"The parameter cannot be converted to a numeric value: {text}"


def test_an_empty_number_is_not_quoted() -> None:
    assert refusal("") == "The parameter cannot be converted to a numeric value"


@pytest.mark.parametrize(
    "text", ["1e126", "-1e126", "11e125", "0e126", "1e99999999999", "1" + "0" * 126, "1e2147483648"]
)
def test_too_large_a_magnitude_overflows(text: str) -> None:
    assert refusal(text) == numbers.OVERFLOW


@pytest.mark.parametrize("text", ["1e-131", "0.9e-130", "-1e-131", "0e-131", "1e-99999999999", "0.00e-129"])
def test_too_small_a_magnitude_underflows(text: str) -> None:
    assert refusal(text) == numbers.UNDERFLOW


@pytest.mark.parametrize("text", ["1" * 39, "3.14159265358979323846264338327950288419", "-" + "1" * 39 + "e30"])
def test_more_than_38_digits_are_refused(text: str) -> None:
    assert refusal(text) == "Attempting to store more than 38 significant digits in a Number"


def test_magnitude_is_checked_before_precision() -> None:
    assert refusal("1" * 39 + "e100") == numbers.OVERFLOW


@pytest.mark.parametrize(
    ("written", "canonical"), [("1e{}2", "100"), ("1e+{}2", "100"), ("100e-{}2", "1"), ("5e{}", "5")]
)
def test_zeros_before_an_exponent_carry_no_value(written: str, canonical: str) -> None:
    assert numbers.normalize(written.format("0" * 10_000)) == canonical


def test_long_nonsense_is_refused_in_linear_time() -> None:
    for text in ("1" * 1_000_000 + "x", "0." + "0" * 1_000_000 + "x", "1e" + "0" * 1_000_000 + "x"):
        assert refusal(text) == f"The parameter cannot be converted to a numeric value: {text}"


@given(strategies.numbers())
def test_the_canonical_text_is_the_plain_decimal(text: str) -> None:
    assert numbers.normalize(text) == strategies.plain(Decimal(text))


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("0", 1),
        ("1", 2),
        ("12", 2),
        ("100", 2),
        ("123", 3),
        ("1234", 3),
        ("1010", 3),
        ("12345", 4),
        ("123456", 4),
        ("1234567890123456789", 11),
        ("9" * 38, 20),
        ("0.0000001", 2),
        ("1" + "0" * 125, 2),
        ("0." + "0" * 99 + "1", 2),
        ("0.15", 2),
        ("1.5", 3),
        ("1.234", 4),
        ("100.5", 4),
        ("3.14159", 5),
        ("-42", 3),
        ("-0.15", 3),
        ("-12345", 5),
    ],
)
def test_a_number_counts_what_the_service_was_seen_to_count(text: str, size: int) -> None:
    assert numbers.size(text) == size
    assert numbers.measure(text) == (text, size)
    assert numbers.size(text) == size, "seen or not"


@given(strategies.numbers())
def test_the_size_follows_from_the_digits_on_each_side(text: str) -> None:
    canonical, size = numbers.measure(text)
    whole, _, fraction = canonical.lstrip("-").partition(".")
    whole_digits = whole.lstrip("0") if fraction else whole.strip("0")
    fraction_digits = fraction if whole_digits else fraction.lstrip("0")
    expected = 1 + (len(whole_digits) + 1) // 2 + (len(fraction_digits) + 1) // 2 + canonical.startswith("-")
    assert size == expected == numbers.size(canonical)


@given(strategies.decimals(), strategies.decimals())
def test_codes_sort_as_the_numbers_do(a: Decimal, b: Decimal) -> None:
    code_a, code_b = (numbers.encode(strategies.plain(number)) for number in (a, b))
    assert (code_a < code_b) == (a < b)
    assert (code_a == code_b) == (a == b)


@given(strategies.decimals(), st.integers(-1, 1), st.integers(0, 37))
def test_codes_of_neighbours_sort_as_the_numbers_do(a: Decimal, step: int, digit: int) -> None:
    b = EXACT.add(a, Decimal(step).scaleb(a.adjusted() - digit))
    if len(b.as_tuple().digits) <= 38 and -130 <= b.adjusted() <= 125:
        code_a, code_b = (numbers.encode(strategies.plain(number)) for number in (a, b))
        assert (code_a < code_b, code_a == code_b) == (a < b, a == b)


@given(st.lists(strategies.decimals(), unique=True, min_size=2))
def test_no_code_begins_with_another(drawn: list[Decimal]) -> None:
    codes = sorted(numbers.encode(strategies.plain(number)) for number in drawn)
    assert not any(longer.startswith(code) for code, longer in pairwise(codes))


def test_the_ends_of_the_range_have_codes_in_order() -> None:
    largest = "9" * 38 + "0" * 88
    smallest = "0." + "0" * 129 + "1"
    ordered = [
        "-" + largest,
        "-1.01",
        "-1.001",
        "-1",
        "-" + smallest,
        "0",
        smallest,
        "1",
        "1.001",
        "1.01",
        "10",
        largest,
    ]
    codes = [numbers.encode(text) for text in ordered]
    assert codes == sorted(codes)
    assert len(set(codes)) == len(codes)


@given(strategies.decimals(), strategies.decimals())
def test_sums_are_exact_or_refused(a: Decimal, b: Decimal) -> None:
    for operation, exact in ((numbers.add, EXACT.add(a, b)), (numbers.subtract, EXACT.subtract(a, b))):
        texts = strategies.plain(a), strategies.plain(b)
        plain = strategies.plain(exact)
        if exact and exact.adjusted() < -130:
            expected = numbers.UNDERFLOW
        elif exact.adjusted() > 125 or len(plain.lstrip("-").replace(".", "").strip("0")) > 38:
            expected = numbers.OVERFLOW
        else:
            assert operation(*texts) == plain
            continue
        with pytest.raises(ValidationException) as caught:
            operation(*texts)
        assert caught.value.message == expected


@pytest.mark.parametrize(
    ("a", "b"), [("1" + "0" * 50, "1"), ("9" + "0" * 125, "9" + "0" * 125), ("0.1", "1" + "0" * 40)]
)
def test_a_sum_that_38_digits_cannot_hold_overflows(a: str, b: str) -> None:
    with pytest.raises(ValidationException, match="Number overflow"):
        numbers.add(a, b)


def test_a_difference_below_the_range_underflows() -> None:
    with pytest.raises(ValidationException, match="Number underflow"):
        numbers.subtract(numbers.normalize("1.1e-130"), numbers.normalize("1e-130"))


def test_small_sums() -> None:
    assert numbers.add("1", "2") == "3"
    assert numbers.add("-0.5", "0.5") == "0"
    assert numbers.subtract("0", "0") == "0"
    assert numbers.subtract("1", "-0.25") == "1.25"
    assert numbers.add("90", "10") == "100"


@given(strategies.decimals(), strategies.decimals())
def test_numbers_compare_by_value(a: Decimal, b: Decimal) -> None:
    key_a, key_b = (numbers.compare_key(strategies.plain(number)) for number in (a, b))
    assert (key_a < key_b, key_a == key_b) == (a < b, a == b)


def test_what_was_seen_is_forgotten_in_time() -> None:
    for number in range(20_000):
        assert numbers.normalize(f"{number}.0") == str(number)
    assert len(numbers._seen) <= 8192
