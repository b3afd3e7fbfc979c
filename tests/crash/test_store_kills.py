"""The store alone: a process that writes batches is killed, also in the middle of flushes, compactions and openings."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from dynamometer.storage.rocksdb import RocksStore
from tests.crash.batch_writer import COUNTER, expected, last_number

KILLS = 25
SMALL_MEMTABLE_BYTES = 64 << 10
"""So small that every few dozen batches fill it: kills meet flushes, compactions and new logs."""


def run_and_kill(path: Path, durability: str, memtable_bytes: int, seconds: float) -> list[str]:
    """Write until killed; the reports of what was durable."""
    command = [sys.executable, "-m", "tests.crash.batch_writer", str(path), durability, str(memtable_bytes)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    first = process.stdout.readline()
    assert first, f"the writer ended by itself: {process.wait()}"
    time.sleep(seconds)
    process.kill()
    reports = [first, *process.stdout]
    process.wait()
    return [line for line in reports if line.endswith("\n")]


def verify(path: Path, acknowledged: int) -> int:
    """The store holds a whole number of batches, at least those acknowledged. How many."""
    store = RocksStore(path)
    last = last_number(store)
    assert last >= acknowledged, f"batch {acknowledged} was acknowledged, {last} is the last one"
    assert dict(store.range(b"k", b"l")) == expected(last), f"batch {last} is half applied"
    assert store.counters(COUNTER, 2) == [last, last * (last + 1) // 2]
    store.close()
    return last


@pytest.mark.parametrize("durability", ["fsync", "os"])
def test_a_killed_writer_loses_nothing_acknowledged(tmp_path: Path, durability: str) -> None:
    seed = random.randrange(2**32)
    rng = random.Random(seed)
    for kill in range(KILLS):
        memtable = rng.choice([SMALL_MEMTABLE_BYTES, 32 << 20])
        reports = run_and_kill(tmp_path, durability, memtable, rng.uniform(0, 0.15))
        print(f"seed {seed}, kill {kill}: {reports[-1].strip()} acknowledged")
        if rng.random() < 0.7:
            verify(tmp_path, int(reports[-1].split()[0]))


def test_a_power_cut_keeps_what_was_synced(tmp_path: Path) -> None:
    """Whatever the log had beyond the last acknowledged batch may be gone, wherever the cut falls."""
    rng = random.Random(7)
    for kill in range(10):
        folder = tmp_path / str(kill)
        number, name, size = run_and_kill(folder, "fsync", 32 << 20, 0.05)[-1].split()
        log = folder / "db" / name
        with log.open("r+b") as opened:
            opened.truncate(rng.randint(int(size), log.stat().st_size))
        verify(folder, int(number))


def test_a_cut_in_any_place_leaves_whole_batches(tmp_path: Path) -> None:
    """Also where a disk lied about having synced: fewer batches, but whole ones, in order."""
    rng = random.Random(11)
    for kill in range(5):
        folder = tmp_path / str(kill)
        name = run_and_kill(folder, "fsync", 32 << 20, 0.05)[-1].split()[1]
        log = folder / "db" / name
        with log.open("r+b") as opened:
            opened.truncate(rng.randint(0, log.stat().st_size))
        verify(folder, 0)
