"""The engine: one request in, one answer out, nothing visible in between.

A request has been given its operation and its world (account and region) by the wire. Reads look at the store as it
is. Writes decide and commit: `transact` runs a decision inside one storage transaction and runs it again if another
transaction got in its way, which the embedded stores never report. The answer comes with the sequence number that has
to be durable before anyone may see it: a reader must not be told what a crash could still take back.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Protocol, TypeVar

from dynamometer.base.clock import Clock, SystemClock
from dynamometer.base.config import Settings
from dynamometer.base.errors import StoreConflict, TransactionConflictException
from dynamometer.base.rng import Random, seeded
from dynamometer.engine import reaper, recovery
from dynamometer.engine.backups import Backups
from dynamometer.engine.catalog import Catalog, World
from dynamometer.engine.commit import Commit
from dynamometer.engine.destinations import Destinations
from dynamometer.engine.log import ChangeLog
from dynamometer.engine.objects import FolderObjects, ObjectStore
from dynamometer.engine.reaper import Reaper
from dynamometer.engine.replication.peers import Transport
from dynamometer.engine.replication.replicator import Replicator
from dynamometer.engine.restores import Restores
from dynamometer.engine.sinks import Sink
from dynamometer.engine.streams import Streams
from dynamometer.engine.transfers.registry import Transfers
from dynamometer.storage.interface import Store

CONFLICT_TRIES_MAX = 20
LOG_TRIM_SECONDS = 60.0
REAP_SECONDS = 1.0
DELIVER_SECONDS = 0.2
ROUNDS_MAX = 100
BACKUP_EXPIRY_SECONDS = 60.0
REPLICATION_SECONDS = 0.05
GRAVE_SWEEP_SECONDS = 60.0
TRANSFER_EXPIRY_SECONDS = 3600.0

Answer = tuple[dict[str, Any], int]
T = TypeVar("T")


class Job(Protocol):
    """Work that goes on beside requests, a bounded piece at a time."""

    def step(self) -> bool:
        """Do one piece; whether the job is finished."""
        ...


class Chore:
    """Work that comes up again and again. `work` returns True when it has more to do at once."""

    __slots__ = ("_every_seconds", "due", "work")

    def __init__(self, every_seconds: float, work: Callable[[], bool | None]) -> None:
        self._every_seconds = every_seconds
        self.work = work
        self.due = 0.0

    def do(self, now: float) -> None:
        """Work, if it is time."""
        if now >= self.due and not self.work():
            self.due = now + self._every_seconds


class Engine:
    """What DynamoDB does, on one store."""

    def __init__(
        self,
        store: Store,
        clock: Clock | None = None,
        rng: Random | None = None,
        settings: Settings | None = None,
        objects: ObjectStore | None = None,
        sink: Sink | None = None,
        transport: Transport | None = None,
    ) -> None:
        self.store = store
        self.clock = clock if clock is not None else SystemClock()
        self.rng = rng if rng is not None else seeded()
        self.settings = settings if settings is not None else Settings()
        self.objects = objects
        """The buckets of exports and imports; None where there are none."""
        if objects is None and self.settings.s3_folder is not None:
            self.objects = FolderObjects(self.settings.s3_folder)
        self.jobs: list[Job] = []
        self.log = ChangeLog(store, self.clock)
        self.catalog = Catalog(store, self.clock, self.settings, self.rng, self.jobs)
        self.streams = Streams(store, self.clock, self.log, self.catalog, self.settings)
        self.destinations = Destinations(store, self.clock, self.log, self.catalog, sink)
        reaper.resume(self)
        self.log.holders.append(partial(recovery.holder, self))
        self.backups = Backups(self)
        self.restores = Restores(self)
        self.replication = Replicator(self, transport)
        self.transfers = Transfers(self)
        self._next_chore = 0.0
        self._chores = [
            Chore(LOG_TRIM_SECONDS, self.log.trim),
            Chore(REAP_SECONDS, Reaper(self).reap),
            Chore(DELIVER_SECONDS, self.destinations.deliver),
            Chore(BACKUP_EXPIRY_SECONDS, self.backups.expire),
            Chore(REPLICATION_SECONDS, self.replication.work),
            Chore(GRAVE_SWEEP_SECONDS, self.replication.sweep),
            Chore(TRANSFER_EXPIRY_SECONDS, self.transfers.forget),
        ]

    def world(self, account: str, region: str) -> World:
        """The tables of one account in one region."""
        return self.catalog.world(account, region)

    def transact(self, decide: Callable[[Commit], T]) -> tuple[T, int]:
        """Run `decide` and commit what it staged; again, a bounded number of times, when the store says it lost a race.

        Raises whatever `decide` raises, with nothing written; TransactionConflictException when it keeps losing.
        """
        for _ in range(CONFLICT_TRIES_MAX):
            commit = Commit(self.store, self.log, self.settings.item_collection_limit_bytes)
            try:
                outcome = decide(commit)
                return outcome, commit.finish()
            except StoreConflict:
                commit.transaction.rollback()
            except BaseException:
                commit.transaction.rollback()
                raise
        raise TransactionConflictException("Transaction is ongoing for the item.")

    @property
    def has_work(self) -> bool:
        """Whether `run_jobs` has anything to do now."""
        return bool(self.jobs) or self.clock.now() >= self._next_chore

    def run_jobs(self, steps: int = 1) -> bool:
        """Give each job some steps, and do the chores that are due; whether there is more at once."""
        for _ in range(steps):
            if not self.jobs:
                break
            self.jobs[:] = [job for job in self.jobs if not job.step()]
        now = self.clock.now()
        if now >= self._next_chore:
            for chore in self._chores:
                chore.do(now)
            self._next_chore = min(chore.due for chore in self._chores)
        return self.has_work

    def catch_up(self) -> None:
        """Finish all jobs and do every chore now, due or not; again while one gives another something to do."""
        for _ in range(ROUNDS_MAX):
            before = self.store.last_sequence
            while self.jobs:
                self.run_jobs()
            for chore in self._chores:
                while chore.work():
                    # some of it is told to others, so it has to be safe first
                    self.store.wait_durable(self.store.last_sequence)
            if self.store.last_sequence == before:
                return

    def close(self) -> None:
        """Make everything durable and let go of the store; unfinished jobs are resumed by the next engine."""
        self.destinations.close()
        self.replication.close()
        self.jobs.clear()  # a job's open range would keep the data folder locked
        self.store.close()
