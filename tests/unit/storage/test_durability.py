"""Group commit: who is told when, and what a failed sync means."""

from __future__ import annotations

from collections.abc import Iterator
from threading import Event

import pytest

from dynamometer.base.errors import StoreUnwritable
from dynamometer.storage.durability import GroupCommit


class Disk:
    """A sync that waits to be let through, and fails when told to."""

    def __init__(self) -> None:
        self.syncs = 0
        self.entered = Event()
        self.allowed = Event()
        self.allowed.set()
        self.fails = False

    def sync(self) -> None:
        self.syncs += 1
        self.entered.set()
        assert self.allowed.wait(10)
        if self.fails:
            raise StoreUnwritable("the disk is full")


@pytest.fixture
def disk() -> Disk:
    return Disk()


@pytest.fixture
def commits(disk: Disk) -> Iterator[GroupCommit]:
    commits = GroupCommit(disk.sync)
    yield commits
    disk.allowed.set()
    disk.fails = False
    if commits.failure is None:
        commits.stop_syncing()


def test_a_commit_becomes_durable_without_anyone_waiting(disk: Disk, commits: GroupCommit) -> None:
    durable = Event()
    commits.on_durable(durable.set)
    sequence = commits.committed()
    assert durable.wait(10)
    assert commits.durable_sequence == sequence == 1


def test_one_sync_serves_all_that_came_meanwhile(disk: Disk, commits: GroupCommit) -> None:
    disk.allowed.clear()
    commits.committed()
    assert disk.entered.wait(10)
    for _ in range(100):
        sequence = commits.committed()
    assert commits.durable_sequence == 0
    disk.allowed.set()
    commits.wait_durable(sequence)
    assert disk.syncs == 2


def test_what_is_committed_during_a_sync_waits_for_the_next(disk: Disk, commits: GroupCommit) -> None:
    disk.allowed.clear()
    told = Event()
    commits.on_durable(told.set)
    first = commits.committed()
    assert disk.entered.wait(10)
    disk.entered.clear()
    second = commits.committed()
    disk.allowed.set()
    commits.wait_durable(first)
    assert told.wait(10)
    commits.wait_durable(second)
    assert disk.syncs == 2


def test_nothing_is_synced_when_nothing_is_pending(disk: Disk, commits: GroupCommit) -> None:
    commits.wait_durable(commits.committed())
    commits.wait_durable(1)
    commits.stop_syncing()
    assert disk.syncs == 1


def test_a_failed_sync_is_told_and_stays(disk: Disk, commits: GroupCommit) -> None:
    told = Event()
    commits.on_durable(told.set)
    disk.fails = True
    sequence = commits.committed()
    with pytest.raises(StoreUnwritable, match="disk is full"):
        commits.wait_durable(sequence)
    assert told.wait(10)
    disk.fails = False
    with pytest.raises(StoreUnwritable):
        commits.wait_durable(sequence)
    assert commits.durable_sequence == 0
    assert disk.syncs == 1
    assert isinstance(commits.failure, StoreUnwritable)


def test_a_refused_write_leaves_earlier_commits_their_sync(disk: Disk, commits: GroupCommit) -> None:
    disk.allowed.clear()
    sequence = commits.committed()
    first = commits.refuse_writes(StoreUnwritable("the first reason"))
    assert commits.refuse_writes(StoreUnwritable("another")) is first
    disk.allowed.set()
    commits.wait_durable(sequence)
    assert commits.failure is first


def test_a_callback_that_fails_does_not_stop_the_others(disk: Disk, commits: GroupCommit) -> None:
    durable = Event()

    def gone() -> None:
        raise RuntimeError("the event loop is closed")

    commits.on_durable(gone)
    commits.on_durable(durable.set)
    commits.committed()
    assert durable.wait(10)


def test_waiting_for_a_commit_that_was_never_made_is_an_error(commits: GroupCommit) -> None:
    with pytest.raises(ValueError, match="never made"):
        commits.wait_durable(1)


def test_at_once_needs_no_sync(disk: Disk) -> None:
    commits = GroupCommit(disk.sync, at_once=True)
    assert commits.committed() == commits.durable_sequence == 1
    commits.wait_durable(1)
    commits.stop_syncing()
    assert disk.syncs == 0


def test_a_paced_store_syncs_when_it_is_asked_and_then_for_all() -> None:
    synced = Event()
    group = GroupCommit(synced.set)
    group.is_paced = True
    for _ in range(3):
        group.committed()
    assert not synced.wait(0.05)
    assert group.durable_sequence == 0
    group.sync_soon()
    group.wait_durable(3)
    assert group.durable_sequence == 3
    group.stop_syncing()


def test_a_sync_that_is_asked_for_during_another_is_not_forgotten() -> None:
    entered, go_on = Event(), Event()

    def sync() -> None:
        entered.set()
        assert go_on.wait(10)

    group = GroupCommit(sync)
    group.is_paced = True
    durable = Event()
    group.on_durable(lambda: durable.set() if group.durable_sequence == 2 else None)
    group.committed()
    group.sync_soon()
    assert entered.wait(10)
    group.committed()
    group.sync_soon()
    go_on.set()
    assert durable.wait(10)
    group.stop_syncing()
