"""The floor: this project's HTTP server, and behind it a service that answers every request with an empty object.

No server built on this stack can be faster, so the distance from here is what the engine costs.

    python bench/floor.py PORT
"""

from __future__ import annotations

import asyncio
import sys

from dynamometer.base.clock import SystemClock
from dynamometer.base.config import Settings
from dynamometer.server.answers import Plain
from dynamometer.server.server import Server, new_event_loop

EMPTY = Plain(200, b"{}")


class NoStore:
    """Nothing is written, so everything is durable."""

    durable_sequence = last_sequence = 0
    failure = None

    def pace(self, loop: object, on_durable: object) -> None:
        """No answer waits."""

    def end_pace(self) -> None:
        """Nothing to do."""


def handle(method: str, target: str, headers: dict[bytes, bytes], body: bytes) -> Plain:
    """The whole service."""
    return EMPTY


def main() -> None:
    """Serve until told to stop."""
    server = Server(handle, NoStore(), Settings(port=int(sys.argv[1])), SystemClock())
    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        runner.run(server.start())
        runner.run(server.run())


if __name__ == "__main__":
    main()
