"""The same global table, but every region is on a server of its own, with clocks that differ and a wire that fails."""

from __future__ import annotations

import random

import orjson

from dynamometer.base.clock import ManualClock
from dynamometer.base.config import Settings
from dynamometer.base.rng import seeded
from dynamometer.engine.engine import Engine
from dynamometer.engine.replication.peers import Outcome, PeerError
from dynamometer.storage.memory import MemoryStore
from tests.sim.regions import REGIONS, Regions

SECRET = "between us"


class SkewedClock:
    """A clock that is always some seconds ahead of another."""

    def __init__(self, clock: ManualClock, ahead_seconds: float) -> None:
        self._clock = clock
        self._ahead_seconds = ahead_seconds

    def now(self) -> float:
        return self._clock.now() + self._ahead_seconds


class Wire:
    """Delivers a message when its outcome is asked for: late, twice, not at all, or without an answer."""

    def __init__(self, servers: Servers, rng: random.Random) -> None:
        self._servers = servers
        self._rng = rng
        self.failures = 0.2

    def send(self, url: str, message: bytes) -> Outcome:
        polls = self._rng.choice((0, 0, 1, 2))

        def outcome() -> bytes | None:
            nonlocal polls
            if polls:
                polls -= 1
                return None
            kind = self._rng.random()
            if kind < self.failures / 2:
                raise PeerError("lost on the way there")
            answer = self._deliver(url, message)
            if kind < self.failures:
                raise PeerError("lost on the way back")
            if kind > 1 - self.failures / 2:
                answer = self._deliver(url, message)
            return answer

        return outcome

    def _deliver(self, url: str, message: bytes) -> bytes:
        engine = self._servers.engine_of(url.removeprefix("http://"))
        return orjson.dumps(engine.replication.messages.receive(SECRET, message)[0])

    def close(self) -> None:
        """Nothing is open."""


class Servers(Regions):
    """One engine for each region."""

    def __init__(self, seed: int, count: int = 2) -> None:
        self._skew = random.Random(seed)
        self._all = REGIONS[:count]
        self._stores: dict[str, MemoryStore] = {}
        self._clocks: dict[str, SkewedClock] = {}
        self._engines: dict[str, Engine] = {}
        super().__init__(seed, count)

    def start(self) -> None:
        """Start one server again; at first, all of them."""
        for region in self.names if not self._engines else [self.rng.choice(self.names)]:
            self._start(region)

    def _start(self, region: str) -> None:
        peers = ",".join(f"{other}=http://{other}" for other in self._all if other != region)
        settings = Settings(in_memory=True, peers=peers, replication_secret=SECRET)
        store = self._stores.setdefault(region, MemoryStore())
        ahead_seconds = self._skew.choice((0.0, 0.5, 20.0))
        clock = self._clocks.setdefault(region, SkewedClock(self.clock, ahead_seconds))
        wire = Wire(self, random.Random(self.rng.random()))
        self._engines[region] = Engine(store, clock, seeded(1), settings, transport=wire)

    def engine_of(self, region: str) -> Engine:
        return self._engines[region]

    def engines(self) -> list[Engine]:
        return list(self._engines.values())
