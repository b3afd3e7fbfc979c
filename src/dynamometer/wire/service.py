"""One request to one answer, bytes in and bytes out: the whole protocol, without a socket.

    1. method and path            anything but POST / is a health check, a CORS question or unknown
    2. X-Amz-Target               a row of the operation table
    3. signature                  account and region, so which tables
    4. body                       decompressed, JSON
    5. the model's constraints    then the operation's own checks and its work
    6. the answer                 JSON, request id, CRC-32, compressed when asked for

Fast accept, slow reject: a body of unusual JSON types fails somewhere in 5 with a plain Python error. Then, and before
any refusal goes out, the body is checked against the model's types, which come first in the service's order; if the
check only coerced something (a null, the word "true"), the request runs again with the coerced body.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any
from zlib import crc32

import orjson

from dynamometer.base import limits
from dynamometer.base.errors import (
    AccessDeniedException,
    ConditionalCheckFailedException,
    InternalServerError,
    SerializationException,
    ServiceError,
    StoreError,
    UnknownOperationException,
    where,
)
from dynamometer.engine import operations
from dynamometer.engine.catalog import World
from dynamometer.engine.engine import Answer, Engine
from dynamometer.engine.operations import Operation
from dynamometer.model import shapes
from dynamometer.wire import compression, errors, sigv4

log = logging.getLogger(__name__)

JSON_TYPES = (b"application/x-amz-json-1.0", b"application/json")
PEER_TARGET = b"DynamometerReplication.Receive"
PEER_SECRET = b"x-dyno-replication-secret"
_UNUSUAL = (TypeError, KeyError, AttributeError, ValueError, IndexError, StopIteration)
_INTERNAL = "The server encountered an internal error trying to fulfill the request."
_TARGETS = {"dynamodb": "DynamoDB_20120810", "dynamodbstreams": "DynamoDBStreams_20120810"}
_CROSS_ORIGIN = (
    b"Access-Control-Allow-Origin: *\r\n"
    b"Access-Control-Expose-Headers: x-amzn-RequestId,x-amzn-ErrorType,x-amzn-ErrorMessage,Date,x-amz-crc32\r\n"
)
_OPEN_SCOPE = ("000000000000", "us-east-1")
_SCOPES_MAX = 4096
_SCOPE_LENGTH_MAX = 1024
_DATE_LENGTH = len("20261129T120000Z")
Headers = dict[bytes, bytes]


class Response:
    """An answer. It may be sent once the store's `durable_sequence` has reached `sequence`.

    `headers` are lines as they go out, each with its end: "Name: value\\r\\n".
    """

    __slots__ = ("body", "headers", "sequence", "status")

    def __init__(self, status: int, headers: bytes, body: bytes, sequence: int = 0) -> None:
        self.status = status
        self.headers = headers
        self.body = body
        self.sequence = sequence


class _Row:
    """An operation with what the wire does for it."""

    __slots__ = ("check", "has_output", "name", "run")

    def __init__(self, operation: Operation) -> None:
        self.name = operation.name
        self.run: Callable[[Engine, World, dict[str, Any]], Answer] = operation.run
        self.check = shapes.constraints(operation.name)
        self.has_output = shapes.has_output(operation.name)


class Service:
    """The protocol on one engine."""

    def __init__(self, engine: Engine, settings: Any = None) -> None:
        self.engine = engine
        self._settings = settings if settings is not None else engine.settings
        self._names = {f"{_TARGETS[shapes.service_of(name)]}.{name}".encode(): name for name in operations.names()}
        self._rows: dict[bytes, _Row] = {}
        self._worlds: dict[bytes, tuple[World, bytes]] = {}
        self._id_prefix = "".join(engine.rng.choices("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789", k=39)).encode()
        self.answered = 0
        """How many answers were given, each with an id of its own."""

    def handle(self, method: str, target: str, headers: Headers, body: bytes) -> Response:
        """Answer one request. `headers` have lower-case names. Never raises."""
        if method != "POST":
            return self._without_operation(method, target, headers)
        if target != "/" and target.partition("?")[0] != "/":
            return self._unknown_operation()
        content_type = headers.get(b"content-type", JSON_TYPES[0])
        if content_type not in JSON_TYPES:
            content_type = content_type.partition(b";")[0].strip().lower()
            if content_type not in JSON_TYPES:
                return self._unknown_operation()
        sequence = 0
        try:
            target_name = headers.get(b"x-amz-target", b"")
            row = self._rows.get(target_name)
            if row is None:
                if target_name == PEER_TARGET:
                    return self._from_peer(headers, body)
                row = self._new_row(target_name)
            world = self._world(headers, target)
            if b"content-encoding" in headers:
                body = compression.decode(headers[b"content-encoding"], body, limits.REQUEST_BODY_BYTES_MAX)
            answer, sequence = self._operate(row, world, body)
            status, payload = 200, orjson.dumps(answer) if row.has_output else b""
        except ServiceError as error:
            # a refusal tells of the state too: a condition that failed, a table that exists
            status, payload, sequence = *errors.encode(error), self.engine.store.last_sequence
        except StoreError as error:
            log.error("the store failed: %s", error)
            status, payload = errors.encode(InternalServerError(_INTERNAL))
        except Exception as bug:
            log.error("a bug in %s: %s", headers.get(b"x-amz-target", b"").decode("latin-1"), where(bug))
            status, payload = errors.encode(InternalServerError(_INTERNAL))
        return self._respond(status, payload, content_type, headers, sequence)

    def _new_row(self, target: bytes) -> _Row:
        """The row of an operation that is asked for the first time. Raises UnknownOperationException."""
        name = self._names.get(target)
        if name is None:
            raise UnknownOperationException()
        row = self._rows[target] = _Row(operations.find(name))
        return row

    def _operate(self, row: _Row, world: World, body: bytes) -> Answer:
        """The request's JSON through its operation."""
        if not body:
            raise SerializationException()
        try:
            request = orjson.loads(body)
        except orjson.JSONDecodeError:
            raise SerializationException() from None
        try:
            row.check(request)
            return row.run(self.engine, world, request)
        except ConditionalCheckFailedException:
            raise
        except ServiceError:
            self._check_again(row, body)
            raise
        except _UNUSUAL as error:
            log.debug("an unusual %s request: %s", row.name, type(error).__name__)
            coerced = self._check_again(row, body)
            row.check(coerced)
            return row.run(self.engine, world, coerced)

    def _check_again(self, row: _Row, body: bytes) -> dict[str, Any]:
        """The request with its JSON types coerced, as it did not go through. Raises SerializationException."""
        return shapes.check_types(row.name, orjson.loads(body))

    def _world(self, headers: Headers, target: str) -> World:
        """The tables of the caller's account and region."""
        scope, _, signature = headers.get(b"authorization", b"").rpartition(b"Signature=")
        date = headers.get(b"x-amz-date", b"")
        known = self._worlds.get(scope)
        if (
            known is not None
            and date[:8] == known[1]
            and len(date) == _DATE_LENGTH
            and target == "/"
            and signature.isalnum()
        ):
            return known[0]
        try:
            access_key, region = sigv4.scope(headers, target.partition("?")[2])
            account = sigv4.account_of(access_key)
        except ServiceError:
            if self._settings.require_signature:
                raise
            account, region = _OPEN_SCOPE
            scope = b""
        if self._settings.shared_world:
            account, region = _OPEN_SCOPE
        world = self.engine.world(account, region)
        if scope and len(scope) <= _SCOPE_LENGTH_MAX:
            if len(self._worlds) > _SCOPES_MAX:
                self._worlds.clear()
            self._worlds[scope] = world, date[:8]
        return world

    def _from_peer(self, headers: Headers, body: bytes) -> Response:
        """A message from another server that has replicas of global tables here."""
        try:
            answer, sequence = self.engine.replication.messages.receive(
                headers.get(PEER_SECRET, b"").decode("latin-1"), body
            )
        except PermissionError as error:
            raise AccessDeniedException(str(error)) from None
        return self._respond(200, orjson.dumps(answer), JSON_TYPES[0], headers, sequence)

    def _head(self, body: bytes) -> bytes:
        """The headers of every answer."""
        self.answered = number = self.answered + 1
        return b"x-amzn-RequestId: %b%013d\r\nx-amz-crc32: %d\r\n" % (self._id_prefix, number, crc32(body))

    def _respond(self, status: int, body: bytes, content_type: bytes, headers: Headers, sequence: int = 0) -> Response:
        encoding = None
        if len(body) >= limits.RESPONSE_COMPRESSION_BYTES_MIN and b"accept-encoding" in headers:
            encoding = compression.choose_encoding(headers[b"accept-encoding"])
            if encoding is not None:
                body = compression.encode(encoding, body)
        head = b"Content-Type: %b\r\n%b" % (content_type, self._head(body))
        if encoding is not None:
            head += b"Content-Encoding: %b\r\n" % encoding.encode()
        if b"origin" in headers:
            head += _CROSS_ORIGIN
        return Response(status, head, body, sequence)

    def _unknown_operation(self) -> Response:
        """What the service says, in XML, to what is not its protocol at all."""
        body = b"<UnknownOperationException/>\n"
        return Response(404, self._head(body), body)

    def _without_operation(self, method: str, target: str, headers: Headers) -> Response:
        if method == "OPTIONS" and b"origin" in headers:
            return Response(200, self._preflight(headers), b"")
        if method in ("GET", "HEAD") and target.partition("?")[0] == "/":
            host = headers.get(b"host", b"dynamodb.us-east-1.amazonaws.com")
            return self._respond(200, b"healthy: %b " % host, b"text/plain", headers)
        return self._unknown_operation()

    def _preflight(self, headers: Headers) -> bytes:
        """What a browser asks before it sends a request to another origin."""
        answer = self._head(b"") + _CROSS_ORIGIN + b"Access-Control-Max-Age: 172800\r\n"
        for asked, name in (
            (b"access-control-request-headers", b"Access-Control-Allow-Headers"),
            (b"access-control-request-method", b"Access-Control-Allow-Methods"),
        ):
            if asked in headers:
                answer += b"%b: %b\r\n" % (name, headers[asked])
        return answer
