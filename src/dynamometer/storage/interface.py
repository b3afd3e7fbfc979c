"""Ordered bytes: all that the engine asks of a store.

A store is one ordered map from key bytes to value bytes. The engine reads through a `View` and writes one `Batch` at
a time, which happens whole or not at all. Nothing here knows of tables. The interface is written so that a networked
store with row locks can stand behind it:

- no read is free: whatever can be asked for at once is (`multi_get`), and a range carries its bounds and a limit;
- a decision reads through the transaction that will commit its batch. A store that runs transactions side by side
  raises `StoreConflict` from a read or from `commit`, and the engine runs the decision again. The embedded stores run
  one transaction at a time, so they never do;
- counters are added to, never read and written back, so that two writers of one table need not meet.

Durability: `commit` returns a sequence number as soon as the batch is visible to later reads. The batch survives a
crash once `durable_sequence` has reached that number. Nobody is told of a write before that.

Ownership: bytes that go in or come out are never changed afterwards by either side.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

Pair = tuple[bytes, bytes]


class View(Protocol):
    """Reads of one consistent state."""

    def get(self, key: bytes) -> bytes | None:
        """The value, or None."""
        ...

    def multi_get(self, keys: Sequence[bytes]) -> list[bytes | None]:
        """The values in the order of the keys."""
        ...

    def range(self, start: bytes, end: bytes, reverse: bool = False, limit: int = 0) -> Iterator[Pair]:
        """Pairs with start <= key < end in key order, or from the end backwards.

        `limit` is how many pairs the caller expects to take at the most (0: unknown); a store may fetch that many at
        once. The iterator sees the state of the moment it was made.
        """
        ...


class Transaction(View, Protocol):
    """Reads, and the writes that are decided from them.

    Reads show the store as it was before the writes: a transaction doesn't see its own. Of several writes to one key
    the last one counts. A transaction is used once, up to `commit` or `rollback`.
    """

    def put(self, key: bytes, value: bytes) -> None: ...

    def delete(self, key: bytes) -> None: ...

    def add(self, key: bytes, deltas: Sequence[int]) -> None:
        """Add to the counters kept at `key`: a row of signed integers that is all zero where there is none.

        A key holds counters or a value, never both by turns; `put` and `get` are not for counters. A range shows a row
        as the bytes of `counters.pack`, and doesn't show a row that is all zero.
        """
        ...

    def commit(self, gather: bool = False) -> int:
        """Make all writes visible at once; the sequence number that has to become durable. An empty batch is allowed.

        `gather` allows a paced store to write the batch later, together with others, when a sync is asked for. Should
        that fail, `failure` says so, and the writes are lost and seen no more. So it is for commits of which nothing
        in memory is derived.

        Raises StoreConflict (run the decision again), StoreUnwritable (nothing was written).
        """
        ...

    def rollback(self) -> None:
        """Forget the writes. A transaction that was neither committed nor rolled back has written nothing either."""
        ...


class Loop(Protocol):
    """The part of an asyncio event loop that a store needs."""

    def add_reader(self, fd: int, callback: Callable[[], None]) -> object: ...
    def remove_reader(self, fd: int) -> object: ...
    def call_soon(self, callback: Callable[[], None]) -> object: ...


class Store(View, Protocol):
    """A place that keeps ordered bytes."""

    durable_sequence: int
    """Every commit up to this number survives a crash."""
    last_sequence: int
    """The number of the newest commit."""

    def begin(self) -> Transaction: ...

    def counters(self, key: bytes, width: int) -> list[int]:
        """The counters kept at `key`, `width` of them."""
        ...

    def snapshot(self) -> View:
        """A view of this moment that later commits do not change. It is not used after `close`."""
        ...

    def delete_range(self, start: bytes, end: bytes) -> int:
        """Remove every key with start <= key < end; the commit's sequence number."""
        ...

    def wait_durable(self, sequence: int) -> None:
        """Block until `sequence` is durable. Raises StoreUnwritable when it never will be."""
        ...

    def pace(self, loop: Loop, on_durable: Callable[[], None]) -> None:
        """From now on, until `end_pace`, one event loop is all that uses the store, and asks for syncs by `sync_soon`.

        The loop calls `on_durable` when `durable_sequence` has grown after that, or the store has failed.
        """
        ...

    def end_pace(self) -> None:
        """Let go of the loop. Commits become durable by `wait_durable` and `close` again."""
        ...

    def sync_soon(self) -> None:
        """In a paced store: have everything that is committed by now made durable; does not wait."""
        ...

    def settle(self) -> int:
        """After a failure: make durable what can be, and give up the rest. The number of the last commit that is safe.

        Whoever waits for a later one has to be told before anything else is read: after this nothing may seem to
        wait, because what could not be written is seen no more.
        """
        ...

    @property
    def failure(self) -> Exception | None:
        """Why no write is accepted any more, or None."""
        ...

    def close(self) -> None:
        """Make everything durable and let go of the folder."""
        ...
