"""What only the persistent store promises: surviving the process, and saying so when it can't."""

from __future__ import annotations

import asyncio
import resource
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from dynamometer.base.errors import StoreCorrupt, StoreError, StoreLocked, StoreUnwritable
from dynamometer.storage.rocksdb import RocksStore

ALL = (b"", b"\xff")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[RocksStore]:
    store = RocksStore(tmp_path / "data")
    yield store
    store.close()


def put(store: RocksStore, key: bytes, value: bytes) -> int:
    transaction = store.begin()
    transaction.put(key, value)
    return transaction.commit()


def killed(path: Path, durability: str = "fsync", count: int = 2000) -> Path:
    """A store that was left by a killed process; the log it left."""
    script = f"""
import os, sys
from dynamometer.storage.rocksdb import RocksStore
store = RocksStore(sys.argv[1], {durability!r})
for number in range({count}):
    transaction = store.begin()
    transaction.put(b"%06d" % number, b"x" * 100)
    transaction.add(b"n", [1])
    sequence = transaction.commit()
store.wait_durable(sequence)
os.kill(os.getpid(), 9)
"""
    subprocess.run([sys.executable, "-c", script, str(path)], check=False)
    (log,) = (path / "db").glob("*.log")
    return log


def damage(file: Path, position: int) -> None:
    with file.open("r+b") as opened:
        opened.seek(position)
        opened.write(b"damage")


@pytest.mark.parametrize("durability", ["fsync", "os"])
def test_a_killed_process_loses_nothing_durable(tmp_path: Path, durability: str) -> None:
    killed(tmp_path, durability)
    store = RocksStore(tmp_path)
    assert len(list(store.range(b"0", b"9"))) == 2000
    assert store.counters(b"n", 1) == [2000]
    store.close()


def test_a_torn_last_record_is_cut(tmp_path: Path) -> None:
    log = killed(tmp_path)
    with log.open("r+b") as opened:
        opened.truncate(log.stat().st_size - 7)
    store = RocksStore(tmp_path)
    assert len(list(store.range(b"0", b"9"))) == 1999
    assert store.counters(b"n", 1) == [1999]
    store.close()


def test_damage_inside_the_log_is_refused_and_named(tmp_path: Path) -> None:
    log = killed(tmp_path)
    damage(log, log.stat().st_size // 2)
    with pytest.raises(StoreCorrupt, match=rf"{log.name} is damaged .*dyno check --data {tmp_path}"):
        RocksStore(tmp_path)


def test_salvage_keeps_what_lies_before_the_damage(tmp_path: Path) -> None:
    log = killed(tmp_path)
    damage(log, log.stat().st_size // 2)
    store = RocksStore(tmp_path, salvage=True)
    kept = [key for key, _ in store.range(b"0", b"9")]
    assert kept == [b"%06d" % number for number in range(len(kept))]
    assert 900 < len(kept) < 1100
    assert store.counters(b"n", 1) == [len(kept)]
    store.close()
    RocksStore(tmp_path).close()


def test_a_missing_log_is_refused(tmp_path: Path) -> None:
    killed(tmp_path).unlink()
    with pytest.raises(StoreCorrupt, match="is missing: run `dyno check"):
        RocksStore(tmp_path)


@pytest.mark.parametrize("pattern", ["MANIFEST-*", "CURRENT", "*.sst"])
@pytest.mark.parametrize("gone", [True, False])
def test_a_missing_or_damaged_file_is_refused_and_named(tmp_path: Path, pattern: str, gone: bool) -> None:
    killed(tmp_path)
    RocksStore(tmp_path).close()
    (file,) = (tmp_path / "db").glob(pattern)
    if gone:
        file.unlink()
    else:
        file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])
    with pytest.raises(StoreCorrupt, match="dyno check") as refused:
        RocksStore(tmp_path)
    shortened = pattern == "MANIFEST-*" and not gone
    assert ("a file was shortened" if shortened else file.name) in str(refused.value)


