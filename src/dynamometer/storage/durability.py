"""Group commit: one sync of the log serves every commit that came before it.

A commit is visible at once and durable later. A thread of its own takes the newest commit's number, syncs the log,
and thereby makes all commits up to that number durable. While it syncs, the next commits gather; nothing is synced
while nothing is pending.

The thread is woken through a queue, and only when it said that it sleeps: a busy store never pays for a wake-up. The
order "publish the number, then look whether it sleeps" on one side and "say so, then look at the number" on the other
leaves no gap in which a commit could be forgotten; at the worst there is one wake-up too many.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from queue import SimpleQueue
from threading import Lock, Thread

from dynamometer.base.errors import StoreError, StoreUnwritable

log = logging.getLogger(__name__)


class GroupCommit:
    """The sequence numbers of a store whose commits become durable after they became visible."""

    def __init__(self, sync: Callable[[], None], at_once: bool = False) -> None:
        """`sync` makes durable what was written so far. `at_once`: every commit counts as durable, without it."""
        self.last_sequence = 0
        self.durable_sequence = 0
        self.failure: StoreError | None = None
        self.is_paced = False
        """Somebody calls `sync_soon` for all commits: none of them wakes the thread by itself."""
        self._is_asked = False
        self._sync = sync
        self._sync_failed = False
        self._sync_lock = Lock()
        self._callbacks: list[Callable[[], None]] = []
        self._wake: SimpleQueue[None] = SimpleQueue()
        self._at_once = at_once
        self._asleep = False
        self._closing = False
        self._thread = Thread(target=self._run, name="dynamometer-sync", daemon=True)
        if not at_once:
            self._thread.start()

    def committed(self) -> int:
        """Count one more visible commit; its number."""
        self.last_sequence = sequence = self.last_sequence + 1
        if self._at_once:
            self.durable_sequence = sequence
        elif self._asleep and not self.is_paced:
            self.sync_soon()
        return sequence

    def sync_soon(self) -> None:
        """Have everything that is committed by now synced; does not wait."""
        self._is_asked = True
        if self._asleep:
            self._asleep = False
            self._wake.put(None)

    def on_durable(self, callback: Callable[[], None]) -> None:
        self._callbacks.append(callback)

    def wait_durable(self, sequence: int) -> None:
        """Block until the commit is durable: whoever waits syncs by itself, unless another thread is at it."""
        if sequence > self.last_sequence:
            raise ValueError(f"commit {sequence} was never made: the last one is {self.last_sequence}")
        while self.durable_sequence < sequence:
            if self._sync_failed:
                raise StoreUnwritable(str(self.failure)) from self.failure
            self._sync_pending()

    def refuse_writes(self, failure: StoreError) -> StoreError:
        """Remember why nothing is written any more; the first reason stays."""
        if self.failure is None:
            self.failure = failure
            self._notify()
        return self.failure

    def stop_syncing(self) -> None:
        """Let the thread end, then sync what is left. Raises what a failed sync raises."""
        self._closing = True
        if self._thread.is_alive():
            self._wake.put(None)
            self._thread.join()
        self.wait_durable(self.last_sequence)

    def _run(self) -> None:
        while not (self._closing or self._sync_failed):
            self._asleep = True
            if not self._is_asked and (self.is_paced or self.last_sequence == self.durable_sequence):
                self._wake.get()
            self._asleep = self._is_asked = False
            self._sync_pending()

    def _sync_pending(self) -> None:
        with self._sync_lock:
            newest = self.last_sequence
            if newest == self.durable_sequence or self._sync_failed:
                return
            try:
                self._sync()
            except StoreError as error:
                self._sync_failed = True
                self.failure = self.failure or error
            else:
                self.durable_sequence = newest
        self._notify()

    def _notify(self) -> None:
        for callback in self._callbacks:
            try:
                callback()
            except Exception:
                # A listener that is gone (an event loop that has closed) must not stop the others' answers.
                log.exception("a durability callback failed")
