"""The embedded persistent store: RocksDB in a folder that one process owns.

One thread reads and writes; who syncs the log is told in `durability`.

- Durability "fsync": a commit is durable after the log's sync, one sync serving all commits that wait. "os": a commit
  counts as durable once the operating system has it. It survives the end of the process however violent, and is lost
  when the machine loses power.
- A paced store gathers commits that allow it, and writes them to RocksDB as one batch when a sync is asked for: that
  costs half of writing each by itself. Until then `get` finds them in a dict; a range has them written first.
- A transaction reads the store as it is: it doesn't see its own writes.
- Counters are read once and then kept in memory; a batch writes their newest values. Small values that were
  read lately are kept as well: finding one again costs a tenth of the 2 to 3 us that RocksDB takes.
- Every error of RocksDB is turned into one of ours here, and nowhere else.

What RocksDB is told about damage: checksums are verified on every read. A log whose last record is torn is normal
after a crash and is cut there: nobody was told of that record. Damage before the end of the log is refused instead of
skipped, for the records behind it may have been acknowledged. `salvage=True` is the operator's word that what lies
before the damage is better than nothing.

Iterators of RocksDB end at damage as they end at the last key, so each end is followed by a look at the status. That
is why `Rdict.items`, which offers none, is not used.
"""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from rocksdict import (
    BlockBasedOptions,
    Cache,
    DbClosedError,
    DBCompressionType,
    DBRecoveryMode,
    Options,
    Rdict,
    ReadOptions,
    WriteBatch,
    WriteOptions,
)

from dynamometer.base.errors import StoreCorrupt, StoreError, StoreUnwritable
from dynamometer.storage.counters import pack, plus, unpack
from dynamometer.storage.durability import GroupCommit
from dynamometer.storage.folder import Folder
from dynamometer.storage.interface import Pair
from dynamometer.storage.sync_process import SyncProcess

log = logging.getLogger(__name__)

FORMAT_VERSION = 1
DURABILITIES = ("fsync", "os")

_CACHE_BYTES = 64 << 20
_MEMTABLE_BYTES = 16 << 20
_CACHED_COUNTER_ROWS = 10_000
_GATHERED_KEYS_MAX = 512
_RECENT_KEYS_MAX = 16_384
_RECENT_VALUE_BYTES_MAX = 1024
"""Bound what is kept of lately read values: 16 MiB, or about 10 in a table of ordinary items."""
_PIECE = 256
"""How many pairs a range over a snapshot reads at once."""
_ROCKSDB_FILE = re.compile(r"[\w/.-]*(?:\d{6}\.(?:sst|log)|MANIFEST-\d{6}|CURRENT)\b")


