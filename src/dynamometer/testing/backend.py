"""Proof that a store keeps the storage interface's promises. Needs Hypothesis.

A store written elsewhere proves itself with one call in its tests:

    def test_my_store(tmp_path):
        check_backend(lambda: MyStore(tmp_path / str(uuid4())), reopen=lambda store: MyStore(store.path))

The store is driven beside a dict, step by step and at random, by a state machine: transactions, ranges that are left
open while the store changes, snapshots, counters, removed ranges, and, where the store outlives a process, closing and
opening again. A failure is shrunk to the shortest run of steps that shows it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from dynamometer.storage.counters import pack
from dynamometer.storage.interface import Pair, Store, View

MakeStore = Callable[[], Store]
Reopen = Callable[[Any], Store]

COUNTER_WIDTH = 2
_AFTER_ALL_KEYS = b"\xff" * 9

_byte = st.sampled_from([b"\x00", b"\x01", b"a", b"b", b"\xff"])
_values_key = st.lists(_byte, max_size=4).map(lambda parts: b"d" + b"".join(parts))
_long_key = st.sampled_from([b"d" + b"a" * 3000, b"d" + b"a" * 3000 + b"\x00"])
_keys = st.one_of(_values_key, _values_key, _values_key, _long_key)
_counter_keys = st.lists(_byte, max_size=1).map(lambda parts: b"n" + b"".join(parts))
_bounds = st.one_of(_keys, _counter_keys, st.sampled_from([b"", b"d", b"e", b"o", _AFTER_ALL_KEYS]))
_values = st.one_of(st.binary(max_size=8), st.integers(0, 255).map(lambda byte: bytes([byte]) * 5000))
_deltas = st.lists(st.integers(-3, 3) | st.integers(-(2**40), 2**40), min_size=COUNTER_WIDTH, max_size=COUNTER_WIDTH)
_puts = st.tuples(st.just("put"), _keys, _values)
_deletes = st.tuples(st.just("delete"), _keys, st.none())
_adds = st.tuples(st.just("add"), _counter_keys, _deltas)
_writes = st.lists(st.one_of(_puts, _puts, _deletes, _adds), max_size=12)


def _copy(key: bytes) -> bytes:
    """The same bytes in memory that nobody else refers to."""
    return bytes(bytearray(key))


def _overwrite_freed(size: int) -> None:
    """Use the memory of bytes that are gone, so that a store shows it when it has kept no more than their address."""
    junk = [bytes([number % 256]) * size for number in range(512)]
    del junk


class _StillLoop:
    """A loop that never turns: what the store would be told of has to be asked for."""

    def add_reader(self, fd: int, callback: Callable[[], None]) -> None:
        pass

    def remove_reader(self, fd: int) -> None:
        pass

    def call_soon(self, callback: Callable[[], None]) -> None:
        pass


def check_backend(make: MakeStore, reopen: Reopen | None = None, examples: int = 100, steps: int = 40) -> None:
    """Raise what fails first: an assertion with the steps that lead to it. `make` gives a new, empty store.

    `reopen` opens a store that was closed, with what it had; leave it out when nothing outlives the store.
    """
    run_state_machine_as_test(
        lambda: BackendMachine(make, reopen),  # type: ignore[arg-type]  # a factory is documented
        settings=settings(
            max_examples=examples,
            stateful_step_count=steps,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )


class BackendMachine(RuleBasedStateMachine):
    """A store beside the dict that it has to equal."""

    def __init__(self, make: MakeStore, reopen: Reopen | None) -> None:
        super().__init__()
        self._make = make
        self._reopen = reopen
        self._model: dict[bytes, bytes] = {}
        self._counters: dict[bytes, list[int]] = {}
        self._snapshots: list[tuple[View, dict[bytes, bytes]]] = []
        self._ranges: list[tuple[Iterator[Pair], list[Pair]]] = []
        self._sequence = 0

    @initialize(is_paced=st.booleans())
    def open(self, is_paced: bool) -> None:
        self._store = self._make()
        self._is_paced = is_paced
        self._pace()
        self._sequence = self._store.last_sequence
        assert list(self._store.range(b"", _AFTER_ALL_KEYS)) == [], "a new store is empty"

    # Writes

    @rule(writes=_writes, gather=st.booleans())
    def commit(self, writes: list[tuple[str, bytes, Any]], gather: bool) -> None:
        transaction = self._store.begin()
        before = self._all()
        for kind, key, argument in writes:
            if kind == "put":
                transaction.put(key, argument)
            elif kind == "delete":
                transaction.delete(key)
            else:
                transaction.add(key, argument)
                continue
            assert transaction.get(key) == before.get(key), "a transaction reads what was committed, not its own writes"
        self._committed(transaction.commit(gather), grown=bool(writes))
        self._apply(writes)

    @rule(writes=_writes, forget=st.booleans())
    def roll_back(self, writes: list[tuple[str, bytes, Any]], forget: bool) -> None:
        transaction = self._store.begin()
        for kind, key, argument in writes:
            getattr(transaction, kind)(*(key,) if kind == "delete" else (key, argument))
        if not forget:
            transaction.rollback()

    @rule(start=_bounds, end=_bounds)
    def delete_range(self, start: bytes, end: bytes) -> None:
        self._committed(self._store.delete_range(start, end), grown=False)
        self._model = {key: value for key, value in self._model.items() if not start <= key < end}
        self._counters = {key: row for key, row in self._counters.items() if not start <= key < end}

    # Reads

    @rule(keys=st.lists(_keys, max_size=5))
    def multi_get(self, keys: list[bytes]) -> None:
        expected = [self._model.get(key) for key in keys]
        assert self._store.multi_get(keys) == expected
        assert self._store.begin().multi_get(keys) == expected
        assert [self._store.get(key) for key in keys] == expected

    @rule(key=_counter_keys)
    def read_counters(self, key: bytes) -> None:
        assert self._store.counters(key, COUNTER_WIDTH) == self._counters.get(key, [0] * COUNTER_WIDTH)

    @rule(start=_bounds, end=_bounds, reverse=st.booleans(), limit=st.integers(0, 4), inside=st.booleans())
    def range(self, start: bytes, end: bytes, reverse: bool, limit: int, inside: bool) -> None:
        view: View = self._store.begin() if inside else self._store
        assert list(view.range(start, end, reverse, limit)) == self._expected(self._all(), start, end, reverse)

    @rule(start=_bounds, end=_bounds, reverse=st.booleans(), limit=st.integers(0, 4), taken=st.integers(0, 3))
    def leave_range_open(self, start: bytes, end: bytes, reverse: bool, limit: int, taken: int) -> None:
        pairs = self._store.range(_copy(start), _copy(end), reverse, limit)
        _overwrite_freed(len(start))
        _overwrite_freed(len(end))
        expected = self._expected(self._all(), start, end, reverse)
        for pair in expected[:taken]:
            assert next(pairs) == pair
        self._ranges.append((pairs, expected[taken:]))

    @precondition(lambda self: self._ranges)
    @rule()
    def finish_range(self) -> None:
        pairs, expected = self._ranges.pop(0)
        assert list(pairs) == expected, "a range shows the moment it was made"

    @rule()
    def take_snapshot(self) -> None:
        self._snapshots.append((self._store.snapshot(), self._all()))

    @precondition(lambda self: self._snapshots)
    @rule(keys=st.lists(_keys, max_size=5), start=_bounds, end=_bounds, reverse=st.booleans(), last=st.booleans())
    def read_snapshot(self, keys: list[bytes], start: bytes, end: bytes, reverse: bool, last: bool) -> None:
        snapshot, model = self._snapshots[0]
        assert snapshot.multi_get(keys) == [model.get(key) for key in keys]
        assert [snapshot.get(key) for key in keys] == [model.get(key) for key in keys]
        assert list(snapshot.range(start, end, reverse)) == self._expected(model, start, end, reverse)
        if last:
            self._snapshots.pop(0)

    # Durability

    @rule()
    def sync_soon(self) -> None:
        self._store.sync_soon()

    @rule()
    def wait_durable(self) -> None:
        self._store.wait_durable(self._sequence)
        assert self._store.durable_sequence >= self._sequence

    @precondition(lambda self: self._reopen is not None)
    @rule()
    def close_and_open(self) -> None:
        assert self._reopen is not None
        self._forget_views()
        self._store.close()
        self._store = self._reopen(self._store)
        self._pace()
        self._sequence = self._store.last_sequence
        assert list(self._store.range(b"", _AFTER_ALL_KEYS)) == sorted(self._all().items()), "closing keeps everything"

    @invariant()
    def nothing_failed(self) -> None:
        assert self._store.failure is None
        assert self._store.durable_sequence <= self._store.last_sequence

    def teardown(self) -> None:
        if hasattr(self, "_store"):
            found = list(self._store.range(b"", _AFTER_ALL_KEYS))
            self._forget_views()
            self._store.close()
            assert found == sorted(self._all().items())

    # The model

    def _committed(self, sequence: int, grown: bool) -> None:
        assert sequence == self._store.last_sequence, "a commit's number is the newest one"
        assert sequence > self._sequence if grown else sequence >= self._sequence, "numbers grow"
        self._sequence = sequence

    def _apply(self, writes: list[tuple[str, bytes, Any]]) -> None:
        for kind, key, argument in writes:
            if kind == "put":
                self._model[key] = argument
            elif kind == "delete":
                self._model.pop(key, None)
            else:
                row = self._counters.setdefault(key, [0] * COUNTER_WIDTH)
                row[:] = [old + delta for old, delta in zip(row, argument, strict=True)]

    def _all(self) -> dict[bytes, bytes]:
        """What a range over everything shows."""
        return self._model | {key: pack(row) for key, row in self._counters.items() if any(row)}

    @staticmethod
    def _expected(model: dict[bytes, bytes], start: bytes, end: bytes, reverse: bool) -> list[Pair]:
        return sorted(((key, value) for key, value in model.items() if start <= key < end), reverse=reverse)

    def _pace(self) -> None:
        if self._is_paced:
            self._store.pace(_StillLoop(), lambda: None)

    def _forget_views(self) -> None:
        self._snapshots.clear()
        self._ranges.clear()
