"""A small client without an SDK: fast enough to load millions of items, and it hides nothing."""

from __future__ import annotations

import http.client
import json
import time
from typing import Any


class Refused(Exception):
    """The server answered with an error."""


class Client:
    """One connection to a server on this machine. The signature has the right form but is not a real one."""

    def __init__(self, port: int, timeout: float = 120.0) -> None:
        self._port = port
        self._timeout = timeout
        self._connection: http.client.HTTPConnection | None = None

    def send(self, action: str, body: bytes) -> tuple[int, bytes]:
        """Status and body of one answer; a connection that the server closed meanwhile is opened again, once."""
        for last in (False, True):
            if self._connection is None:
                self._connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=self._timeout)
            try:
                self._connection.request("POST", "/", body, _headers(action))
                answer = self._connection.getresponse()
                content = answer.read()
            except (http.client.HTTPException, OSError):
                self._connection = None
                if last:
                    raise
                continue
            if answer.will_close:
                self._connection = None
            return answer.status, content
        raise AssertionError("unreachable")

    def call(self, action: str, body: dict[str, Any]) -> dict[str, Any]:
        """The answer as a dict, or Refused."""
        status, content = self.send(action, json.dumps(body).encode())
        if status != 200:
            raise Refused(f"{action}: {status} {content[:300]!r}")
        answer: dict[str, Any] = json.loads(content)
        return answer

    def wait_active(self, table: str) -> None:
        """Until the table can be used."""
        while self.call("DescribeTable", {"TableName": table})["Table"]["TableStatus"] != "ACTIVE":
            time.sleep(0.05)


def _headers(action: str) -> dict[str, str]:
    now = time.gmtime()
    scope = time.strftime("%Y%m%d", now) + "/us-east-1/dynamodb/aws4_request"
    return {
        "content-type": "application/x-amz-json-1.0",
        "x-amz-target": f"DynamoDB_20120810.{action}",
        "x-amz-date": time.strftime("%Y%m%dT%H%M%SZ", now),
        "authorization": f"AWS4-HMAC-SHA256 Credential=BENCHMARK/{scope}, "
        f"SignedHeaders=content-type;host;x-amz-date;x-amz-target, Signature={'0123456789abcdef' * 4}",
    }
