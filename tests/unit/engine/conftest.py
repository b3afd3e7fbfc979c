"""Fixtures that several tests of the engine use."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.unit.engine.buckets import Buckets
from tests.unit.engine.past import Past, in_memory, on_disk


@pytest.fixture(params=["memory", "rocksdb"])
def past(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Past]:
    """An engine on each store, without a table."""
    engine = in_memory() if request.param == "memory" else on_disk(tmp_path / "data")
    yield engine
    engine.engine.close()


@pytest.fixture(params=["memory", "rocksdb"])
def buckets(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Buckets]:
    """An engine on each store, with an empty bucket and no table."""
    engine = Buckets(tmp_path / "s3", on_disk=request.param == "rocksdb")
    yield engine
    engine.engine.close()
