"""One client connection: bytes in, requests to the service, answers out in their order.

The service answers at once; what may have to wait is the sending. An answer whose write is not yet durable waits in
`_waiting`, and every answer behind it too, so that a pipelining client gets its answers in order. Whatever may be sent
leaves in one write when the bytes that came in together have been worked through.

    data_received -> parser -> on_message_complete -> _serve -> _out ------------> _flush -> transport
                                      |                  |                           ^
                                      |                  +-> _waiting -> release() --+      (until durable)
                                      +-> _backlog, while the client does not read or too much waits

A connection is in one of these states, and each has its time limit (`overdue`): idle, in the middle of a request,
waiting for the disk (no limit: not the client's doing), sending to a client that does not read, and, after a refusal,
discarding what the client still sends, so that it can read the answer before the connection ends.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from typing import TYPE_CHECKING, cast

import httptools

from dynamometer.base.errors import where
from dynamometer.base.limits import MIB, REQUEST_BODY_BYTES_MAX, REQUEST_HEADER_BYTES_MAX
from dynamometer.server.answers import BAD_REQUEST, CONTINUE, INTERNAL_ERROR, TOO_LARGE, UNAVAILABLE, Plain, Response

if TYPE_CHECKING:
    from dynamometer.server.server import Server

log = logging.getLogger(__name__)

HELD_BYTES_MAX = MIB
"""Answers that a connection may have waiting before it stops working on further requests."""
DISCARD_BYTES_MAX = 128 * MIB
"""What a refused client may still send before it is cut off."""
DISCARD_SECONDS_MAX = 10.0

_METHODS = {b"POST": "POST", b"GET": "GET", b"OPTIONS": "OPTIONS", b"HEAD": "HEAD"}

Request = tuple[str, str, dict[bytes, bytes], bytes, bool]
"""Method, target, headers, body, and whether the client wants the connection kept."""


class _Refused(Exception):
    """Stops the parser in the middle of the bytes it was given."""


class Connection(asyncio.Protocol):
    """The protocol object of one connection; every method runs on the event loop's thread."""

    __deletable__ = ("_parser",)  # asked for where this is compiled
    __slots__ = (
        "_backlog",
        "_body",
        "_body_bytes",
        "_closing",
        "_discarded",
        "_discarding",
        "_ended",
        "_head_bytes",
        "_head_parts_bytes",
        "_headers",
        "_in_body",
        "_out",
        "_out_bytes",
        "_parser",
        "_paused",
        "_reading",
        "_refusal",
        "_server",
        "_since",
        "_transport",
        "_unsent",
        "_url",
        "_waiting",
        "_waiting_bytes",
    )

    def __init__(self, server: Server) -> None:
        self._server = server
        self._transport: asyncio.Transport | None = None
        self._parser = httptools.HttpRequestParser(self)
        self._since = server.now
        # The request being read.
        self._headers: dict[bytes, bytes] | None = None
        self._url = b""
        self._head_bytes = 0
        self._head_parts_bytes = 0
        self._in_body = False
        self._body: list[bytes] = []
        self._body_bytes = 0
        # Requests read but not worked on, answers not sent.
        self._backlog: deque[Request | Plain] = deque()
        self._waiting: deque[tuple[int, bytes]] = deque()
        self._waiting_bytes = 0
        self._out: list[bytes] = []
        self._out_bytes = 0
        self._unsent = 0
        # How it goes on.
        self._reading = True
        self._paused = False
        self._closing = False
        self._refusal: Plain | None = None
        self._discarding = False
        self._discarded = 0
        self._ended = False

    # The transport's side.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        if not self._server.admit(self):
            self._refuse(UNAVAILABLE)

    def connection_lost(self, error: Exception | None) -> None:
        self._transport = None
        del self._parser  # it holds our methods: without this the pair lives until the collector runs
        self._backlog.clear()
        self._waiting.clear()
        self._out.clear()
        self._server.forget(self)

    def data_received(self, data: bytes) -> None:
        if self._discarding:
            self._discard(len(data))
            return
        self._feed(data)
        if self._headers is not None and not self._in_body:
            self._bound_head(len(data))
        self._flush()

    def eof_received(self) -> bool:
        """A client that stops sending may still read: it gets its answers first (TLS can't be half closed)."""
        self._closing = True
        return self._owes() and not self._server.is_tls

    def pause_writing(self) -> None:
        self._paused = True
        self._since = self._server.now

    def resume_writing(self) -> None:
        self._paused = False
        self._since = self._server.now
        self._catch_up()

    # The parser's side.

    def on_message_begin(self) -> None:
        self._headers = {}
        self._url = b""
        self._head_bytes = 0
        self._head_parts_bytes = -1
        self._in_body = False
        self._since = self._server.now

    def on_url(self, part: bytes) -> None:
        self._url += part
        if len(self._url) > REQUEST_HEADER_BYTES_MAX:
            self._stop(BAD_REQUEST)

    def on_header(self, name: bytes, value: bytes) -> None:
        self._head_bytes += len(name) + len(value) + 4
        if self._head_bytes > REQUEST_HEADER_BYTES_MAX:
            self._stop(BAD_REQUEST)
        headers = self._headers
        if headers is None or self._in_body:
            return  # a trailer of a chunked body
        name = name.lower()
        if name not in headers:
            headers[name] = value
        elif name != b"accept-encoding":
            headers[name] += b"," + value
        # The service looks at the first Accept-Encoding line only (measured on the service).

    def on_headers_complete(self) -> None:
        self._in_body = True
        headers = self._headers
        assert headers is not None
        length = headers.get(b"content-length", b"")
        if len(length) > 7 and int(length) > REQUEST_BODY_BYTES_MAX:
            self._stop(TOO_LARGE)
        if b"expect" in headers and headers[b"expect"].lower() == b"100-continue":
            self._welcome_body()

    def on_body(self, part: bytes) -> None:
        self._body.append(part)
        self._body_bytes += len(part)
        if self._body_bytes > REQUEST_BODY_BYTES_MAX:
            self._stop(TOO_LARGE)

    def on_message_complete(self) -> None:
        headers, parts, parser = self._headers, self._body, self._parser
        assert headers is not None
        if parser.should_upgrade():
            return  # without its body: see _decline_upgrade
        self._headers = None
        if not parts:
            body = b""
        else:
            body = parts[0] if len(parts) == 1 else b"".join(parts)
            parts.clear()
            self._body_bytes = 0
        method = parser.get_method()
        url = self._url
        target = "/" if url == b"/" else url.decode("latin-1")
        request = (
            _METHODS.get(method) or method.decode("latin-1"),
            target,
            headers,
            body,
            parser.should_keep_alive(),
        )
        if self._backlog or self._blocked():
            self._backlog.append(request)
        else:
            self._serve(request)

    # From request to answer.

    def _serve(self, request: Request | Plain) -> None:
        if isinstance(request, Plain):
            self._send(self._server.encode(request, False), 0)
            return
        method, target, headers, body, keep_alive = request
        server = self._server
        try:
            response: Response = server.handle(method, target, headers, body)
        except Exception as bug:
            log.error("a request failed for no fault of its own: %s", where(bug))
            response = INTERNAL_ERROR
        if server.is_stopping or not keep_alive:
            keep_alive = False
            self._closing = True
        self._send(server.encode(response, keep_alive, method != "HEAD"), response.sequence)

    def _send(self, answer: bytes, sequence: int) -> None:
        """Queue an answer behind those before it."""
        if self._waiting or sequence > self._server.store.durable_sequence:
            self._waiting.append((sequence, answer))
            self._waiting_bytes += len(answer)
            if len(self._waiting) == 1:
                self._server.await_durable(sequence, self)
            return
        self._out.append(answer)
        self._out_bytes += len(answer)
        if self._out_bytes > HELD_BYTES_MAX:
            self._write()

    def release(self, durable_sequence: int) -> int:
        """Send what has become durable. The sequence that is waited for next, or 0."""
        waiting = self._waiting
        while waiting and waiting[0][0] <= durable_sequence:
            answer = waiting.popleft()[1]
            self._waiting_bytes -= len(answer)
            self._out.append(answer)
        self._catch_up()
        return waiting[0][0] if waiting else 0

    def fail(self, durable_sequence: int) -> None:
        """The store will never make the rest durable. What was written may or may not survive: the answer is 500."""
        waiting = self._waiting
        while waiting and waiting[0][0] <= durable_sequence:
            self._out.append(waiting.popleft()[1])
        waiting.clear()
        self._waiting_bytes = 0
        self._backlog.clear()
        self._refuse(INTERNAL_ERROR)

    def finish(self) -> None:
        """The server stops: answer what was read, then close."""
        if self._owes() or self._headers is not None:
            return
        self._closing = True
        self._flush()

    def abort(self) -> None:
        """Drop the connection as it is."""
        if self._transport is not None:
            self._transport.abort()

    def overdue(self, now: float) -> bool:
        """Whether the client has had its time. Called about once a second."""
        if self._waiting:
            return False
        settings = self._server.settings
        if self._discarding:
            limit = DISCARD_SECONDS_MAX
        elif self._paused:
            self._note_progress(now)
            limit = settings.request_timeout_seconds
        elif self._headers is not None:
            limit = settings.request_timeout_seconds
        else:
            limit = settings.idle_timeout_seconds
        return now - self._since > limit

    # Helpers.

    def _feed(self, data: bytes) -> None:
        while data:
            try:
                self._parser.feed_data(data)
                return
            except httptools.HttpParserUpgrade as upgrade:
                data = self._decline_upgrade(data[upgrade.args[0] :])
            except httptools.HttpParserError as error:
                self._give_up(error)
                return

    def _give_up(self, error: Exception) -> None:
        """The parser can't go on, because of the bytes or because a callback stopped it."""
        if self._closing:
            return  # bytes behind the last request
        if self._refusal is None and isinstance(error, httptools.HttpParserCallbackError):
            log.error("reading a request failed: %s", where(error.__context__ or error))
        self._refuse(self._refusal or BAD_REQUEST)

    def _welcome_body(self) -> None:
        """Tell a client that asked to go on. Behind a backlog it has to go on by itself (RFC 9110, 10.1.1: it will)."""
        if not self._backlog and self._parser.get_http_version() != "1.0":
            self._send(CONTINUE, 0)

    def _decline_upgrade(self, rest: bytes) -> bytes:
        """What to read on with, so that the request is read again as if it had not offered another protocol.

        Java's own client offers HTTP/2 like that in its first request. The parser ends such a request with its head,
        and hands back its body with all that follows.
        """
        method, headers = self._parser.get_method(), self._headers
        if method == b"CONNECT" or headers is None:
            self._refuse(BAD_REQUEST)
            return b""
        closes = b"close" in headers.pop(b"connection", b"").lower()
        headers.pop(b"upgrade", None)
        if closes:
            headers[b"connection"] = b"close"
        lines = b"".join([b"%b: %b\r\n" % pair for pair in headers.items()])
        self._parser = httptools.HttpRequestParser(self)
        return b"%b %b HTTP/1.1\r\n%b\r\n%b" % (method, self._url, lines, rest)

    def _stop(self, refusal: Plain) -> None:
        self._refusal = refusal
        raise _Refused

    def _bound_head(self, length: int) -> None:
        """End a head that goes on in one header without end: the exact limits see a header only when it is complete.

        The piece in which the head began may hold other requests too, so counting starts behind it.
        """
        if self._head_parts_bytes < 0:
            self._head_parts_bytes = 0
            return
        self._head_parts_bytes += length
        if self._head_parts_bytes > 2 * REQUEST_HEADER_BYTES_MAX:
            self._refuse(BAD_REQUEST)

    def _refuse(self, refusal: Plain) -> None:
        """Answer, end our side, and let the client send into the void for a while."""
        self._headers = None
        self._body.clear()
        self._discarding = self._closing = True
        self._since = self._server.now
        self._backlog.append(refusal)
        self._catch_up()

    def _discard(self, length: int) -> None:
        self._discarded += length
        if self._discarded > DISCARD_BYTES_MAX:
            self.abort()

    def _blocked(self) -> bool:
        return self._paused or self._waiting_bytes > HELD_BYTES_MAX

    def _owes(self) -> bool:
        """Whether the client still gets something."""
        return bool(self._waiting or self._backlog or self._out or self._paused)

    def _catch_up(self) -> None:
        """Work on requests that had to wait for room, then send."""
        backlog = self._backlog
        while backlog and not self._blocked():
            self._serve(backlog.popleft())
        self._flush()
        if self._server.is_stopping:
            self.finish()

    def _flush(self) -> None:
        """Send what may be sent, and decide whether to read on."""
        if self._out:
            self._write()
        transport = self._transport
        if transport is None:
            return
        if self._closing:
            if not self._waiting and not self._backlog:
                self._end(transport)
            return
        if self._reading is self._blocked():
            self._reading = not self._reading
            if self._reading:
                transport.resume_reading()
            else:
                transport.pause_reading()

    def _write(self) -> None:
        out = self._out
        if self._transport is not None:
            self._transport.write(out[0] if len(out) == 1 else b"".join(out))
        out.clear()
        self._out_bytes = 0
        self._since = self._server.now

    def _end(self, transport: asyncio.Transport) -> None:
        """Close, or after a refusal only our side: closing on bytes not read would take the answer from the client."""
        if self._ended:
            return
        self._ended = True
        if self._discarding and transport.can_write_eof():
            transport.write_eof()
        else:
            transport.close()

    def _note_progress(self, now: float) -> None:
        """A client that reads slowly but reads has time."""
        if self._transport is None:
            return
        unsent = self._transport.get_write_buffer_size()
        if unsent < self._unsent:
            self._since = now
        self._unsent = unsent
