"""Answers as bytes: status line, headers, body.

The part of a head that changes once a second (the date) is built once a second, for each status that was used.
"""

from __future__ import annotations

import zlib
from datetime import UTC, datetime
from typing import Protocol

from dynamometer.base.clock import Clock

CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"

_PHRASES = {
    200: "OK",
    400: "Bad Request",
    403: "Forbidden",
    404: "Not Found",
    413: "Request Entity Too Large",
    500: "Internal Server Error",
    503: "Service Unavailable",
}
_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


class Response(Protocol):
    """What the wire layer answers. `headers` are whole lines; it may leave once `sequence` is durable."""

    @property
    def status(self) -> int: ...
    @property
    def headers(self) -> bytes: ...
    @property
    def body(self) -> bytes: ...
    @property
    def sequence(self) -> int: ...


class Plain:
    """An answer of the server itself, where the wire layer was not asked or could not say."""

    __slots__ = ("body", "headers", "sequence", "status")

    def __init__(self, status: int, body: bytes = b"") -> None:
        self.status = status
        self.headers = b"Content-Type: application/x-amz-json-1.0\r\nx-amz-crc32: %d\r\n" % zlib.crc32(body)
        self.body = body
        self.sequence = 0


BAD_REQUEST = Plain(400)
TOO_LARGE = Plain(413)
INTERNAL_ERROR = Plain(
    500,
    b'{"__type":"com.amazonaws.dynamodb.v20120810#InternalServerError",'
    b'"message":"The server encountered an internal error trying to fulfill the request."}',
)
UNAVAILABLE = Plain(
    503,
    b'{"__type":"com.amazon.coral.service#ServiceUnavailableException",'
    b'"message":"The server has as many connections as it may have; close some or raise max_connections."}',
)


class Encoder:
    """Puts heads before bodies; keeps the date of the running second."""

    __slots__ = ("_clock", "_date", "_from", "_starts", "_until")

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._from = self._until = 0.0
        self._date = b""
        self._starts: dict[tuple[int, bool], bytes] = {}

    def encode(self, response: Response, keep_alive: bool, with_body: bool = True) -> bytes:
        """The whole answer. Without a body (the method was HEAD) the length told is still the body's."""
        now = self._clock.now()
        if not self._from <= now < self._until:
            self._turn_second(now)
        key = (response.status, keep_alive)
        start = self._starts.get(key)
        if start is None:
            start = self._starts[key] = self._start(*key)
        body = response.body
        head = b"%b%bContent-Length: %d\r\n\r\n" % (start, response.headers, len(body))
        return head + body if with_body else head

    def _turn_second(self, now: float) -> None:
        second = int(now)
        self._from, self._until = float(second), second + 1.0
        self._date = http_date(second)
        self._starts.clear()

    def _start(self, status: int, keep_alive: bool) -> bytes:
        phrase = _PHRASES.get(status, "Error" if status >= 400 else "OK")
        connection = b"keep-alive" if keep_alive else b"close"
        return b"HTTP/1.1 %d %b\r\nServer: Server\r\nDate: %b\r\nConnection: %b\r\n" % (
            status,
            phrase.encode(),
            self._date,
            connection,
        )


def http_date(second: int) -> bytes:
    """The date as HTTP writes it (RFC 9110, 5.6.7), whatever the locale."""
    at = datetime.fromtimestamp(second, UTC)
    day, month = _DAYS[at.weekday()], _MONTHS[at.month - 1]
    return f"{day}, {at.day:02} {month} {at.year} {at:%H:%M:%S} GMT".encode()