class RocksStore(GroupCommit):
    """Ordered bytes in a RocksDB database."""

    def __init__(self, path: str | os.PathLike[str], durability: str = "fsync", salvage: bool = False) -> None:
        if durability not in DURABILITIES:
            raise ValueError(f"durability is one of {', '.join(DURABILITIES)}, not {durability!r}")
        self._folder = Folder(path, "rocksdb", FORMAT_VERSION)
        self.path = self._folder.path
        try:
            self._db = self._open(salvage)
            self._check_sequence(salvage)
            self._folder.finish()
        except BaseException:
            self._folder.close()
            raise
        self._get = self._db.get
        self._rows: dict[bytes, list[int]] = {}
        self._gathered: dict[bytes, bytes | None] = {}
        self._gathered_rows: dict[bytes, list[int]] = {}
        self._recent: dict[bytes, bytes | None] = {}
        self._write_options = WriteOptions()
        self._closed = False
        is_synced = durability == "fsync"
        GroupCommit.__init__(self, self._sync_log, (lambda: SyncProcess(self._folder.data)) if is_synced else None)

    # Reads.

    def get(self, key: bytes) -> bytes | None:
        if key in self._gathered:
            return self._gathered[key]
        recent = self._recent
        if key in recent:
            return recent[key]
        try:
            value = self._get(key)
        except Exception as error:
            raise self._explain_read(error) from error
        if value is None or len(value) <= _RECENT_VALUE_BYTES_MAX:
            if len(recent) >= _RECENT_KEYS_MAX:
                recent.clear()
            recent[key] = value
        return value

    def multi_get(self, keys: Sequence[bytes]) -> list[bytes | None]:
        try:
            values: Any = self._get(list(keys))
        except Exception as error:
            raise self._explain_read(error) from error
        get = self._gathered.get
        return [get(key, value) for key, value in zip(keys, values, strict=True)]

    def range(self, start: bytes, end: bytes, reverse: bool = False, limit: int = 0) -> Iterator[Pair]:
        if start >= end:
            return iter(())
        self._write_gathered()
        try:
            options = ReadOptions()
            options.set_iterate_upper_bound(end)
            iterator = self._db.iter(options)
            if reverse:
                iterator.seek_to_last()
                return self._backwards(iterator, start, options)
            iterator.seek(start)
            return self._forwards(iterator, options)
        except Exception as error:
            raise self._explain_read(error) from error

    # RocksDB reads the upper bound from the bytes that the options refer to, and rocksdict 0.3.29 doesn't keep those
    # alive for it. So the options stay in the frame for as long as the iterator is used.

    def _forwards(self, iterator: Any, options: ReadOptions) -> Iterator[Pair]:
        valid, key, value, step = iterator.valid, iterator.key, iterator.value, iterator.next
        while valid():
            yield key(), value()
            step()
        self._check(iterator)

    def _backwards(self, iterator: Any, start: bytes, options: ReadOptions) -> Iterator[Pair]:
        # The lower bound is kept here: rocksdict 0.3.29 sets the upper one when asked for a lower one.
        valid, key, value, step = iterator.valid, iterator.key, iterator.value, iterator.prev
        while valid():
            name = key()
            if name < start:
                return
            yield name, value()
            step()
        self._check(iterator)

    def _check(self, iterator: Any) -> None:
        try:
            iterator.status()
        except Exception as error:
            raise self._explain_read(error) from error

    def counters(self, key: bytes, width: int) -> list[int]:
        row = self._row(key)
        return row + [0] * (width - len(row))

    def _row(self, key: bytes) -> list[int]:
        row = self._rows.get(key)
        if row is None:
            row = unpack(self.get(key))
            if len(self._rows) >= _CACHED_COUNTER_ROWS:
                self._rows = dict(self._gathered_rows)
            self._rows[key] = row
        return row

    def snapshot(self) -> RocksSnapshot:
        self._write_gathered()
        return RocksSnapshot(self._db.iter(), self._explain_read)

    # Writes.

    def begin(self) -> RocksTransaction:
        return RocksTransaction(self)

    def delete_range(self, start: bytes, end: bytes) -> int:
        if start >= end:
            return self.last_sequence
        self._write_gathered()
        batch = WriteBatch(raw_mode=True)
        batch.delete_range(start, end)
        self._recent.clear()
        self._rows = {key: row for key, row in self._rows.items() if not start <= key < end}
        self._write(batch)
        return self.committed()

    def _commit(self, writes: dict[bytes, bytes | None], deltas: dict[bytes, Sequence[int]], gather: bool) -> int:
        if self.failure is not None:
            raise self.failure
        gathers = gather and self._process is not None and len(self._gathered) < _GATHERED_KEYS_MAX
        if not gathers:
            self._write_gathered()  # first and apart: whether the others' writes succeed is not to hang on these
        self._gathered.update(writes)
        for key, delta in deltas.items():
            row = self._gathered_rows[key] = self._row(key)
            row[:] = plus(row, delta)
        if not gathers:
            self._write_gathered()
        return self.committed(is_written=not gathers)

    def _write_gathered(self) -> None:
        """Write what was gathered as one batch. Where that fails, it is lost as a whole."""
        if not self._gathered and not self._gathered_rows:
            return
        writes, self._gathered = self._gathered, {}
        rows, self._gathered_rows = self._gathered_rows, {}
        for key, row in rows.items():
            writes[key] = pack(row) if any(row) else None
        batch = WriteBatch(raw_mode=True)
        put, delete, recent = batch.put, batch.delete, self._recent
        for key, value in writes.items():
            if value is not None:
                put(key, value)
            else:
                delete(key)
            if key in recent:
                if value is None or len(value) <= _RECENT_VALUE_BYTES_MAX:
                    recent[key] = value
                else:
                    del recent[key]
        self._write(batch)
        self.written()

    def _write(self, batch: WriteBatch) -> None:
        try:
            if self.failure is not None:
                raise self.failure
            self._db.write(batch, self._write_options)
        except Exception as error:
            self._rows.clear()
            self._recent.clear()
            raise self.refuse_writes(self._explain_write(error)) from error

    def _sync_log(self) -> None:
        try:
            self._db.flush_wal(True)
        except Exception as error:
            raise self._explain_write(error) from error

    # The folder.

    def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        try:
            self.end_pace()
            self.wait_durable(self.last_sequence)
            self._folder.witness(self._db.latest_sequence_number())
        finally:
            self._let_go()
            self._folder.close()

    def _open(self, salvage: bool) -> Rdict:
        folder = self._folder
        if not folder.is_new and not any(folder.data.glob("*.log")):
            # RocksDB takes a log that is gone for one that was empty. It never leaves a database without one.
            raise StoreCorrupt(f"the log of {folder.path} is missing: {_what_to_do(folder.path)}")
        options = _options(create=folder.is_new, salvage=salvage)
        try:
            # Naming the column family is what makes its options count: otherwise those of the last opening are used.
            return Rdict(str(folder.data), options, column_families={"default": options})
        except Exception as error:
            raise _explain(error, folder.path, StoreError) from error

    def _check_sequence(self, salvage: bool) -> None:
        """Refuse a database that has gone back in time. RocksDB takes a shortened manifest for the whole of it."""
        sequence = self._db.latest_sequence_number()
        seen = self._folder.witnessed()
        if sequence < seen and not salvage:
            self._db.close()
            raise StoreCorrupt(
                f"{self.path} ends at change {sequence} and had {seen} before: a file was shortened or replaced: "
                f"{_what_to_do(self.path)}"
            )
        self._folder.witness(sequence)

    def _let_go(self) -> None:
        """Close the database. Where it can't tidy up any more, on a full disk, everything still is in the log."""
        try:
            self._db.close()
        except Exception as error:
            log.warning("%s was left as a crash leaves it, which loses nothing: %s", self.path, error)

    def _explain_read(self, error: Exception) -> Exception:
        return _explain(error, self.path, StoreError)

    def _explain_write(self, error: Exception) -> StoreError:
        return _explain(error, self.path, StoreUnwritable)


