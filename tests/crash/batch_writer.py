"""A process that writes numbered batches to a store and says which ones are durable, until it is killed.

Batch n deletes a key of a small space, puts n under three others, and adds n to a counter: so the state after n batches
is known for every n, and a batch that is applied by half shows. A line "n bytes" on standard output says that
batch n is durable, and how long the newest log was by then.

Run as: python -m tests.crash.batch_writer FOLDER DURABILITY MEMTABLE_BYTES
"""

from __future__ import annotations

import sys
from pathlib import Path

from dynamometer.storage import rocksdb
from dynamometer.storage.interface import Store, Transaction

KEYS = 50
COUNTER = b"n"
LAST = b"last"


def value(number: int) -> bytes:
    """What batch `number` puts: it fills memtables quickly, and differs from batch to batch."""
    return b"%08d" % number * 60


def write(transaction: Transaction, number: int) -> None:
    """Stage one batch."""
    transaction.delete(key(number * 11 + 5))
    for step in range(3):
        transaction.put(key(number * 7 + step * 13), value(number))
    transaction.put(LAST, b"%d" % number)
    transaction.add(COUNTER, (1, number))


def key(slot: int) -> bytes:
    return b"k%04d" % (slot % KEYS)


def expected(last: int) -> dict[bytes, bytes]:
    """The keys after `last` batches."""
    found: dict[bytes, bytes] = {}
    for number in range(max(1, last - 2 * KEYS), last + 1):
        found.pop(key(number * 11 + 5), None)
        for step in range(3):
            found[key(number * 7 + step * 13)] = value(number)
    return found


def last_number(store: Store) -> int:
    return int(store.get(LAST) or b"0")


def main(folder: str, durability: str, memtable_bytes: str) -> None:
    rocksdb._MEMTABLE_BYTES = int(memtable_bytes)
    store = rocksdb.RocksStore(folder, durability)
    number = last_number(store)
    logs = Path(folder) / "db"
    while True:
        for _ in range(1 + number % 4):
            number += 1
            transaction = store.begin()
            write(transaction, number)
            sequence = transaction.commit()
        store.wait_durable(sequence)
        newest = max(logs.glob("*.log"))
        sys.stdout.write(f"{number} {newest.name} {newest.stat().st_size}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
