"""The only module that reads the system's clock."""

from __future__ import annotations

import time
from typing import Protocol


class Clock(Protocol):
    """Tells the time; what waits for a moment asks the same clock."""

    def now(self) -> float:
        """Seconds since the epoch."""
        ...


class SystemClock:
    """The machine's own clock."""

    def now(self) -> float:
        return time.time()


class ManualClock:
    """A clock that moves only when it is told to, for tests: hours pass in no time."""

    def __init__(self, start: float = 1_700_000_000.0) -> None:
        self._now = start

    def now(self) -> float:
        return self._now

    def advance(self, seconds: float) -> None:
        """Move forward. A clock never moves back."""
        if seconds < 0:
            raise ValueError("a clock never moves back")
        self._now += seconds
