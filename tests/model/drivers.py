"""Ways to reach an engine: in this process, or through a server's socket."""

from __future__ import annotations

import http.client

import orjson

from dynamometer.inprocess import Local
from tests.model.calls import Body

HEADERS = {
    "authorization": "AWS4-HMAC-SHA256 Credential=000000000000/20200101/us-east-1/dynamodb/aws4_request, "
    "SignedHeaders=host, Signature=none",
    "x-amz-date": "20200101T000000Z",
    "content-type": "application/x-amz-json-1.0",
}


class InProcess:
    """Straight into the protocol layer, without a socket."""

    def __init__(self, local: Local) -> None:
        self.local = local
        self._headers = {name.encode(): value.encode() for name, value in HEADERS.items()}

    def call(self, operation: str, body: Body) -> tuple[int, Body]:
        headers = self._headers | {b"x-amz-target": f"DynamoDB_20120810.{operation}".encode()}
        response = self.local.exchange("POST", "/", headers, orjson.dumps(body))
        return response.status, orjson.loads(response.body)


class Http:
    """One connection to a server, kept open."""

    def __init__(self, port: int) -> None:
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)

    def call(self, operation: str, body: Body) -> tuple[int, Body]:
        headers = HEADERS | {"x-amz-target": f"DynamoDB_20120810.{operation}"}
        self.connection.request("POST", "/", orjson.dumps(body), headers)
        response = self.connection.getresponse()
        return response.status, orjson.loads(response.read())
