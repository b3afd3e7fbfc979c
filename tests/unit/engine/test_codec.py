"""What an index keeps of an item: the short ways give what the long ones give."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from dynamometer.engine import stored
from dynamometer.engine.codec import IndexCodec, IndexKeyError
from dynamometer.model import values
from dynamometer.model.schema import IndexSchema, KeyAttribute, KeySchema
from tests.unit import strategies

NAMES = ["a", "b", 'quo"te', "back\\slash", "é", "\u2028", "tab\t"]

_attributes = st.builds(KeyAttribute, st.sampled_from(NAMES), st.sampled_from(["S", "N", "B"]))
_schemas = st.lists(_attributes, min_size=1, max_size=2, unique_by=lambda attribute: attribute.name)
_values = st.one_of(
    st.builds(lambda text: {"S": text}, st.text(max_size=3) | st.just("x" * 1500) | st.just("x" * 3000)),
    st.builds(lambda number: {"N": str(number)}, st.integers(-5, 5)),
    st.sampled_from([{"B": ""}, {"B": "AA=="}, {"B": "AAD/"}, {"BOOL": True}]),
)
_items = st.dictionaries(st.sampled_from(NAMES), _values, max_size=4)


def codec_of(attributes: list[KeyAttribute]) -> IndexCodec:
    key = KeySchema((attributes[0],), tuple(attributes[1:]))
    return IndexCodec(IndexSchema("i", 1, True, key, "ALL", (), None), b"")


def outcome(call: Any, item: dict[str, Any]) -> Any:
    try:
        return call(item)
    except IndexKeyError as error:
        return error.kind, error.attribute, error.actual


@given(_schemas, _items, strategies.items)
def test_the_short_way_to_a_position_is_the_long_one(
    attributes: list[KeyAttribute], keys: dict[str, Any], others: dict[str, Any]
) -> None:
    codec, item = codec_of(attributes), others | keys
    values.normalize_item(item)
    assert outcome(codec.position, item) == outcome(codec._position, item)


@given(_schemas, _items, strategies.items)
def test_an_item_that_is_said_to_lack_an_index_key_has_no_entry(
    attributes: list[KeyAttribute], keys: dict[str, Any], others: dict[str, Any]
) -> None:
    codec, item = codec_of(attributes), others | keys
    size = values.normalize_item(item)
    named = all(attribute.name in item for attribute in attributes)
    assert codec.may_hold(stored.encode(item, size)) or not named


def test_an_item_without_an_index_key_is_seen_to_lack_it() -> None:
    codec = codec_of([KeyAttribute("a", "S")])
    assert not codec.may_hold(stored.encode({"b": {"S": "a"}}, 3))
