"""One request of botocore, as it would go to the network, to the service's bytes and back."""

from __future__ import annotations

import io
from collections.abc import Iterator
from email.utils import formatdate
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import urlsplit

from botocore.awsrequest import AWSResponse

if TYPE_CHECKING:
    from dynamometer.wire.service import Response

Headers = dict[bytes, bytes]

_SIGNED_DAY = "20200101"
"""Requests inside the process carry the form of a signature, which names account and region, and nothing secret."""


class Exchange(Protocol):
    """Who answers: the current engine's service, whichever that is."""

    def exchange(self, method: str, target: str, headers: Headers, body: bytes) -> Response: ...

    def now(self) -> float: ...


def scope_headers(access_key: str, region: str) -> Headers:
    """The headers that say on whose behalf, and of which region, a request asks."""
    credential = f"{access_key}/{_SIGNED_DAY}/{region}/dynamodb/aws4_request"
    authorization = f"AWS4-HMAC-SHA256 Credential={credential}, SignedHeaders=host, Signature=in-process"
    return {b"authorization": authorization.encode(), b"x-amz-date": f"{_SIGNED_DAY}T000000Z".encode()}


class RawBody(io.BytesIO):
    """What botocore reads an answer's body from."""

    def stream(self, *_: Any, **__: Any) -> Iterator[bytes]:
        yield self.read()


def send(engine: Exchange, request: Any, scope: Headers | None = None) -> AWSResponse:
    """Answer a prepared request of botocore. With `scope`, the request need not have been signed."""
    parts = urlsplit(request.url)
    headers = {_bytes(name).lower(): _bytes(value) for name, value in request.headers.items()}
    headers.setdefault(b"host", parts.netloc.encode())
    if scope is not None:
        headers.update(scope)
    body = request.body or b""
    if not isinstance(body, bytes):
        body = body.encode() if isinstance(body, str) else body.read()
    target = f"{parts.path or '/'}?{parts.query}" if parts.query else parts.path or "/"
    return as_botocore(request.url, engine.exchange(request.method, target, headers, body), engine.now())


def as_botocore(url: str, response: Response, now: float) -> AWSResponse:
    """The answer as botocore's HTTP layer would hand it over."""
    return AWSResponse(url, response.status, response_headers(response, now), RawBody(response.body))


def response_headers(response: Response, now: float) -> dict[str, str]:
    """The answer's headers with those that only a server adds."""
    lines = response.headers.decode("latin-1").split("\r\n")
    headers = {name: value for name, _, value in (line.partition(": ") for line in lines[:-1])}
    headers["Server"] = "Server"
    headers["Date"] = _date(int(now))
    headers["Content-Length"] = str(len(response.body))
    headers["Connection"] = "keep-alive"
    return headers


@lru_cache(maxsize=8)
def _date(second: int) -> str:
    return formatdate(second, usegmt=True)


def _bytes(text: str | bytes) -> bytes:
    return text.encode("latin-1") if isinstance(text, str) else text
