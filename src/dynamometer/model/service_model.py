"""The service's own request model: which members an operation takes, and what each may hold.

The model is the data file that botocore ships; only the file is read, botocore itself is never imported here. Each
service's file is read once, on first use, and only the inputs of its operations are kept: documentation and outputs
would be most of the memory.
"""

from __future__ import annotations

import gzip
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import orjson

SERVICES = {"dynamodb": "dynamodb/2012-08-10", "dynamodbstreams": "dynamodbstreams/2012-08-10"}
"""By service: the folder of its model below botocore's data."""

RECURSIVE = "AttributeValue"
"""The one structure that contains itself."""


@dataclass(frozen=True, slots=True)
class Shape:
    """One type of the model. `members` is of a structure, `element` of a list or map (by name), `key` of a map."""

    name: str
    type: str
    minimum: int | None
    maximum: int | None
    pattern: str | None
    enum: tuple[str, ...]
    required: tuple[str, ...]
    members: dict[str, str]
    element: str
    key: str


@dataclass(frozen=True, slots=True)
class Model:
    """One service: operations to the names of their input shapes, and the shapes that inputs are made of.

    `outputs`: the operations whose answer has a body.
    """

    inputs: dict[str, str]
    shapes: dict[str, Shape]
    outputs: frozenset[str]


@cache
def load(service: str) -> Model:
    """The model of a service, from the file that is installed."""
    raw = orjson.loads(gzip.decompress(_path(service).read_bytes()))
    inputs = {name: operation.get("input", {"shape": ""})["shape"] for name, operation in raw["operations"].items()}
    shapes: dict[str, Shape] = {"": _shape("", {"type": "structure"})}
    pending = [name for name in inputs.values() if name]
    while pending:
        name = pending.pop()
        if name not in shapes:
            shapes[name] = shape = _shape(name, raw["shapes"][name])
            pending += [*shape.members.values(), *filter(None, (shape.element, shape.key))]
    return Model(inputs, shapes, frozenset(name for name, each in raw["operations"].items() if "output" in each))


@cache
def service_of(operation: str) -> str:
    """The service that has this operation. Raises KeyError for none."""
    for service in SERVICES:
        if operation in load(service).inputs:
            return service
    raise KeyError(operation)


def input_of(operation: str) -> tuple[Shape, dict[str, Shape]]:
    """The input shape of an operation, and all shapes to look its members up in."""
    model = load(service_of(operation))
    return model.shapes[model.inputs[operation]], model.shapes


def _path(service: str) -> Path:
    spec = find_spec("botocore")
    if spec is None or not spec.submodule_search_locations:
        raise RuntimeError("botocore, which ships the service's model, is not installed: install boto3")
    return Path(spec.submodule_search_locations[0], "data", SERVICES[service], "service-2.json.gz")


def _shape(name: str, raw: dict[str, Any]) -> Shape:
    return Shape(
        name=name,
        type=raw["type"],
        minimum=raw.get("min"),
        maximum=raw.get("max"),
        pattern=raw.get("pattern"),
        enum=tuple(raw.get("enum", ())),
        required=tuple(raw.get("required", ())),
        members={member: reference["shape"] for member, reference in raw.get("members", {}).items()},
        element=(raw.get("member") or raw.get("value") or {"shape": ""})["shape"],
        key=raw.get("key", {"shape": ""})["shape"],
    )
