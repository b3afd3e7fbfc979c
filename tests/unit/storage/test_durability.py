"""Group commit: who is told when, and what a failed sync means."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from threading import Event, Thread

import pytest

from dynamometer.base.errors import StoreError, StoreUnwritable
from dynamometer.storage.durability import GroupCommit
from dynamometer.storage.sync_process import SyncProcess

SECONDS = 10.0


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
        assert self.allowed.wait(SECONDS)
        if self.fails:
            raise StoreUnwritable("the disk is full")


class Process:
    """A sync process whose answers are the test's: `answer` writes what the loop then reads."""

    def __init__(self) -> None:
        self.asked = 0
        self.answers, self._out = os.pipe()

    def give(self, answer: bytes) -> None:
        os.write(self._out, answer)

    def ask(self) -> None:
        self.asked += 1

    def answer(self) -> None:
        if os.read(self.answers, 1) != b"0":
            raise StoreError("the disk does not work")

    def close(self) -> None:
        os.close(self.answers)
        os.close(self._out)


@pytest.fixture
def disk() -> Disk:
    return Disk()


@pytest.fixture
def commits(disk: Disk) -> GroupCommit:
    return GroupCommit(disk.sync, Process)  # type: ignore[arg-type]


# Whoever waits syncs.


def test_one_sync_serves_all_commits_before_it(disk: Disk, commits: GroupCommit) -> None:
    for _ in range(100):
        sequence = commits.committed()
    commits.wait_durable(1)
    commits.wait_durable(sequence)
    assert disk.syncs == 1
    assert commits.durable_sequence == sequence == 100


def test_one_sync_serves_all_threads_that_wait_for_it(disk: Disk, commits: GroupCommit) -> None:
    first = commits.committed()
    disk.allowed.clear()
    waiting = [Thread(target=commits.wait_durable, args=(first,))]
    waiting[0].start()
    assert disk.entered.wait(SECONDS)
    second = commits.committed()
    waiting += [Thread(target=commits.wait_durable, args=(second,)) for _ in range(5)]
    for thread in waiting[1:]:
        thread.start()
    assert commits.durable_sequence == 0
    disk.allowed.set()
    for thread in waiting:
        thread.join(SECONDS)
    assert commits.durable_sequence == second
    assert disk.syncs == 2, "what is committed during a sync waits for the next, together"


def test_a_failed_sync_stays(disk: Disk, commits: GroupCommit) -> None:
    disk.fails = True
    sequence = commits.committed()
    with pytest.raises(StoreUnwritable, match="disk is full"):
        commits.wait_durable(sequence)
    disk.fails = False
    with pytest.raises(StoreUnwritable):
        commits.wait_durable(sequence)
    assert commits.durable_sequence == 0
    assert disk.syncs == 1
    assert isinstance(commits.failure, StoreUnwritable)
    assert commits.settle() == commits.durable_sequence == 0, "what is seen and may be lost is never told"


def test_a_refused_write_leaves_earlier_commits_their_sync(commits: GroupCommit) -> None:
    sequence = commits.committed()
    first = commits.refuse_writes(StoreUnwritable("the first reason"))
    assert commits.refuse_writes(StoreUnwritable("another")) is first
    commits.wait_durable(sequence)
    assert commits.failure is first


def test_what_was_never_written_is_given_up_after_a_failure(commits: GroupCommit) -> None:
    safe = commits.committed()
    lost = commits.committed(is_written=False)
    commits.refuse_writes(StoreUnwritable("the disk is full"))
    with pytest.raises(StoreUnwritable, match="disk is full"):
        commits.wait_durable(lost)
    assert commits.settle() == safe
    assert commits.durable_sequence == lost


def test_waiting_for_a_commit_that_was_never_made_is_an_error(commits: GroupCommit) -> None:
    with pytest.raises(ValueError, match="never made"):
        commits.wait_durable(1)


def test_where_nothing_is_synced_every_commit_counts_as_durable(disk: Disk) -> None:
    commits = GroupCommit(disk.sync)
    assert commits.committed() == commits.durable_sequence == 1
    commits.wait_durable(1)
    assert disk.syncs == 0


# The loop is told.


