"""Short ways to bind one expression and to see the message that it is refused with."""

from __future__ import annotations

from typing import Any

import pytest

from dynamometer.base.errors import ValidationException
from dynamometer.expressions import Bound, bind, check_mixing

UPDATE = ("UpdateExpression", "ConditionExpression")
PUT = ("ConditionExpression",)
GET = ("ProjectionExpression",)
QUERY = ("KeyConditionExpression", "FilterExpression", "ProjectionExpression")
SCAN = ("FilterExpression", "ProjectionExpression")

S: dict[str, Any] = {"S": "a"}
N: dict[str, Any] = {"N": "1"}


def body_of(kind: str, text: str, names: dict[str, str] | None, values: dict[str, Any] | None) -> dict[str, Any]:
    body: dict[str, Any] = {kind: text}
    if names:
        body["ExpressionAttributeNames"] = names
    if values:
        body["ExpressionAttributeValues"] = values
    return body


def one(kind: str, text: str, names: dict[str, str] | None = None, values: dict[str, Any] | None = None) -> Bound:
    """Bind one expression."""
    return bind(body_of(kind, text, names, values), (kind,))


def holds(text: str, item: dict[str, Any] | None, names: dict[str, str] | None = None, **values: Any) -> bool:
    """Does `item` meet the condition? Values are given by name: v={"N": "1"} is :v."""
    bound = one("ConditionExpression", text, names, {f":{name}": value for name, value in values.items()})
    assert bound.condition is not None
    return bound.condition.test(item, bound.values)


def updated(text: str, item: dict[str, Any], names: dict[str, str] | None = None, **values: Any) -> dict[str, Any]:
    """The item after the update."""
    bound = one("UpdateExpression", text, names, {f":{name}": value for name, value in values.items()})
    assert bound.update is not None
    return bound.update.apply(item, bound.values)


def refusal(body: dict[str, Any], kinds: tuple[str, ...]) -> str:
    """The message that a request is refused with."""
    with pytest.raises(ValidationException) as caught:
        check_mixing(body, kinds)
        bind(body, kinds)
    assert caught.value.message is not None
    return caught.value.message


def refusal_of(kind: str, text: str, names: dict[str, str] | None = None, values: dict[str, Any] | None = None) -> str:
    """What an expression is refused for, behind `Invalid XExpression: `."""
    message = refusal(body_of(kind, text, names, values), (kind,))
    prefix = f"Invalid {kind}: "
    assert message.startswith(prefix), message
    return message.removeprefix(prefix)