class RocksTransaction:
    """Reads of the store as it is, and the writes that wait for `commit`."""

    __slots__ = ("_deleted", "_deltas", "_store", "_writes", "get")

    def __init__(self, store: RocksStore) -> None:
        self._store = store
        self.get = store.get
        self._writes: dict[bytes, bytes | None] = {}
        self._deltas: dict[bytes, Sequence[int]] = {}
        self._deleted: list[bytes] = []

    def multi_get(self, keys: Sequence[bytes]) -> list[bytes | None]:
        return self._store.multi_get(keys)

    def range(self, start: bytes, end: bytes, reverse: bool = False, limit: int = 0) -> Iterator[Pair]:
        return self._store.range(start, end, reverse, limit)

    def put(self, key: bytes, value: bytes) -> None:
        self._writes[key] = value

    def delete(self, key: bytes) -> None:
        self._writes[key] = None
        self._deleted.append(key)

    def add(self, key: bytes, deltas: Sequence[int]) -> None:
        gathered = self._deltas.get(key)
        self._deltas[key] = deltas if gathered is None else plus(gathered, deltas)

    def commit(self, gather: bool = False) -> int:
        store = self._store
        if not self._writes and not self._deltas:
            return store.last_sequence
        for key in self._deleted:
            store._rows.pop(key, None)
            store._gathered_rows.pop(key, None)
        return store._commit(self._writes, self._deltas, gather)

    def rollback(self) -> None:
        self._writes.clear()
        self._deltas.clear()
        self._deleted.clear()


class RocksSnapshot:
    """Reads of one moment, through one iterator that was made then.

    rocksdict 0.3.29 has snapshots too, but iterates past them. An iterator is a snapshot by nature; several ranges
    share it by reading in pieces. It keeps alive the files and the memory of its moment.
    """

    def __init__(self, iterator: Any, explain: Callable[[Exception], Exception]) -> None:
        self._iterator = iterator
        self._explain = explain

    def get(self, key: bytes) -> bytes | None:
        for found, value in self._piece(key, None, False, 1):
            return value if found == key else None
        return None

    def multi_get(self, keys: Sequence[bytes]) -> list[bytes | None]:
        return [self.get(key) for key in keys]

    def range(self, start: bytes, end: bytes, reverse: bool = False, limit: int = 0) -> Iterator[Pair]:
        while start < end:
            piece = self._piece(end if reverse else start, start if reverse else end, reverse, _PIECE)
            yield from piece
            if len(piece) < _PIECE:
                return
            last = piece[-1][0]
            if reverse:
                end = last
            else:
                start = last + b"\0"

    def _piece(self, position: bytes, bound: bytes | None, reverse: bool, size: int) -> list[Pair]:
        """Up to `size` pairs: from `position` on, below `bound`; or, backwards, before `position`, from `bound` on."""
        try:
            iterator = self._iterator
            if reverse:
                step = iterator.prev
                iterator.seek_for_prev(position)
                if iterator.key() == position:
                    step()
            else:
                step = iterator.next
                iterator.seek(position)
            piece: list[Pair] = []
            while iterator.valid() and len(piece) < size:
                key = iterator.key()
                if bound is not None and (key < bound if reverse else key >= bound):
                    return piece
                piece.append((key, iterator.value()))
                step()
            iterator.status()
            return piece
        except Exception as error:
            raise self._explain(error) from error


