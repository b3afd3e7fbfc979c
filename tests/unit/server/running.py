"""A server on a thread of its own with a service and a store that do what a test tells them, and a raw client."""

from __future__ import annotations

import asyncio
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from dynamometer.base.clock import Clock, ManualClock
from dynamometer.base.config import Settings
from dynamometer.base.errors import StoreUnwritable
from dynamometer.server.server import Server, new_event_loop

SECONDS = 10.0
"""How long a client waits for what must come."""

ALL = 1 << 60
"""A sequence number after all that a test uses."""


@dataclass
class Response:
    status: int = 200
    headers: bytes = b"Content-Type: text/plain\r\n"
    body: bytes = b""
    sequence: int = 0


class FakeStore:
    """Durability in the test's hand."""

    def __init__(self) -> None:
        self.durable_sequence = self.last_sequence = 0
        self.is_paced = False
        self.syncs_asked = 0
        self.failure: Exception | None = None
        self.rest_is_lost = True

    def pace(self, loop: Any, on_durable: Callable[[], None]) -> None:
        self.is_paced, self._loop, self._on_durable = True, loop, on_durable

    def end_pace(self) -> None:
        self.is_paced = False

    def sync_soon(self) -> None:
        self.syncs_asked += 1

    def settle(self) -> int:
        if not self.rest_is_lost:
            self.durable_sequence = ALL
        return self.durable_sequence

    def make_durable(self, sequence: int) -> None:
        self.durable_sequence = sequence
        self._notify()

    def fail(self, rest_is_lost: bool = True) -> None:
        self.rest_is_lost = rest_is_lost
        self.failure = StoreUnwritable("the disk is gone")
        self._notify()

    def _notify(self) -> None:
        self._loop.call_soon_threadsafe(self._on_durable)


class EchoService:
    """Answers with what it was asked; `x-sequence` in the request says what has to be durable first."""

    def __init__(self) -> None:
        self.requests: list[tuple[str, str, dict[bytes, bytes], bytes]] = []
        self.answer_bytes = 0

    def handle(self, method: str, target: str, headers: dict[bytes, bytes], body: bytes) -> Response:
        self.requests.append((method, target, headers, body))
        if target == "/raise":
            raise RuntimeError("a bug")
        content = body + b"x" * self.answer_bytes
        return Response(body=content or target.encode(), sequence=int(headers.get(b"x-sequence", 0)))


class Client:
    """A socket that reads answers one by one."""

    def __init__(self, port: int, tls: ssl.SSLContext | None = None) -> None:
        plain = socket.create_connection(("127.0.0.1", port), timeout=SECONDS)
        self.socket = tls.wrap_socket(plain, server_hostname="localhost") if tls else plain
        self._buffer = b""

    def send(self, data: bytes) -> None:
        self.socket.sendall(data)

    def post(self, body: bytes = b"", *headers: str, target: str = "/") -> None:
        self.send(request(body, *headers, target=target))

    def read_answer(self, has_body: bool = True) -> tuple[int, dict[str, str], bytes]:
        """Status, headers by lower-case name, body. Raises EOFError when the server closed."""
        while b"\r\n\r\n" not in self._buffer:
            self._more()
        head, _, self._buffer = self._buffer.partition(b"\r\n\r\n")
        first, *lines = head.decode().split("\r\n")
        headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}
        length = int(headers.get("content-length", 0)) if has_body else 0
        while len(self._buffer) < length:
            self._more()
        body, self._buffer = self._buffer[:length], self._buffer[length:]
        return int(first.split()[1]), headers, body

    def read_to_end(self) -> bytes:
        """Whatever comes before the server closes its side."""
        try:
            while True:
                self._more()
        except (EOFError, ConnectionResetError):
            rest, self._buffer = self._buffer, b""
            return rest

    def hears_nothing(self, seconds: float = 0.05) -> bool:
        """Whether no answer comes for a moment."""
        self.socket.settimeout(seconds)
        try:
            self._more()
        except TimeoutError:
            return True
        finally:
            self.socket.settimeout(SECONDS)
        return False

    def close(self) -> None:
        self.socket.close()

    def _more(self) -> None:
        data = self.socket.recv(1 << 16)
        if not data:
            raise EOFError
        self._buffer += data


def request(body: bytes = b"", *headers: str, target: str = "/", method: str = "POST") -> bytes:
    """A request as bytes."""
    lines = [f"{method} {target} HTTP/1.1", "Host: localhost", f"Content-Length: {len(body)}", *headers]
    return "\r\n".join([*lines, "", ""]).encode() + body


class Running:
    """The server, what it talks to, and clients that are closed at the end."""

    def __init__(self, server: Server, service: EchoService, store: FakeStore, loop: asyncio.AbstractEventLoop) -> None:
        self.server = server
        self.service = service
        self.store = store
        self._loop = loop
        self._clients: list[Client] = []

    def connect(self, tls: ssl.SSLContext | None = None) -> Client:
        client = Client(self.server.port, tls)
        self._clients.append(client)
        return client

    def run(self, coroutine: Any) -> Future[Any]:
        """Run something on the server's loop."""
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop)

    def close_clients(self) -> None:
        for client in self._clients:
            client.close()


@contextmanager
def running(
    clock: Clock | None = None,
    loop: asyncio.AbstractEventLoop | None = None,
    jobs: Callable[[], bool] | None = None,
    tls: ssl.SSLContext | None = None,
    **settings: Any,
) -> Iterator[Running]:
    """A server that listens on a free port of the loopback address until the block ends."""
    loop = loop or new_event_loop()
    service, store = EchoService(), FakeStore()
    server = Server(service.handle, store, Settings(port=0, **settings), clock or ManualClock(), jobs, tls)
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    started = Running(server, service, store, loop)
    try:
        started.run(server.start()).result(SECONDS)
        yield started
        started.close_clients()
        started.run(server.stop(seconds_max=0.1)).result(SECONDS)
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()
