"""Text Ion: what is written is read back, however it is cut into pieces, and other writers' forms are understood."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dynamometer.model import ion
from dynamometer.model.values import normalize_item
from tests.unit import strategies


def read(text: str, size: int | None = None) -> list[dict[str, object]]:
    """The structs of a text that comes in pieces of a size."""
    pieces = [text] if size is None else [text[start : start + size] for start in range(0, len(text), size)]
    return list(ion.read_structs(pieces))


@settings(deadline=None)
@given(strategies.items, st.integers(1, 40))
def test_items_come_back(item: dict[str, dict[str, object]], size: int) -> None:
    normalize_item(item)
    text = f"{ion.VERSION_MARKER} {ion.write_struct({'Item': {'M': item}})}\n"
    structs = read(text * 2, size)
    assert len(structs) == 2
    for struct in structs:
        found = struct["Item"]["M"]  # type: ignore[index]
        normalize_item(found)
        assert found == item


@pytest.mark.parametrize(
    ("number", "text"),
    [("103", "103."), ("600", "6d2"), ("0", "0."), ("-20", "-2d1"), ("0.5", "0.5"), ("-1.25", "-1.25")],
)
def test_numbers_are_decimals_as_the_service_writes_them(number: str, text: str) -> None:
    assert ion.write_number(number) == text


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("103", {"N": "103"}),
        ("103.", {"N": "103"}),
        ("6d2", {"N": "6e2"}),
        ("1_000.25", {"N": "1000.25"}),
        ("-1.5e-3", {"N": "-1.5e-3"}),
        ("0x1F", {"N": "31"}),
        ("-0b101", {"N": "-5"}),
        ('"a\\u00e9\\x41\\n\\\'"', {"S": "a\u00e9A\n'"}),
        ("'''one''' '''two'''", {"S": "onetwo"}),
        ("{{ aGVs bG8= }}", {"B": "aGVsbG8="}),
        ("{{}}", {"B": ""}),
        ("null", {"NULL": True}),
        ("null.string", {"NULL": True}),
        ("[1, true, ]", {"L": [{"N": "1"}, {"BOOL": True}]}),
        ("$dynamodb_SS::['''a''', \"b\"]", {"SS": ["a", "b"]}),
        ("'$dynamodb_NS' :: [1, 2.]", {"NS": ["1", "2"]}),
        ("{'a b': {\"c\": false,},}", {"M": {"a b": {"M": {"c": {"BOOL": False}}}}}),
    ],
)
def test_forms_of_values(text: str, value: dict[str, object]) -> None:
    for size in (1, 2, 3, None):
        assert read(f"/* a */ {{ x : {text} }} // the end", size) == [{"x": value}]


@pytest.mark.parametrize(
    "text",
    [
        "{x: symbol}", "{x: 'symbol'}", "{x: 2020-01-01T}", "{x: (1 2)}", '{x: {{"clob"}}}', "{x: nan}", "{x: +inf}",
        "{x: 1 y: 2}", "{x: 1, x: 2}", "{x 1}", "{null: 1}", "{x: $dynamodb_SS::[1]}", "{x: unit::1}", '{x: "\\q"}',
        "{x: 01}", "{x: 1", '{x: "', "{x: {{aGVs", "/* no end", "{x: [1", "1", '"text"', "[{x: 1}]", "{{}}",
        "\x00\xea", "{x: " + "[" * 100 + "]" * 100 + "}", "{x: 0x}", '{x: "\\UFFFFFFFF"}',
    ],
)  # fmt: skip
def test_what_no_table_can_hold(text: str) -> None:
    for size in (1, 3, None):
        with pytest.raises(ion.IonError):
            read(text, size)


def test_what_comes_before_is_read() -> None:
    structs = ion.read_structs(["{x: 1} {x: 2} {x: nonsense} {x: 3}"])
    assert [next(structs), next(structs)] == [{"x": {"N": "1"}}, {"x": {"N": "2"}}]
    with pytest.raises(ion.IonError):
        next(structs)


def test_a_value_without_end_is_not_collected_for_ever() -> None:
    with pytest.raises(ion.IonError, match="too long"):
        list(ion.read_structs(['{x: "', *(["y" * 1_000_000] * 20)]))