def _options(create: bool, salvage: bool) -> Options:
    """How RocksDB is set up; measured with items of 200 bytes on two cores."""
    options = Options(raw_mode=True)
    options.create_if_missing(create)
    options.set_paranoid_checks(True)
    recovery = DBRecoveryMode.point_in_time() if salvage else DBRecoveryMode.tolerate_corrupted_tail_records()
    options.set_wal_recovery_mode(recovery)
    # One thread writes: what serves several writers costs it 3 of 8 microseconds.
    options.set_allow_concurrent_memtable_write(False)
    options.set_enable_write_thread_adaptive_yield(False)
    options.set_write_buffer_size(_MEMTABLE_BYTES)
    # An item that was updated often since the last flush has all its versions in memory: passing them by is quicker
    # than jumping behind them (queries after 10 updates of each item: 19 % more a second than with RocksDB's 8).
    options.set_max_sequential_skip_in_iterations(64)
    options.set_max_background_jobs(2)
    options.set_bytes_per_sync(1 << 20)
    options.set_level_compaction_dynamic_level_bytes(True)
    options.set_compression_type(DBCompressionType.lz4())
    options.set_block_based_table_factory(_table_options())
    options.set_max_open_files(256)
    options.set_max_file_opening_threads(2)
    options.set_skip_stats_update_on_db_open(True)
    options.set_keep_log_file_num(2)
    options.set_max_log_file_size(1 << 20)
    options.set_stats_dump_period_sec(0)
    options.set_stats_persist_period_sec(0)
    return options


def _table_options() -> BlockBasedOptions:
    tables = BlockBasedOptions()
    tables.set_block_size(4096)
    tables.set_bloom_filter(10, False)
    tables.set_block_cache(Cache(_CACHE_BYTES))
    # Indexes and filters stay outside of the cache: in it, those of a large file push each other out, and a read
    # of a store of 300,000 items costs ten times as much.
    tables.set_cache_index_and_filter_blocks(False)
    return tables


def _what_to_do(path: Path) -> str:
    return f"run `dyno check --data {path}` to see what is left, or restore a backup"


def _explain(error: Exception, path: Path, otherwise: type[StoreError]) -> StoreError:
    """Our error for one of RocksDB's, which come as one type and a text that begins with the kind."""
    if isinstance(error, StoreError):
        return error
    if isinstance(error, DbClosedError):
        return StoreError(f"{path} was closed: open it again")
    if type(error) is not Exception:
        raise error  # a bug of ours, such as a key that is not bytes
    text = " ".join(str(error).split())
    if "No space left" in text or "Disk quota" in text:
        return StoreUnwritable(
            f"{path}: the disk is full: free some space and start again; what was acknowledged is safe ({text})"
        )
    if "Read-only file system" in text or "Permission denied" in text:
        return StoreUnwritable(f"{path}: make the folder writable for this user and start again ({text})")
    if text.startswith("Corruption") or "No such file" in text or "does not exist" in text:
        return StoreCorrupt(f"{_damaged_file(text, path)} is damaged ({text}): {_what_to_do(path)}")
    return otherwise(f"{path}: {text}: see that the disk works and start again; what was acknowledged is safe")


def _damaged_file(text: str, path: Path) -> str:
    """The file that an error speaks of. For a log RocksDB names it only in its own notes."""
    named = _ROCKSDB_FILE.search(text)
    if named is None:
        notes = path / "db" / "LOG"
        lines = notes.read_text(errors="replace").splitlines() if notes.exists() else []
        for line in lines:
            if "Corruption" in line or "dropping" in line:
                named = _ROCKSDB_FILE.search(line.partition("]")[2]) or named
    return str(path / "db" / Path(named[0]).name) if named else str(path)