@asynccontextmanager
async def paced(commits: GroupCommit) -> AsyncIterator[tuple[Process, asyncio.Event]]:
    told = asyncio.Event()
    commits.pace(asyncio.get_running_loop(), told.set)
    yield commits._process, told  # type: ignore[misc]
    commits.end_pace()


async def heard(told: asyncio.Event) -> None:
    await asyncio.wait_for(told.wait(), SECONDS)
    told.clear()


def test_a_paced_store_syncs_when_it_is_asked_and_then_for_all(disk: Disk, commits: GroupCommit) -> None:
    async def run() -> None:
        async with paced(commits) as (process, told):
            for _ in range(3):
                commits.committed()
            assert process.asked == 0
            commits.sync_soon()
            assert process.asked == 1
            assert commits.durable_sequence == 0
            process.give(b"0")
            await heard(told)
            assert commits.durable_sequence == 3
            commits.sync_soon()
            assert process.asked == 1, "nothing is synced when nothing is pending"

    asyncio.run(run())
    assert disk.syncs == 0


def test_what_comes_during_a_sync_gathers_for_the_next_which_starts_at_once(commits: GroupCommit) -> None:
    async def run() -> None:
        async with paced(commits) as (process, told):
            commits.committed()
            commits.sync_soon()
            for _ in range(3):
                commits.committed()
                commits.sync_soon()
            assert process.asked == 1
            process.give(b"0")
            await heard(told)
            assert (commits.durable_sequence, process.asked) == (1, 2)
            process.give(b"0")
            await heard(told)
            assert (commits.durable_sequence, process.asked) == (4, 2)

    asyncio.run(run())


def test_a_sync_that_failed_is_told_and_stays(commits: GroupCommit) -> None:
    async def run() -> None:
        async with paced(commits) as (process, told):
            commits.committed()
            commits.sync_soon()
            process.give(b"x")
            await heard(told)
            assert "does not work" in str(commits.failure)
            commits.committed()
            commits.sync_soon()
            assert process.asked == 1
            assert commits.durable_sequence == 0

    asyncio.run(run())


# The process itself.


@pytest.mark.parametrize("moment", ["idle", "asked"])
def test_when_the_process_is_gone_syncs_go_on(disk: Disk, tmp_path: Path, moment: str) -> None:
    commits = GroupCommit(disk.sync, lambda: SyncProcess(tmp_path))

    async def run() -> None:
        async with paced(commits) as (process, told):
            commits.committed()
            if moment == "asked":
                os.kill(process._process.pid, signal.SIGSTOP)  # type: ignore[attr-defined]
                commits.sync_soon()
            os.kill(process._process.pid, signal.SIGKILL)  # type: ignore[attr-defined]
            await heard(told)
            assert commits.durable_sequence == 1
            commits.committed()
            commits.sync_soon()
            assert commits.durable_sequence == 2

    asyncio.run(run())
    assert disk.syncs == 2


def test_where_no_process_can_be_started_syncs_hold_up_the_loop(disk: Disk) -> None:
    def refuse() -> SyncProcess:
        raise OSError("too many processes")

    commits = GroupCommit(disk.sync, refuse)

    async def run() -> None:
        async with paced(commits) as (_, told):
            commits.committed()
            commits.sync_soon()
            assert commits.durable_sequence == 1
            await heard(told)

    asyncio.run(run())
    assert disk.syncs == 1


def test_the_process_syncs_what_there_is_and_says_what_failed(tmp_path: Path) -> None:
    process = SyncProcess(tmp_path)
    (tmp_path / "000004.log").write_bytes(b"x")
    process.ask()
    process.answer()
    (tmp_path / "000004.log").unlink()
    os.mkfifo(tmp_path / "000005.log")
    writer = os.open(tmp_path / "000005.log", os.O_RDWR)  # a pipe can be opened, but not be synced
    process.ask()
    with pytest.raises(StoreError, match="Invalid argument"):
        process.answer()
    os.close(writer)
    process.close()


def test_the_process_heeds_the_server_and_not_the_terminal(tmp_path: Path) -> None:
    process = SyncProcess(tmp_path)
    process.ask()
    process.answer()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        os.kill(process._process.pid, number)
    process.ask()
    process.answer()
    process.close()
    assert process._process.returncode == 0
