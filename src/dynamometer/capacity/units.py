"""Capacity units: what a request costs, and how the answer says so.

    reads     1 unit per 4 KB, rounded up, at least 1; half that when eventually consistent; twice in a transaction
    writes    1 unit per 1 KB, rounded up, at least 1, of the larger of the two images; twice in a transaction
    indexes   by the change to the entry that the index stores, see `index_write_units`

Writes are whole units, reads are whole or half units; both are exact in a float, so units are plain numbers that add
up without error. Sources: developer guide, "DynamoDB provisioned capacity mode" and "Using global secondary indexes";
what is not written there was measured on the service, and says so.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal

READ_UNIT_BYTES = 4096
WRITE_UNIT_BYTES = 1024
VECTOR_WRITE_BYTES_MIN = 1024
VECTOR_SEARCH_BYTES_MIN = 1024.0
VECTOR_SEARCH_DIMENSION_BYTES = 30.6875
VECTOR_SEARCH_RESULT_BYTES = 65
"""See `vector_search_bytes`."""

TRANSACTION_FACTOR = 2
"""A transaction's reads and writes of items; index entries cost in it what they cost outside (measured)."""

Mode = Literal["INDEXES", "TOTAL", "NONE"]
Transact = Literal["Read", "Write"]


def read_units(size: int, consistent: bool, partitions: int = 1) -> float:
    """Units of a read of `size` bytes: one item (0 bytes when it is missing), or the sum of what a page evaluated.

    A Query or Scan costs at least its rate once for every partition that it searched, whatever is there.
    """
    units = -(-size // READ_UNIT_BYTES)
    if units < partitions:
        units = partitions
    return float(units) if consistent else units / 2


def transact_read_units(size: int) -> int:
    """Units of one item in a transactional read; rounding comes before the factor."""
    return TRANSACTION_FACTOR * (-(-size // READ_UNIT_BYTES) or 1)


def reach_back_units(entry_bytes: int, item_sizes: Iterable[int], consistent: bool) -> tuple[float, float]:
    """Units of a local index query that fetches unprojected attributes: the index's part, the table's part.

    Entries are summed and rounded once, each fetched item is rounded alone.
    """
    fetched = sum(-(-size // READ_UNIT_BYTES) or 1 for size in item_sizes)
    return read_units(entry_bytes, consistent), float(fetched) if consistent else fetched / 2


def write_units(size: int) -> int:
    """Units of a write of `size` bytes: the larger image, 0 when there is none."""
    return -(-size // WRITE_UNIT_BYTES) or 1


def image_write_units(old_size: int | None, new_size: int | None) -> int:
    """Units of a write on the table by the images before and after it, None where there is none."""
    old, new = old_size or 0, new_size or 0
    return write_units(old if old > new else new)


def transact_write_units(old_size: int | None, new_size: int | None) -> int:
    """Units of one action of a transactional write on the table; a condition check's images are both the item."""
    return TRANSACTION_FACTOR * image_write_units(old_size, new_size)


def replay_read_units(old_size: int | None, new_size: int | None) -> int:
    """Units of one action when a finished transactional write is asked for again with its token.

    They are read units, by the images of the first call (measured).
    """
    return transact_read_units(max(old_size or 0, new_size or 0))


def index_write_units(old_size: int | None, new_size: int | None, same_key: bool, same_content: bool) -> int:
    """Units on one index by its entry before and after a write, None where there is no entry.

    before    after     index key   projected content   units
    none      none                                      0: the index isn't touched, and the answer doesn't name it
    none      entry                                     the new entry
    entry     none                                      the old entry
    entry     entry     same        same                0
    entry     entry     same        differs             the larger
    entry     entry     differs                         the old entry, and the new entry: a delete and a put
    """
    if old_size is None:
        return 0 if new_size is None else write_units(new_size)
    if new_size is None:
        return write_units(old_size)
    if not same_key:
        return write_units(old_size) + write_units(new_size)
    return 0 if same_content else write_units(max(old_size, new_size))


def vector_bytes(attribute: str, dimensions: int) -> int:
    """What a vector counts in an entry of a vector index, and in a write to its table."""
    return len(attribute.encode()) + 4 * dimensions


def vector_write_bytes(old_size: int | None, new_size: int | None, same_key: bool) -> int:
    """VectorWriteRequestBytes on one vector index, by its entry before and after a write that changes it.

    At least 1,024 bytes for an entry. As for other indexes an entry that changes place is deleted and put (assumed).
    """
    sizes = [max(VECTOR_WRITE_BYTES_MIN, size) for size in (old_size, new_size) if size is not None]
    return max(sizes) if same_key else sum(sizes)


def vector_search_bytes(dimensions: int, results: int, read_bytes: int, vectors: int) -> float:
    """VectorSearchRequestBytes of a search: how much the service examines is not public, nor is it the same each time.

    This is the figure that was fitted to searches of small indexes by others, at 16 to 2,048 dimensions: a part for
    each dimension, one for each result beside its own bytes (`read_bytes`, without vectors), and the vectors returned.
    """
    examined = VECTOR_SEARCH_DIMENSION_BYTES * dimensions + VECTOR_SEARCH_RESULT_BYTES * results
    return max(VECTOR_SEARCH_BYTES_MIN, examined + read_bytes + 4 * dimensions * vectors)


class Consumption:
    """Units that a request has used on one table so far. Indexes are there when they were touched."""

    __slots__ = ("global_units", "local_units", "table_units", "unassigned_units", "vector_bytes")

    def __init__(self) -> None:
        self.table_units = 0.0
        self.global_units: dict[str, float] = {}
        self.local_units: dict[str, float] = {}
        self.unassigned_units = 0.0
        """In the total, but on no arm: failed statements of a batch, beside one that succeeded (measured)."""
        self.vector_bytes: dict[str, float] = {}

    def add(
        self,
        table_units: float,
        global_units: Mapping[str, float] | None = None,
        local_units: Mapping[str, float] | None = None,
        vector_bytes: Mapping[str, float] | None = None,
    ) -> None:
        """Add what one more item or statement used."""
        self.table_units += table_units
        if global_units:
            _add_arms(self.global_units, global_units)
        if local_units:
            _add_arms(self.local_units, local_units)
        if vector_bytes:
            _add_arms(self.vector_bytes, vector_bytes)


def _add_arms(arms: dict[str, float], more: Mapping[str, float]) -> None:
    for name, units in more.items():
        arms[name] = arms.get(name, 0) + units


def consumed(
    table_name: str,
    mode: str | None,
    table_units: float,
    global_units: Mapping[str, float] | None = None,
    local_units: Mapping[str, float] | None = None,
    transact: Transact | None = None,
    unassigned_units: float = 0,
    vector_bytes: Mapping[str, float] | None = None,
) -> dict[str, Any] | None:
    """The ConsumedCapacity of one table, or None when the request didn't ask. Vector indexes are not in the total.

    `table_name` is as the request wrote it, so an ARN is answered with the ARN. `transact` doubles each number under
    the name of its kind; only transactional operations do that.
    """
    if mode != "TOTAL" and mode != "INDEXES":
        return None
    total = table_units + unassigned_units
    if global_units:
        total += sum(global_units.values())
    if local_units:
        total += sum(local_units.values())
    answer: dict[str, Any] = {"TableName": table_name, **_arm(total, transact)}
    if mode == "INDEXES":
        answer["Table"] = _arm(table_units, transact)
        if global_units:
            answer["GlobalSecondaryIndexes"] = {name: _arm(units, transact) for name, units in global_units.items()}
        if local_units:
            answer["LocalSecondaryIndexes"] = {name: _arm(units, transact) for name, units in local_units.items()}
        if vector_bytes:
            answer["VectorIndexes"] = {
                name: {"VectorWriteRequestBytes": float(size)} for name, size in vector_bytes.items()
            }
    return answer


def _arm(units: float, transact: Transact | None) -> dict[str, float]:
    units = float(units)
    if transact is None:
        return {"CapacityUnits": units}
    return {"CapacityUnits": units, f"{transact}CapacityUnits": units}


def consumed_list(
    mode: str | None, tables: Mapping[str, Consumption], transact: Transact | None = None
) -> list[dict[str, Any]] | None:
    """The ConsumedCapacity list of a batch or transaction, one entry a table, or None when the request didn't ask."""
    if mode != "TOTAL" and mode != "INDEXES":
        return None
    answers = []
    for name, used in tables.items():
        answer = consumed(
            name,
            mode,
            used.table_units,
            used.global_units,
            used.local_units,
            transact,
            used.unassigned_units,
            used.vector_bytes,
        )
        assert answer is not None
        answers.append(answer)
    return answers
