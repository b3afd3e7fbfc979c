"""The way to other servers that have replicas of global tables: HTTP, on threads, so that the server never waits.

Each thread keeps its connection to each peer open. What goes wrong is a PeerError; the engine tries again.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from threading import local
from urllib.parse import urlsplit

from dynamometer.base.config import Settings
from dynamometer.engine.replication.peers import Outcome, PeerError, Transport

THREADS_MAX = 4
SECONDS_MAX = 10.0
TARGET = "DynamometerReplication.Receive"
SECRET_HEADER = "x-dyno-replication-secret"


def open_transport(settings: Settings) -> Transport | None:
    """The way to the peers that the settings name; None without any."""
    if not settings.peers or settings.replication_secret is None:
        return None
    return HttpTransport(settings.replication_secret)


class HttpTransport:
    """Posts messages and hands back outcomes to be asked for later."""

    def __init__(self, secret: str) -> None:
        self._headers = {
            "X-Amz-Target": TARGET,
            "Content-Type": "application/x-amz-json-1.0",
            SECRET_HEADER: secret,
        }
        self._threads = ThreadPoolExecutor(THREADS_MAX, "peers")
        self._kept = local()

    def send(self, url: str, message: bytes) -> Outcome:
        """Post a message to the peer at this URL."""
        return _asked_later(self._threads.submit(self._post, url, message))

    def close(self) -> None:
        """Wait for no request that is under way."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _post(self, url: str, message: bytes) -> bytes:
        try:
            connection = self._connection(url)
            connection.request("POST", "/", message, self._headers)
            response = connection.getresponse()
            body = response.read()
        except (OSError, HTTPException) as error:
            self._connections().pop(url, None)
            raise PeerError(f"{url}: {error}") from error
        if response.status != 200:
            raise PeerError(f"{url} answers {response.status}: {body[:200].decode(errors='replace')}")
        return body

    def _connections(self) -> dict[str, HTTPConnection]:
        connections: dict[str, HTTPConnection] | None = getattr(self._kept, "connections", None)
        if connections is None:
            connections = self._kept.connections = {}
        return connections

    def _connection(self, url: str) -> HTTPConnection:
        connections = self._connections()
        connection = connections.get(url)
        if connection is None:
            parts = urlsplit(url)
            kind: Callable[..., HTTPConnection] = HTTPSConnection if parts.scheme == "https" else HTTPConnection
            connection = connections[url] = kind(parts.hostname, parts.port, timeout=SECONDS_MAX)
        return connection


def _asked_later(future: Future[bytes]) -> Outcome:
    return lambda: future.result() if future.done() else None
