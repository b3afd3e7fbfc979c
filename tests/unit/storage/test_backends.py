"""The embedded stores under the public conformance kit."""

from __future__ import annotations

from itertools import count
from pathlib import Path

import pytest

from dynamometer.storage.interface import Store
from dynamometer.storage.memory import MemoryStore
from dynamometer.storage.rocksdb import DURABILITIES, RocksStore
from dynamometer.testing.backend import check_backend


def test_memory_store_keeps_the_promises() -> None:
    check_backend(MemoryStore)


@pytest.mark.parametrize("durability", DURABILITIES)
def test_rocks_store_keeps_the_promises(tmp_path: Path, durability: str) -> None:
    numbers = count()

    def make() -> Store:
        return RocksStore(tmp_path / str(next(numbers)), durability)

    def reopen(store: RocksStore) -> Store:
        return RocksStore(store.path, durability)

    check_backend(make, reopen, examples=40)
