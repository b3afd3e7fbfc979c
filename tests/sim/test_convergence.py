"""Regions that are written at the same time become equal, and exactly the updates that were lost are noted."""

from __future__ import annotations

import os
from typing import Any

import pytest

from tests.sim.regions import KEYS, Regions
from tests.sim.servers import Servers

SEEDS = int(os.environ.get("SIM_SEEDS", "60"))
STEPS = 300


INDEX: dict[str, Any] = {
    "AttributeDefinitions": [{"AttributeName": name, "AttributeType": "S"} for name in ("p", "h")],
    "GlobalSecondaryIndexes": [
        {
            "IndexName": "ByH",
            "KeySchema": [{"AttributeName": "h", "KeyType": "HASH"}],
            "Projection": {"ProjectionType": "ALL"},
        }
    ],
}


@pytest.mark.parametrize("count", [2, 3])
def test_regions_become_equal(count: int) -> None:
    for seed in range(SEEDS):
        regions = Regions(seed, count, **INDEX)
        regions.run(STEPS)
        regions.settle()
        first = regions.names[0]
        for other in regions.names[1:]:
            assert regions.contents(first) == regions.contents(other), seed
            assert regions.versions(first) == regions.versions(other), seed
        for key in KEYS:
            assert regions.version(first, key) == regions.writes.winner(key), (seed, key)
        assert regions.findings() == [], seed


def test_two_regions_note_exactly_the_lost_updates() -> None:
    for seed in range(SEEDS):
        regions = Regions(seed)
        regions.run(STEPS)
        regions.settle()
        for key in KEYS:
            lost, recorded = regions.writes.lost(key), regions.recorded(key)
            # a deletion that a deletion replaced has lost nothing
            assert set(recorded) <= lost, (seed, key)
            assert lost - set(recorded) <= regions.writes.deletions, (seed, key)
        assert regions.engine.replication.conflicts(), "such a run has conflicts"


def test_three_regions_note_every_lost_update_and_only_what_was_written_at_the_same_time() -> None:
    for seed in range(SEEDS):
        regions = Regions(seed, 3)
        regions.run(STEPS)
        regions.settle()
        writes = regions.writes
        for key in KEYS:
            recorded = regions.recorded(key)
            assert writes.lost(key) - set(recorded) <= writes.deletions, (seed, key)
            for lost, winner in recorded.items():
                assert lost not in writes.ancestors(key, winner), (seed, key)
                assert winner not in writes.ancestors(key, lost), (seed, key)
                assert lost < winner


@pytest.mark.parametrize("count", [2, 3])
def test_servers_become_equal(count: int) -> None:
    """Whatever their clocks show, and however often a message is lost or comes twice."""
    for seed in range(SEEDS):
        servers = Servers(seed, count)
        servers.run(STEPS)
        servers.settle()
        first = servers.names[0]
        for other in servers.names[1:]:
            assert servers.contents(first) == servers.contents(other), seed
            assert servers.versions(first) == servers.versions(other), seed
        for key in KEYS:
            assert servers.version(first, key) == servers.writes.winner(key), (seed, key)
        assert servers.findings() == [], seed


def test_two_servers_note_exactly_the_lost_updates() -> None:
    for seed in range(SEEDS):
        servers = Servers(seed)
        servers.run(STEPS)
        servers.settle()
        for key in KEYS:
            lost, recorded = servers.writes.lost(key), servers.recorded(key)
            assert set(recorded) <= lost, (seed, key)
            assert lost - set(recorded) <= servers.writes.deletions, (seed, key)


@pytest.mark.parametrize("kind", [Regions, Servers])
def test_regions_that_come_and_go_become_equal(kind: type[Regions]) -> None:
    for seed in range(SEEDS // 3):
        regions = kind(seed, 3)
        third = regions.names[2]
        for _ in range(4):
            regions.run(40)
            regions.heal()
            regions.remove(third)
            regions.names = regions.names[:2]
            regions.run(40)
            regions.heal()
            regions.names = (*regions.names, third)
            regions.add(third)
        regions.run(40)
        regions.settle()
        first = regions.names[0]
        for other in regions.names[1:]:
            assert regions.contents(first) == regions.contents(other), seed
        assert regions.findings() == [], seed
