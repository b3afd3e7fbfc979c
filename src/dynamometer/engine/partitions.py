"""How many partitions a table has. They are equal parts of the hash space."""

from __future__ import annotations

from math import ceil

from dynamometer.engine.records import ON_DEMAND, TableRecord

READ_UNITS = 3000
WRITE_UNITS = 1000
"""What one partition serves in a second."""
ON_DEMAND_PARTITIONS = 4
"""A new on-demand table (measured: a Scan of one tiny item costs 4 units, one for each partition it searches)."""


def partitions_of(record: TableRecord) -> int:
    """The partitions that a table's throughput needs."""
    if record.billing_mode == ON_DEMAND:
        return ON_DEMAND_PARTITIONS
    return max(1, ceil(record.throughput.read / READ_UNITS + record.throughput.write / WRITE_UNITS))
