"""The embedded stores under the public conformance kit."""

from __future__ import annotations

from itertools import count
from pathlib import Path

from dynamometer.storage.interface import Store
from dynamometer.storage.memory import MemoryStore
from dynamometer.storage.rocksdb import RocksStore
from dynamometer.testing.backend import check_backend


def test_memory_store_keeps_the_promises() -> None:
    check_backend(MemoryStore)


def test_rocks_store_keeps_the_promises(tmp_path: Path) -> None:
    numbers = count()

    def make() -> Store:
        return RocksStore(tmp_path / str(next(numbers)), "os")

    def reopen(store: RocksStore) -> Store:
        return RocksStore(store.path, "os")

    check_backend(make, reopen, examples=40)
