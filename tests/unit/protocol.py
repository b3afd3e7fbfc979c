"""The whole protocol in this process: a Service on a fresh engine, spoken to in its own bytes."""

from __future__ import annotations

from typing import Any

import orjson

from dynamometer.base.clock import ManualClock
from dynamometer.base.config import Settings
from dynamometer.base.rng import seeded
from dynamometer.engine.engine import Engine
from dynamometer.storage.interface import Store
from dynamometer.storage.memory import MemoryStore
from dynamometer.wire.service import Response, Service

Body = dict[str, Any]

DATE = "20261129"
ACCESS_KEY = "123456789012"


def signed(access_key: str = ACCESS_KEY, region: str = "us-east-1") -> dict[bytes, bytes]:
    """The headers of a request that is signed in form."""
    scope = f"{access_key}/{DATE}/{region}/dynamodb/aws4_request"
    return {
        b"content-type": b"application/x-amz-json-1.0",
        b"host": b"dynamodb.us-east-1.amazonaws.com",
        b"x-amz-date": f"{DATE}T120000Z".encode(),
        b"authorization": f"AWS4-HMAC-SHA256 Credential={scope}, SignedHeaders=host;x-amz-date, Signature=0a".encode(),
    }


class Refused(Exception):
    """An answer that is not a success."""

    def __init__(self, status: int, answer: Body) -> None:
        self.status = status
        self.code = answer["__type"].rpartition("#")[2]
        self.message = answer.get("message", answer.get("Message"))
        self.answer = answer
        super().__init__(f"{self.code}: {self.message}")


class Protocol:
    """A fresh engine and its protocol."""

    def __init__(self, store: Store | None = None, **settings: Any) -> None:
        self.clock = ManualClock()
        self.settings = Settings(**settings)
        self.store = store if store is not None else MemoryStore()
        self.engine = Engine(self.store, self.clock, seeded(1), self.settings)
        self.service = Service(self.engine, self.settings)

    def send(self, operation: str, body: bytes, headers: dict[bytes, bytes] | None = None) -> Response:
        """One request as bytes."""
        target = {b"x-amz-target": f"DynamoDB_20120810.{operation}".encode()}
        return self.service.handle("POST", "/", (signed() if headers is None else headers) | target, body)

    def call(self, operation: str, **body: Any) -> Body:
        """One request. Raises Refused."""
        response = self.send(operation, orjson.dumps(body))
        answer: Body = orjson.loads(response.body) if response.body else {}
        if response.status != 200:
            raise Refused(response.status, answer)
        return answer

    def create(self, name: str, keys: str, indexes: dict[str, tuple[str, str]] | None = None, **more: Any) -> None:
        """A table with keys as in "p:S c:N"; indexes by name: their keys, and their projection (ALL, KEYS_ONLY or a
        list of attributes). A name that begins with "local" is a local index; the same attributes need no new type."""
        types: dict[str, str] = {}
        body: Body = {"TableName": name, "KeySchema": _schema(keys, types), "BillingMode": "PAY_PER_REQUEST"}
        for index, (index_keys, projection) in (indexes or {}).items():
            described = {
                "IndexName": index,
                "KeySchema": _schema(index_keys, types),
                "Projection": {"ProjectionType": projection}
                if projection in ("ALL", "KEYS_ONLY")
                else {"ProjectionType": "INCLUDE", "NonKeyAttributes": projection.split()},
            }
            kind = "LocalSecondaryIndexes" if index.startswith("local") else "GlobalSecondaryIndexes"
            body.setdefault(kind, []).append(described)
        body["AttributeDefinitions"] = [{"AttributeName": each, "AttributeType": kind} for each, kind in types.items()]
        self.call("CreateTable", **body | more)


def _schema(keys: str, types: dict[str, str]) -> list[Body]:
    """Key attributes as in "p:S c:N"; "a:S+ b:S+ c:S" makes a and b partition key attributes."""
    schema = []
    for number, each in enumerate(keys.split()):
        name, kind = each.rstrip("+").split(":")
        types[name] = kind
        is_partition = number == 0 or each.endswith("+")
        schema.append({"AttributeName": name, "KeyType": "HASH" if is_partition else "RANGE"})
    return schema


def item(**attributes: str | int | Body) -> Body:
    """An item: text becomes S, a number N, anything else is an AttributeValue already."""
    made: Body = {}
    for name, value in attributes.items():
        if isinstance(value, str):
            made[name] = {"S": value}
        elif isinstance(value, int):
            made[name] = {"N": str(value)}
        else:
            made[name] = value
    return made