def table_with_damage(path: Path) -> RocksStore:
    killed(path)
    RocksStore(path).close()
    (table,) = (path / "db").glob("*.sst")
    damage(table, table.stat().st_size // 2)
    return RocksStore(path)


def test_a_read_of_damage_is_an_error_and_never_a_shorter_answer(tmp_path: Path) -> None:
    store = table_with_damage(tmp_path)
    for reverse in (False, True):
        with pytest.raises(StoreCorrupt, match=r"\d{6}\.sst is damaged"):
            list(store.range(*ALL, reverse))
        with pytest.raises(StoreCorrupt):
            list(store.snapshot().range(*ALL, reverse))
    keys = [b"%06d" % number for number in range(2000)]
    failures = 0
    for key in keys:
        try:
            assert store.get(key) == b"x" * 100
        except StoreCorrupt:
            failures += 1
    assert 0 < failures < 200
    with pytest.raises(StoreCorrupt):
        store.multi_get(keys)
    store.close()


def test_two_processes_cannot_share_a_folder(store: RocksStore) -> None:
    with pytest.raises(StoreLocked, match="in use by process"):
        RocksStore(store.path)


def test_a_failed_sync_refuses_writes_and_keeps_reading(store: RocksStore, monkeypatch: pytest.MonkeyPatch) -> None:
    store.wait_durable(put(store, b"a", b"1"))

    def fail() -> None:
        raise store._explain_write(Exception("IO error: While fdatasync: 000004.log: Input/output error"))

    monkeypatch.setattr(store, "_sync", fail)
    sequence = put(store, b"b", b"2")
    with pytest.raises(StoreUnwritable, match="see that the disk works"):
        store.wait_durable(sequence)
    assert store.durable_sequence == sequence - 1
    with pytest.raises(StoreUnwritable):
        put(store, b"c", b"3")
    assert store.get(b"a") == b"1"
    assert store.get(b"c") is None
    with pytest.raises(StoreUnwritable):
        store.close()
    RocksStore(store.path).close()


def test_a_write_that_does_not_fit_is_refused_and_everything_before_it_is_safe(tmp_path: Path) -> None:
    """A limit on file sizes stands in for a full disk: the log can't grow."""
    script = """
import resource, signal, sys
from dynamometer.base.errors import StoreUnwritable
from dynamometer.storage.rocksdb import RocksStore
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
store = RocksStore(sys.argv[1])
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, resource.RLIM_INFINITY))
number = 0
try:
    while True:
        transaction = store.begin()
        transaction.put(b"%06d" % number, b"x" * 100)
        transaction.add(b"n", [1])
        store.wait_durable(transaction.commit())
        number += 1
except StoreUnwritable as error:
    assert store.failure is error, (store.failure, error)
try:
    store.begin().commit()
    store.delete_range(b"a", b"b")
except StoreUnwritable:
    assert len(list(store.range(b"0", b"9"))) == number
    assert store.counters(b"n", 1) == [number]
    print(number, flush=True)
"""
    done = subprocess.run([sys.executable, "-c", script, str(tmp_path)], capture_output=True, text=True, check=False)
    assert done.stdout, done.stderr
    acknowledged = int(done.stdout)
    assert acknowledged > 100
    store = RocksStore(tmp_path)
    assert len(list(store.range(b"0", b"9"))) == store.counters(b"n", 1)[0] == acknowledged
    store.close()


def gather(store: RocksStore, key: bytes, value: bytes) -> int:
    transaction = store.begin()
    transaction.put(key, value)
    transaction.add(b"n", [1])
    return transaction.commit(gather=True)


@asynccontextmanager
async def paced(store: RocksStore) -> AsyncIterator[asyncio.Event]:
    told = asyncio.Event()
    store.pace(asyncio.get_running_loop(), told.set)
    yield told
    store.end_pace()


def test_gathered_commits_are_seen_and_written_when_a_sync_is_asked_for(store: RocksStore) -> None:
    async def run() -> None:
        async with paced(store) as told:
            gather(store, b"a", b"1")
            sequence = gather(store, b"b", b"2")
            assert store.get(b"a") == b"1"
            assert store.multi_get([b"b", b"c"]) == [b"2", None]
            assert store.counters(b"n", 1) == [2]
            assert store.written_sequence < sequence
            store.sync_soon()
            await asyncio.wait_for(told.wait(), 10)
            assert store.durable_sequence == sequence

    asyncio.run(run())
    assert list(store.range(b"a", b"c")) == [(b"a", b"1"), (b"b", b"2")]


def test_only_a_paced_store_gathers(store: RocksStore) -> None:
    assert gather(store, b"a", b"1") == store.written_sequence


def test_gathered_commits_that_cannot_be_written_are_lost_and_seen_no_more(
    store: RocksStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Full:
        def write(self, *_: object) -> None:
            raise Exception("IO error: No space left on device: While appending to file: 4.log")

        def __getattr__(self, name: str) -> Any:
            return getattr(database, name)

    database = store._db

    async def run() -> None:
        async with paced(store) as told:
            safe = gather(store, b"a", b"1")
            list(store.range(b"a", b"b"))  # has it written
            monkeypatch.setattr(store, "_db", Full())
            lost = gather(store, b"b", b"2")
            assert store.get(b"b") == b"2"
            store.sync_soon()
            await asyncio.wait_for(told.wait(), 10)
            assert "disk is full" in str(store.failure)
            assert store.get(b"b") is None
            assert store.counters(b"n", 1) == [1]
            with pytest.raises(StoreUnwritable, match="disk is full"):
                store.wait_durable(lost)
            with pytest.raises(StoreUnwritable, match="disk is full"):
                gather(store, b"c", b"3")
            assert store.settle() == safe
            assert store.durable_sequence == lost, "nobody has to wait for what is gone"
            assert store.get(b"a") == b"1"

    asyncio.run(run())


@pytest.mark.parametrize(
    ("text", "kind", "advice"),
    [
        ("IO error: No space left on device: While appending to file: 4.log", StoreUnwritable, "free some space"),
        ("IO error: While open a file: x: Read-only file system", StoreUnwritable, "make the folder writable"),
        ("IO error: While pread: 000004.sst: Input/output error", StoreError, "see that the disk works"),
    ],
)
def test_errors_of_the_database_say_what_to_do(
    store: RocksStore, text: str, kind: type[StoreError], advice: str
) -> None:
    error = store._explain_read(Exception(text))
    assert type(error) is kind
    assert advice in str(error)


def test_a_closed_store_says_so(tmp_path: Path) -> None:
    store = RocksStore(tmp_path)
    store.close()
    store.close()
    with pytest.raises(StoreError, match="was closed"):
        store.get(b"a")


def test_a_view_that_outlives_the_store_does_not_crash_the_process(tmp_path: Path) -> None:
    store = RocksStore(tmp_path)
    for number in range(1000):
        put(store, b"%04d" % number, b"x")
    pairs = store.range(*ALL)
    snapshot = store.snapshot()
    next(pairs)
    store.close()
    try:
        list(pairs)
        snapshot.get(b"0001")
    except StoreError:
        pass


@pytest.mark.parametrize("reverse", [False, True])
def test_a_range_keeps_its_bounds_when_the_caller_forgets_them(store: RocksStore, reverse: bool) -> None:
    transaction = store.begin()
    for number in range(100):
        transaction.put(b"key%03d" % number, b"x")
    transaction.commit()
    for _ in range(50):
        pairs = store.range(b"key%03d" % 10, b"key%03d" % 90, reverse)
        overwritten = [b"key%03d" % (number % 200) for number in range(300)]
        assert len(list(pairs)) == 80
        del overwritten


def test_a_wrong_type_is_our_own_bug_and_not_the_stores(store: RocksStore) -> None:
    with pytest.raises((KeyError, TypeError), match=r"only support bytes|bytes object expected"):
        store.get(1)  # type: ignore[arg-type]


def test_an_unknown_durability_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="fsync, os"):
        RocksStore(tmp_path, "hope")


def test_counters_survive_more_keys_than_are_cached(store: RocksStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dynamometer.storage.rocksdb._CACHED_COUNTER_ROWS", 3)
    for _turn in range(3):
        for number in range(10):
            transaction = store.begin()
            transaction.add(b"n%d" % number, [number, 1])
            transaction.commit()
    assert [store.counters(b"n%d" % number, 2) for number in range(10)] == [[number * 3, 3] for number in range(10)]


def test_idle_memory_is_small(tmp_path: Path) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    RocksStore(tmp_path).close()
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 20_000
