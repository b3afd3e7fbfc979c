"""Our parser of answers agrees with botocore's on every operation."""

from __future__ import annotations

import base64
from typing import Any

import botocore.session
import orjson
import pytest
from botocore import parsers
from hypothesis import given, settings
from hypothesis import strategies as st

from dynamometer.inprocess.parsing import parser_of

SESSION = botocore.session.Session()
MODELS = [SESSION.get_service_model(name) for name in ("dynamodb", "dynamodbstreams")]
OPERATIONS = [model.operation_model(name) for model in MODELS for name in model.operation_names]

blobs = st.binary(max_size=5).map(lambda raw: base64.b64encode(raw).decode())
texts = st.text(max_size=5)
scalars = st.one_of(
    texts.map(lambda text: {"S": text}),
    st.integers().map(lambda number: {"N": str(number)}),
    blobs.map(lambda blob: {"B": blob}),
    st.booleans().map(lambda flag: {"BOOL": flag}),
    st.just({"NULL": True}),
    st.lists(blobs, min_size=1, max_size=2).map(lambda members: {"BS": members}),
    st.lists(texts, min_size=1, max_size=2).map(lambda members: {"SS": members}),
)
attribute_values = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=2).map(lambda members: {"L": members}),
        st.dictionaries(texts, inner, max_size=2).map(lambda members: {"M": members}),
    ),
    max_leaves=4,
)


@st.composite
def bodies(draw: Any, shape: Any, depth: int = 0) -> Any:
    """A JSON value of a shape: members left out, null or unknown now and then."""
    match shape.type_name:
        case "structure":
            if shape.name == "AttributeValue":
                return draw(attribute_values)
            body: dict[str, Any] = {"NotInTheModel": 1} if draw(st.integers(0, 9)) == 0 else {}
            for name, member in shape.members.items():
                choice = draw(st.integers(0, 4 + depth))
                if choice < 3:
                    body[name] = draw(bodies(member, depth + 1)) if choice else None
            return body
        case "list":
            return [draw(bodies(shape.member, depth + 1)) for _ in range(draw(st.integers(0, 2)))]
        case "map":
            return {name: draw(bodies(shape.value, depth + 1)) for name in draw(st.sets(texts, max_size=2))}
        case "timestamp":
            return draw(st.sampled_from([0, 1_700_000_000, 1_700_000_000.5]))
        case "blob":
            return draw(blobs)
        case "boolean":
            return draw(st.booleans())
        case "integer" | "long":
            return draw(st.integers(-(2**53), 2**53))
        case "double" | "float":
            return draw(st.floats(-100, 100))
    return draw(texts)


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.name)
@given(data=st.data())
@settings(max_examples=8, deadline=None)
def test_answers_parse_as_botocore_parses_them(operation: Any, data: Any) -> None:
    shape = operation.output_shape
    body = orjson.dumps(data.draw(bodies(shape)) if shape is not None else {})
    theirs = parsers.create_parser("json").parse({"status_code": 200, "headers": {}, "body": body}, shape)
    del theirs["ResponseMetadata"]
    assert parser_of(shape)(body) == theirs
