"""The requests of a run. A case is made from its seed and number alone, so a failure names all that is needed."""

from __future__ import annotations

import gzip
import zlib
from dataclasses import dataclass
from random import Random
from typing import Any

import orjson

from tests.fuzz import bodies

Headers = dict[bytes, bytes]
Targets = dict[str, tuple[str, Any]]
"""Operation name to the header that asks for it and the shape of its body."""
AUTHORIZATION = (
    b"AWS4-HMAC-SHA256 Credential=%b/20250101/us-east-1/dynamodb/aws4_request, "
    b"SignedHeaders=host;x-amz-date, Signature=00"
) % bodies.ACCESS_KEY.encode()
JUNK = (b"", b"\x00", b"{", b"{}", b"[]", b"null", b"\xff\xfe", b'{"a":', b"[" * 5000, b'{"a":' * 5000, b'"' * 100)


@dataclass(frozen=True, slots=True)
class Case:
    """One request, and which one of the run it is."""

    name: str
    headers: Headers
    body: bytes


def headers(target: str) -> Headers:
    """What a plain client sends."""
    return {
        b"host": b"localhost",
        b"content-type": b"application/x-amz-json-1.0",
        b"x-amz-target": target.encode(),
        b"x-amz-date": b"20250101T000000Z",
        b"authorization": AUTHORIZATION,
    }


RARE = {"DeleteTable": 0.03, "DescribeEndpoints": 0.1, "DescribeLimits": 0.1}
"""How often a chosen operation is sent: tables should live for a while, and there is little in an empty body."""


def _target(rng: Random, targets: Targets) -> tuple[str, Any]:
    """An operation."""
    while True:
        name = rng.choice(sorted(targets))
        if rng.random() < RARE.get(name, 1.0):
            return targets[name]


def shaped(seed: int, number: int, targets: Targets) -> Case:
    """A body after the model."""
    rng = Random(f"{seed}/shaped/{number}")
    target, shape = _target(rng, targets)
    return Case(f"shaped {seed}/{number}", headers(target), _dump(bodies.body(rng, shape)))


def mutated(seed: int, number: int, targets: Targets) -> Case:
    """A body after the model in which something was changed, as JSON or as bytes."""
    rng = Random(f"{seed}/mutated/{number}")
    target, shape = _target(rng, targets)
    body = bodies.body(rng, shape)
    if rng.random() < 0.75:
        for _ in range(rng.choice((1, 1, 2, 5))):
            body = _change(rng, body)
        return Case(f"mutated {seed}/{number}", headers(target), _dump(body))
    return Case(f"mutated {seed}/{number}", headers(target), _garble(rng, _dump(body)))


def random_bytes(seed: int, number: int, targets: Targets) -> Case:
    """Headers and a body that no client sends."""
    rng = Random(f"{seed}/bytes/{number}")
    target, _ = _target(rng, targets)
    sent = headers(target)
    for _ in range(rng.choice((0, 1, 1, 2))):
        sent[rng.choice(_HEADER_NAMES)] = rng.choice(_HEADER_VALUES) if rng.random() < 0.7 else rng.randbytes(20)
    body = rng.choice(JUNK) if rng.random() < 0.5 else rng.randbytes(rng.choice((1, 10, 1000)))
    if rng.random() < 0.3:
        body = rng.choice((gzip.compress, zlib.compress))(body)
    return Case(f"random_bytes {seed}/{number}", sent, body)


_HEADER_NAMES = (
    *(b"authorization", b"x-amz-date", b"x-amz-target", b"content-type", b"content-encoding", b"accept-encoding"),
    *(b"origin", b"host", b"x-amz-content-sha256", b"x-amz-security-token"),
)
_HEADER_VALUES = (
    *(
        b"",
        b" ",
        b"gzip",
        b"deflate",
        b"gzip, deflate",
        b"gzip;q=0",
        b"*;q=nan",
        b"identity",
        b"br",
        b"\xff",
        b"a" * 9000,
    ),
    *(b"AWS4-HMAC-SHA256", b"AWS4-HMAC-SHA256 Credential=", AUTHORIZATION.replace(b"FUZZ", b""), AUTHORIZATION[:60]),
    *(AUTHORIZATION.replace(b"us-east-1", b"\xff\x00"), b"DynamoDB_20120810.", b"DynamoDB_20120810.Nothing"),
    *(b"application/json; charset=utf-8", b"text/plain", b"99999999999999", b"20250101"),
)


def _dump(body: Any) -> bytes:
    """JSON with whole numbers of any size, which orjson does not write."""
    try:
        return orjson.dumps(body)
    except orjson.JSONEncodeError:
        import json

        return json.dumps(body).encode()


def _change(rng: Random, value: Any) -> Any:
    """The value with one of its parts dropped, renamed, doubled, wrapped or replaced, most often deep inside."""
    if isinstance(value, dict) and value:
        return _change_map(rng, value)
    if isinstance(value, list) and value:
        at = rng.randrange(len(value))
        part = value[at]
        return [
            *value[:at],
            *rng.choice(([], [part, part], *[[_change(rng, part)]] * 4, [part] * 120)),
            *value[at + 1 :],
        ]
    if isinstance(value, str) and rng.random() < 0.7:
        return rng.choice((*bodies.TEXTS, *bodies.NUMBERS, *bodies.TABLES, value * 2, value[:-1], value.lower()))
    return rng.choice((*bodies.ODD, [value], {"S": value}, {"M": value}, {"L": [value]}))


def _change_map(rng: Random, value: dict[str, Any]) -> dict[str, Any]:
    key = rng.choice(sorted(value))
    changed = dict(value)
    kind = rng.randrange(10)
    if kind == 0:
        del changed[key]
    elif kind == 1:
        changed[rng.choice((key.lower(), key + "x", "", "S", "N", "L", "M", "NS"))] = changed.pop(key)
    elif kind == 2:
        changed[key] = rng.choice(bodies.ODD)
    elif kind == 3:
        changed[key] = {}
    else:
        changed[key] = _change(rng, value[key])
    return changed


def _garble(rng: Random, body: bytes) -> bytes:
    """Bytes inserted, removed or replaced."""
    for _ in range(rng.choice((1, 1, 2, 8))):
        at = rng.randrange(len(body) + 1)
        new = rng.choice((b"", b"\x00", b'"', b"}", b"\\", b"\\ud800", b"\xff", b"1e999", rng.randbytes(3)))
        body = body[:at] + new + body[at + rng.choice((0, 0, 1, 3)) :]
    return body


KINDS = {"shaped": shaped, "mutated": mutated, "random_bytes": random_bytes}
