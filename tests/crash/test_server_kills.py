"""The whole server: killed under load at random moments, started again, and asked for everything it has acknowledged.

python -m pytest tests/crash                      over 100 kills
python -m pytest tests/crash -m soak              thousands; CRASH_KILLS says how many
CRASH_SEED=1234 python -m pytest tests/crash       the same requests and moments, as far as machines repeat
"""

from __future__ import annotations

import os
import random
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from dynamometer.engine.check import check
from dynamometer.storage.rocksdb import RocksStore
from tests.crash.power import Power
from tests.crash.server import Client, Server
from tests.crash.workload import Workload, create_tables

WRITERS = 6
KILLS_PER_FOLDER = 10
KILLS = 105
LOAD_SECONDS_MAX = 0.25
START_SECONDS_MAX = 0.4
"""About how long a start takes: kills during a start fall anywhere in it."""
SEED = int(os.environ.get("CRASH_SEED", random.randrange(2**32)))


@pytest.mark.slow
@pytest.mark.parametrize("part", range(3))
def test_kills_under_load_lose_nothing(tmp_path: Path, part: int) -> None:
    Attack(tmp_path, SEED + part).run(KILLS // 3)


@pytest.mark.soak
def test_thousands_of_kills_lose_nothing(tmp_path: Path) -> None:
    Attack(tmp_path, SEED).run(int(os.environ.get("CRASH_KILLS", "3000")))


class Attack:
    """Kills of one server after another, on a fresh folder now and then."""

    def __init__(self, path: Path, seed: int) -> None:
        print(f"CRASH_SEED={seed}")
        self._rng = random.Random(seed)
        self._path = path
        library = Power.library(path)
        self._power = Power(library, path / "synced") if library else None
        self._killed = self._answered = self._applied = self._lost = self._taken_bytes = 0

    def run(self, kills: int) -> None:
        """Kill that often."""
        while self._killed < kills:
            self._one_folder(min(KILLS_PER_FOLDER, kills - self._killed))
            if self._killed % 100 == 0:
                print(f"{self._killed} of {kills} kills, {self._answered} requests answered before them", flush=True)
        print(
            f"{self._killed} kills, {self._answered} requests answered before them; of the unanswered writes "
            f"{self._applied} were applied, {self._lost} were not; power cuts took {self._taken_bytes} bytes"
        )
        assert self._answered > kills * 10, "the load was too small to prove anything"

    def _one_folder(self, kills: int) -> None:
        folder = self._path / f"data-{self._killed}"
        with self._started(folder) as url:
            create_tables(Client(url))
        workload = Workload(WRITERS, self._rng)
        for _ in range(kills):
            self._load_and_kill(folder, workload)
            self._killed += 1
            if self._rng.random() < 0.2:
                self._kill_a_start(folder)
            if self._power and self._rng.random() < 0.4:
                self._taken_bytes += self._power.cut(folder, self._rng)
            check_copy(folder)
        with self._started(folder) as url:
            workload.audit(Client(url))
        self._applied += workload.unanswered_applied
        self._lost += workload.unanswered_lost
        shutil.rmtree(folder)

    def _server(self, folder: Path) -> Server:
        return Server(folder, self._power.environment if self._power else None)

    @contextmanager
    def _started(self, folder: Path) -> Iterator[str]:
        """A server that is stopped in good order."""
        server = self._server(folder)
        try:
            yield server.url()
        except BaseException:
            server.kill()
            raise
        server.stop()

    def _load_and_kill(self, folder: Path, workload: Workload) -> None:
        """Start, audit what the last kill left, write, kill."""
        server = self._server(folder)
        try:
            url = server.url()
            client = Client(url)
            workload.audit(client)
            client.close()
            workload.start(url)
            time.sleep(self._rng.uniform(0.01, LOAD_SECONDS_MAX))
        finally:
            server.kill()
        self._answered += workload.join()

    def _kill_a_start(self, folder: Path) -> None:
        """Kill a server that is still starting, or has just started: recovery is repeated by the next one."""
        server = self._server(folder)
        time.sleep(self._rng.uniform(0, START_SECONDS_MAX))
        server.kill()


def check_copy(folder: Path) -> None:
    """What `dyno check` says of the folder as the kill left it. Of a copy: opening it would mend it."""
    copy = folder.with_name(folder.name + "-copy")
    shutil.copytree(folder, copy)
    store = RocksStore(copy, "os")
    try:
        findings = [str(finding) for finding in check(store)]
    finally:
        store.close()
    shutil.rmtree(copy)
    assert findings == []
