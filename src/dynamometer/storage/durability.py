"""Group commit: one sync of the log serves every commit that came before it.

A commit is visible at once and durable later. There are two ways to that:

- `wait_durable`: whoever waits syncs by itself, unless another thread is at it; one sync serves all that wait.
- a paced store (`pace`): its one user, an event loop, asks with `sync_soon`. A process of its own syncs, and the loop
  is told when that is done. What is committed meanwhile gathers for the next sync, which then starts at once.

A paced store may put off the writing itself until a sync is asked for (see `Transaction.commit`): such a commit has its
number, and is in the log once `written_sequence` has reached that.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import suppress
from threading import Lock

from dynamometer.base.errors import StoreError, StoreUnwritable
from dynamometer.storage.interface import Loop
from dynamometer.storage.sync_process import SyncProcess, SyncProcessGone

log = logging.getLogger(__name__)


class GroupCommit:
    """The sequence numbers of a store whose commits become durable after they became visible."""

    def __init__(self, sync: Callable[[], None], start_process: Callable[[], SyncProcess] | None = None) -> None:
        """`sync` makes durable what was written so far, or raises StoreError; `start_process` starts who can do so too.

        Without `start_process` nothing is synced: every commit counts as durable.
        """
        self.last_sequence = 0
        self.written_sequence = 0
        self.durable_sequence = 0
        self.failure: StoreError | None = None
        self._sync = sync
        self._sync_failed = False
        self._sync_lock = Lock()
        self._start_process = start_process
        self._loop: Loop | None = None
        self._on_durable: Callable[[], None] = lambda: None
        self._process: SyncProcess | None = None
        self._syncing = 0
        """The number up to which the process is making commits durable, 0 while it has nothing to do."""
        self._is_asked = False
        """Another sync is to follow the one that is under way."""

    def committed(self, is_written: bool = True) -> int:
        """Count one more visible commit; its number. `is_written`: it is in the log, and so is all before it."""
        self.last_sequence = sequence = self.last_sequence + 1
        if is_written:
            self.written()
        return sequence

    def written(self) -> None:
        """Every commit that has a number is in the log by now."""
        self.written_sequence = self.last_sequence
        if self._start_process is None:
            self.durable_sequence = self.written_sequence

    def _write_gathered(self) -> None:
        """Write the commits that were put off; for a store that does that. Raises StoreUnwritable."""

    # Whoever waits syncs.

    def wait_durable(self, sequence: int) -> None:
        """Block until the commit is durable."""
        if sequence > self.last_sequence:
            raise ValueError(f"commit {sequence} was never made: the last one is {self.last_sequence}")
        self._write_gathered()
        while self.durable_sequence < sequence:
            if self._sync_failed or sequence > self.written_sequence:
                raise StoreUnwritable(str(self.failure)) from self.failure
            self._sync_pending()

    def _sync_pending(self) -> None:
        with self._sync_lock:
            newest = self.written_sequence
            if newest <= self.durable_sequence or self._sync_failed:
                return
            try:
                self._sync()
            except StoreError as error:
                self._fail_sync(error)
            else:
                self.durable_sequence = newest
        self._notify()

    # The loop is told.

    def pace(self, loop: Loop, on_durable: Callable[[], None]) -> None:
        self._loop, self._on_durable = loop, on_durable
        if self._start_process is None:
            return
        try:
            self._process = self._start_process()
        except OSError as error:
            log.warning("no process for syncs could be started, so that each of them holds up all requests: %s", error)
        else:
            loop.add_reader(self._process.answers, self._on_answer)

    def end_pace(self) -> None:
        self._end_process()
        self._loop = None

    def sync_soon(self) -> None:
        """Have everything that is committed by now made durable; does not wait, unless the process is missing."""
        if self._syncing:
            self._is_asked = True
            return
        try:
            self._write_gathered()
        except StoreError as error:
            log.debug("what was to be synced could not be written: %s", error)  # `failure` tells whoever waits
        if self._process is None:
            self._sync_pending()
        elif self.written_sequence > self.durable_sequence and not self._sync_failed:
            try:
                self._process.ask()
            except SyncProcessGone:
                self._do_without_process()
            else:
                self._syncing = self.written_sequence

    def _on_answer(self) -> None:
        assert self._process is not None
        synced, self._syncing = self._syncing, 0
        try:
            self._process.answer()
        except SyncProcessGone:
            self._do_without_process()
        except StoreError as error:
            self._fail_sync(error)
        else:
            self.durable_sequence = max(self.durable_sequence, synced)
        self._on_durable()  # first: while the next sync begins, clients may already read their answers
        if self._is_asked:
            self._is_asked = False
            self.sync_soon()

    def _do_without_process(self) -> None:
        log.warning("the process for syncs has ended, so that each of them now holds up all requests")
        self._end_process()
        self._sync_pending()

    def _end_process(self) -> None:
        if self._process is not None and self._loop is not None:
            with suppress(RuntimeError):  # a loop that has ended watches nothing
                self._loop.remove_reader(self._process.answers)
            self._process.close()
        self._process = None
        self._syncing = 0

    # Failures.

    def settle(self) -> int:
        """After a failure: make durable what can be, and give up the rest. The last commit that survives a crash.

        Commits that never reached the log have left the view, so from then on nobody has to wait for one of them.
        Those whose sync failed are still seen: nobody is told of them ever.
        """
        self._sync_pending()
        survived = self.durable_sequence
        if not self._sync_failed:
            self.durable_sequence = self.written_sequence = self.last_sequence
        return survived

    def refuse_writes(self, failure: StoreError) -> StoreError:
        """Remember why nothing is written any more; the first reason stays."""
        if self.failure is None:
            self.failure = failure
            self._notify()
        return self.failure

    def _fail_sync(self, failure: StoreError) -> None:
        self._sync_failed = True
        self.failure = self.failure or failure

    def _notify(self) -> None:
        if self._loop is not None:
            self._loop.call_soon(self._on_durable)
