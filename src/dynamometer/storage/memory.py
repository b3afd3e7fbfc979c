"""A store that lives as long as its process: a sorted map, and the readable reference for every other store.

One thread uses it at a time. Nothing survives the process, so every commit counts as durable the moment it is made.

A range is read in pieces, because a page of a scan takes a few items of a long table. It must nevertheless show the
moment it was made. So an unfinished range is known to the store, and the first commit after it was made has it read
its rest before anything changes. A range that nobody holds any more costs nothing: it is forgotten with its last
reference.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any
from weakref import WeakSet

from sortedcontainers import SortedDict

from dynamometer.storage.counters import pack, plus, unpack
from dynamometer.storage.interface import Loop, Pair

_PIECE = 64
"""How many pairs of a range are read at once, unless the caller expects more."""


class MemoryStore:
    """Ordered bytes in memory."""

    failure = None

    def __init__(self) -> None:
        self.last_sequence = 0
        self.durable_sequence = 0
        self._data: Any = SortedDict()
        self._unfinished: WeakSet[_Range] = WeakSet()

    def get(self, key: bytes) -> bytes | None:
        value: bytes | None = self._data.get(key)
        return value

    def multi_get(self, keys: Sequence[bytes]) -> list[bytes | None]:
        get = self._data.get
        return [get(key) for key in keys]

    def range(self, start: bytes, end: bytes, reverse: bool = False, limit: int = 0) -> Iterator[Pair]:
        if start >= end:
            return iter(())
        data = self._data
        keys = data.irange(start, end, (True, False), reverse)
        size = limit or _PIECE
        piece = [(key, data[key]) for key in islice(keys, size)]
        if len(piece) < size:
            return iter(piece)
        unfinished = _Range(piece, keys, data)
        self._unfinished.add(unfinished)
        return unfinished

    def begin(self) -> MemoryTransaction:
        return MemoryTransaction(self)

    def counters(self, key: bytes, width: int) -> list[int]:
        return unpack(self._data.get(key), width)

    def snapshot(self) -> MemoryStore:
        """A copy of the whole map: simple, and as slow as the map is large."""
        copy = MemoryStore()
        copy._data = self._data.copy()
        return copy

    def delete_range(self, start: bytes, end: bytes) -> int:
        if start >= end:
            return self.last_sequence
        data = self._data
        doomed = list(data.irange(start, end, (True, False)))
        self._finish_ranges()
        if len(doomed) * 8 < len(data):
            for key in doomed:
                del data[key]
        else:
            # Taking keys out one by one costs more than building the map anew from the few that stay.
            self._data = SortedDict([pair for pair in data.items() if not start <= pair[0] < end])
        return self._committed()

    def pace(self, loop: Loop, on_durable: Callable[[], None]) -> None:
        """Nothing to do: no commit becomes durable later than it returns."""

    def end_pace(self) -> None:
        """Nothing to do."""

    def sync_soon(self) -> None:
        """Nothing to sync."""

    def wait_durable(self, sequence: int) -> None:
        if sequence > self.last_sequence:
            raise ValueError(f"commit {sequence} was never made: the last one is {self.last_sequence}")

    def settle(self) -> int:
        return self.durable_sequence

    def close(self) -> None:
        """Nothing to make durable."""

    def _apply(self, writes: dict[bytes, bytes | None], deltas: dict[bytes, Sequence[int]]) -> int:
        if not (writes or deltas):
            return self.last_sequence
        data = self._data
        for key, delta in deltas.items():
            row = plus(unpack(data.get(key)), delta)
            writes[key] = pack(row) if any(row) else None
        if self._unfinished:
            self._finish_ranges()
        for key, value in writes.items():
            if value is not None:
                data[key] = value
            else:
                data.pop(key, None)
        return self._committed()

    def _committed(self) -> int:
        self.last_sequence = self.durable_sequence = sequence = self.last_sequence + 1
        return sequence

    def _finish_ranges(self) -> None:
        for unfinished in list(self._unfinished):
            unfinished.finish()
        self._unfinished.clear()


class MemoryTransaction:
    """Reads of the store as it is, and the writes that wait for `commit`."""

    __slots__ = ("_deltas", "_store", "_writes")

    def __init__(self, store: MemoryStore) -> None:
        self._store = store
        self._writes: dict[bytes, bytes | None] = {}
        self._deltas: dict[bytes, Sequence[int]] = {}

    def get(self, key: bytes) -> bytes | None:
        return self._store.get(key)

    def multi_get(self, keys: Sequence[bytes]) -> list[bytes | None]:
        return self._store.multi_get(keys)

    def range(self, start: bytes, end: bytes, reverse: bool = False, limit: int = 0) -> Iterator[Pair]:
        return self._store.range(start, end, reverse, limit)

    def put(self, key: bytes, value: bytes) -> None:
        self._writes[key] = value

    def delete(self, key: bytes) -> None:
        self._writes[key] = None

    def add(self, key: bytes, deltas: Sequence[int]) -> None:
        gathered = self._deltas.get(key)
        self._deltas[key] = deltas if gathered is None else plus(gathered, deltas)

    def commit(self, gather: bool = False) -> int:
        sequence = self._store._apply(self._writes, self._deltas)
        self.rollback()
        return sequence

    def rollback(self) -> None:
        self._writes = {}
        self._deltas = {}


class _Range:
    """A range that was not read to its end."""

    __slots__ = ("__weakref__", "_data", "_keys", "_piece")

    def __init__(self, piece: Iterable[Pair], keys: Iterator[bytes], data: Any) -> None:
        self._piece = iter(piece)
        self._keys = keys
        self._data = data

    def __iter__(self) -> _Range:
        return self

    def __next__(self) -> Pair:
        for pair in self._piece:
            return pair
        self._read(_PIECE)
        return next(self._piece)

    def finish(self) -> None:
        """Read the rest, because the map is about to change."""
        piece = list(self._piece)
        self._read(None)
        piece.extend(self._piece)
        self._piece = iter(piece)

    def _read(self, size: int | None) -> None:
        data = self._data
        self._piece = iter([(key, data[key]) for key in islice(self._keys, size)])
