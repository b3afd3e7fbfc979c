"""The listening socket, all connections, and what is done for all of them at once.

Everything here runs on the event loop's thread.
"""

from __future__ import annotations

import asyncio
import logging
import signal
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from dynamometer.base.clock import Clock
from dynamometer.base.config import Settings
from dynamometer.base.errors import where
from dynamometer.server.answers import Encoder, Response
from dynamometer.server.connection import Connection
from dynamometer.storage.interface import Loop

if TYPE_CHECKING:
    import ssl

log = logging.getLogger(__name__)

Handle = Callable[[str, str, dict[bytes, bytes], bytes], Response]
"""The service: method, target, headers (names in lower case), body."""

ACCEPT_BACKLOG = 1024
REFUSALS_MAX = 256
"""Connections over the limit that may be told so at once; further ones are dropped without a word."""
STOP_SECONDS_MAX = 10.0
"""How long a stop waits for requests that are being sent, worked on, or answered."""
JOBS_BUSY_SECONDS = 0.001
JOBS_IDLE_SECONDS = 0.05


class Durability(Protocol):
    """The part of a store that the server needs."""

    durable_sequence: int
    last_sequence: int

    @property
    def failure(self) -> Exception | None: ...
    def pace(self, loop: Loop, on_durable: Callable[[], None]) -> None: ...
    def end_pace(self) -> None: ...
    def sync_soon(self) -> None: ...
    def settle(self) -> int: ...


class Server:
    """One listening address. `jobs` does a slice of background work and tells whether more is waiting."""

    def __init__(
        self,
        handle: Handle,
        store: Durability,
        settings: Settings,
        clock: Clock,
        jobs: Callable[[], bool] | None = None,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self.handle = handle
        self.store = store
        self.settings = settings
        self.encode = Encoder(clock).encode
        self.is_tls = tls is not None
        self.is_stopping = False
        self.port = settings.port
        """After start() the port in use, also where 0 asked for a free one."""
        self.now = 0.0
        """The loop's time at the last sweep: exact enough for timeouts, and free to read."""
        self._tls = tls
        self._jobs = jobs
        self._connections: set[Connection] = set()
        self._awaiting: deque[tuple[int, Connection]] = deque()
        self._sync_is_scheduled = False
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._listener: asyncio.Server | None = None
        self._stop_asked: asyncio.Event
        self._stop_forced: asyncio.Event
        self._empty: asyncio.Event

    # Life.

    async def start(self) -> None:
        """Listen. Raises OSError where the address can't be had."""
        self._loop = asyncio.get_running_loop()
        self._stop_asked, self._stop_forced, self._empty = asyncio.Event(), asyncio.Event(), asyncio.Event()
        self._listener = await self._loop.create_server(
            lambda: Connection(self), self.settings.host, self.settings.port, backlog=ACCEPT_BACKLOG, ssl=self._tls
        )
        self.port = int(self._listener.sockets[0].getsockname()[1])
        self.store.pace(self._loop, self._release)
        self._sweep()
        self._run_jobs()

    async def run(self, on_ready: Callable[[], None] = lambda: None) -> None:
        """After start(): serve until SIGTERM or SIGINT, then stop in good order; a second signal cuts that short.

        `on_ready` is called once signals are heeded: who is told by it may send one at once.
        """
        for number in (signal.SIGTERM, signal.SIGINT):
            self._loop.add_signal_handler(number, self._on_signal)
        on_ready()
        await self._stop_asked.wait()
        await self.stop()

    def _on_signal(self) -> None:
        if self._stop_asked.is_set():
            self._stop_forced.set()
        self._stop_asked.set()

    async def stop(self, seconds_max: float = STOP_SECONDS_MAX) -> None:
        """Accept nothing more, answer what was read, close."""
        self.is_stopping = True
        if self._listener is not None:
            self._listener.close()
        for connection in tuple(self._connections):
            connection.finish()
        if self._connections:
            waits = [asyncio.create_task(self._empty.wait()), asyncio.create_task(self._stop_forced.wait())]
            await asyncio.wait(waits, timeout=seconds_max, return_when=asyncio.FIRST_COMPLETED)
            for wait in waits:
                wait.cancel()
        for connection in tuple(self._connections):
            connection.abort()
        for timer in self._timers.values():
            timer.cancel()
        self.store.end_pace()

    # Connections.

    def admit(self, connection: Connection) -> bool:
        """Take a new connection in; False where it has to be told that there are too many."""
        room = self.settings.max_connections - len(self._connections)
        self._connections.add(connection)
        if room <= -REFUSALS_MAX:
            connection.abort()
        return room > 0

    def forget(self, connection: Connection) -> None:
        """A connection has ended."""
        self._connections.discard(connection)
        if self.is_stopping and not self._connections:
            self._empty.set()

    def _sweep(self) -> None:
        """End connections whose client has had its time."""
        self.now = now = self._loop.time()
        overdue = [connection for connection in self._connections if connection.overdue(now)]
        for connection in overdue:
            connection.abort()
        settings = self.settings
        delay = min(1.0, settings.request_timeout_seconds / 4, settings.idle_timeout_seconds / 4)
        self._timers["sweep"] = self._loop.call_later(delay, self._sweep)

    # Durability: answers wait for the disk, not the loop.

    def await_durable(self, sequence: int, connection: Connection) -> None:
        """Have `connection.release` called once `sequence` is durable."""
        self._awaiting.append((sequence, connection))
        if self.store.failure is not None:
            self._loop.call_soon(self._release)
        elif not self._sync_is_scheduled:
            self._sync_is_scheduled = True
            self._loop.call_soon(self._sync)

    def _sync(self) -> None:
        """Ask, once a turn of the loop is over, for one sync of all the writes that it brought."""
        self._sync_is_scheduled = False
        self.store.sync_soon()

    def _release(self) -> None:
        """Let go what has become durable. Connections stand in the order of what they wait for, one entry each."""
        self._release_up_to(self.store.durable_sequence)
        if self.store.failure is not None:
            self._settle_failure()

    def _settle_failure(self) -> None:
        """The store takes no more writes. What was written before may still become durable: ask, once, for all."""
        survived = self.store.settle()
        self._release_up_to(survived)
        if self._awaiting:
            log.error("writes that were not yet acknowledged are lost or may be: %s", self.store.failure)
        while self._awaiting:
            self._awaiting.popleft()[1].fail(survived)

    def _release_up_to(self, durable: int) -> None:
        awaiting = self._awaiting
        while awaiting and awaiting[0][0] <= durable:
            connection = awaiting.popleft()[1]
            following = connection.release(durable)
            if following:
                awaiting.append((following, connection))

    # Background work of the engine.

    def _run_jobs(self) -> None:
        if self._jobs is None:
            return
        more = False
        try:
            more = self._jobs()
        except Exception as bug:
            log.error("background work failed; it is tried again: %s", where(bug))
        if self.store.last_sequence != self.store.durable_sequence:
            self.store.sync_soon()
        self._timers["jobs"] = self._loop.call_later(JOBS_BUSY_SECONDS if more else JOBS_IDLE_SECONDS, self._run_jobs)


def new_event_loop() -> asyncio.AbstractEventLoop:
    """uvloop's where it is installed: three times the requests of asyncio's own."""
    try:
        import uvloop
    except ImportError:
        return asyncio.new_event_loop()
    loop: asyncio.AbstractEventLoop = uvloop.new_event_loop()
    return loop
