"""The whole server: killed under load at random moments, started again, and asked for everything it has acknowledged.

python -m pytest tests/crash                      over 100 kills
python -m pytest tests/crash -m soak              thousands; DYNO_SOAK_KILLS says how many
DYNO_SEED=1234 python -m pytest tests/crash       the same requests and moments, as far as machines repeat
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
from tests.crash.server import Client, Server
from tests.crash.workload import Workload, create_tables

WRITERS = 6
KILLS_PER_FOLDER = 10
KILLS = 105
LOAD_SECONDS_MAX = 0.25
START_SECONDS_MAX = 0.4
"""About how long a start takes: kills during a start fall anywhere in it."""
SEED = int(os.environ.get("DYNO_SEED", random.randrange(2**32)))


@pytest.mark.slow
@pytest.mark.parametrize("part", range(3))
def test_kills_under_load_lose_nothing(tmp_path: Path, part: int) -> None:
    kill_again_and_again(tmp_path, KILLS // 3, SEED + part)


@pytest.mark.soak
def test_thousands_of_kills_lose_nothing(tmp_path: Path) -> None:
    kill_again_and_again(tmp_path, int(os.environ.get("DYNO_SOAK_KILLS", "3000")), SEED)


def kill_again_and_again(path: Path, kills: int, seed: int) -> None:
    print(f"DYNO_SEED={seed}")
    rng = random.Random(seed)
    killed, answered = 0, 0
    while killed < kills:
        folder = path / f"data-{killed}"
        with started(folder) as url:
            create_tables(Client(url))
        workload = Workload(WRITERS, rng)
        for _ in range(min(KILLS_PER_FOLDER, kills - killed)):
            answered += load_and_kill(folder, workload, rng)
            killed += 1
            if rng.random() < 0.2:
                kill_a_start(folder, rng)
            check_copy(folder)
        with started(folder) as url:
            workload.audit(Client(url))
        shutil.rmtree(folder)
    print(f"{killed} kills, {answered} requests were answered before them")
    assert answered > kills * 10, "the load was too small to prove anything"


@contextmanager
def started(folder: Path) -> Iterator[str]:
    """A server that is stopped in good order."""
    server = Server(folder)
    try:
        yield server.url()
    except BaseException:
        server.kill()
        raise
    server.stop()


def load_and_kill(folder: Path, workload: Workload, rng: random.Random) -> int:
    """Start, audit what the last kill left, write, kill. How many requests were answered."""
    server = Server(folder)
    try:
        url = server.url()
        client = Client(url)
        workload.audit(client)
        client.close()
        workload.start(url)
        time.sleep(rng.uniform(0.01, LOAD_SECONDS_MAX))
    finally:
        server.kill()
    return workload.join()


def kill_a_start(folder: Path, rng: random.Random) -> None:
    """Kill a server that is still starting, or has just started: recovery is repeated by the next one."""
    server = Server(folder)
    time.sleep(rng.uniform(0, START_SECONDS_MAX))
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
