"""Units: the arithmetic of the developer guide, and the figures that were captured from the service."""

from __future__ import annotations

import pytest

from dynamometer.capacity import units

KIB = 1024


@pytest.mark.parametrize(
    ("size", "consistent", "expected"),
    [
        (0, True, 1.0),
        (0, False, 0.5),
        (4096, True, 1.0),
        (4097, True, 2.0),
        (4097, False, 1.0),
        (8193, False, 1.5),
        (16_000, False, 2.0),
        (1_093_632, False, 133.5),
    ],
)
def test_a_read_costs_by_4_kb(size: int, consistent: bool, expected: float) -> None:
    answer = units.read_units(size, consistent)
    assert answer == expected
    assert type(answer) is float


@pytest.mark.parametrize(
    ("size", "consistent", "expected"), [(10, False, 2.0), (10, True, 4.0), (20_000, True, 5.0), (0, True, 4.0)]
)
def test_a_scan_costs_at_least_its_partitions(size: int, consistent: bool, expected: float) -> None:
    assert units.read_units(size, consistent, partitions=4) == expected


@pytest.mark.parametrize(("size", "expected"), [(0, 2), (4096, 2), (4097, 4), (9 * KIB, 6)])
def test_a_transactional_read_is_rounded_before_it_is_doubled(size: int, expected: int) -> None:
    assert units.transact_read_units(size) == expected


@pytest.mark.parametrize(
    ("entry_bytes", "item_sizes", "consistent", "expected"),
    [
        (150, [100, 100, 100], False, (0.5, 1.5)),
        (150, [9 * KIB] * 3, False, (0.5, 4.5)),
        (150, [9 * KIB] * 3, True, (1.0, 9.0)),
        (0, [], False, (0.5, 0.0)),
    ],
)
def test_a_reach_back_rounds_each_item_alone(
    entry_bytes: int, item_sizes: list[int], consistent: bool, expected: tuple[float, float]
) -> None:
    assert units.reach_back_units(entry_bytes, item_sizes, consistent) == expected


@pytest.mark.parametrize(("size", "expected"), [(0, 1), (1, 1), (1024, 1), (1025, 2), (310 * KIB, 310)])
def test_a_write_costs_by_1_kb(size: int, expected: int) -> None:
    assert units.write_units(size) == expected


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [(None, None, 1), (None, 1500, 2), (1500, None, 2), (5000, 100, 5), (100, 5000, 5), (300 * KIB, 310 * KIB, 310)],
)
def test_a_write_costs_by_its_larger_image(old: int | None, new: int | None, expected: int) -> None:
    assert units.image_write_units(old, new) == expected
    assert units.transact_write_units(old, new) == 2 * expected


@pytest.mark.parametrize(("old", "new", "expected"), [(None, 1536, 2), (9 * KIB, None, 6), (None, None, 2)])
def test_a_replay_costs_reads(old: int | None, new: int | None, expected: int) -> None:
    assert units.replay_read_units(old, new) == expected


@pytest.mark.parametrize(
    ("old", "new", "same_key", "same_content", "expected"),
    [
        (None, None, True, True, 0),
        (None, 1500, False, False, 2),
        (1500, None, False, False, 2),
        (1500, 1500, True, True, 0),
        (1500, 3000, True, False, 3),
        (3000, 1500, True, False, 3),
        (1517, 1517, False, False, 4),
        (100, 100, False, False, 2),
    ],
)
def test_an_index_costs_by_the_change_to_its_entry(
    old: int | None, new: int | None, same_key: bool, same_content: bool, expected: int
) -> None:
    assert units.index_write_units(old, new, same_key, same_content) == expected


# --- the answer --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["NONE", None])
def test_nothing_is_told_unless_asked(mode: str | None) -> None:
    assert units.consumed("t", mode, 1) is None
    assert units.consumed_list(mode, {"t": units.Consumption()}) is None


def test_total_is_the_sum_over_table_and_indexes() -> None:
    assert units.consumed("t", "TOTAL", 1, {"g": 2}, {"l": 1}) == {"TableName": "t", "CapacityUnits": 4.0}


def test_indexes_names_each_arm() -> None:
    assert units.consumed("t", "INDEXES", 1, {"g": 2}, {"l": 1}) == {
        "TableName": "t",
        "CapacityUnits": 4.0,
        "Table": {"CapacityUnits": 1.0},
        "GlobalSecondaryIndexes": {"g": {"CapacityUnits": 2.0}},
        "LocalSecondaryIndexes": {"l": {"CapacityUnits": 1.0}},
    }


def test_untouched_indexes_are_not_named() -> None:
    assert units.consumed("t", "INDEXES", 0.5) == {
        "TableName": "t",
        "CapacityUnits": 0.5,
        "Table": {"CapacityUnits": 0.5},
    }


def test_an_index_read_names_a_table_that_cost_nothing() -> None:
    answer = units.consumed("t", "INDEXES", 0, {"g": 2.0})
    assert answer is not None
    assert answer["Table"] == {"CapacityUnits": 0.0}
    assert type(answer["Table"]["CapacityUnits"]) is float


def test_a_transaction_repeats_each_number_under_its_kind() -> None:
    assert units.consumed("t", "INDEXES", 2, {"g": 1}, transact="Write") == {
        "TableName": "t",
        "CapacityUnits": 3.0,
        "WriteCapacityUnits": 3.0,
        "Table": {"CapacityUnits": 2.0, "WriteCapacityUnits": 2.0},
        "GlobalSecondaryIndexes": {"g": {"CapacityUnits": 1.0, "WriteCapacityUnits": 1.0}},
    }
    assert units.consumed("t", "TOTAL", 2, transact="Read") == {
        "TableName": "t",
        "CapacityUnits": 2.0,
        "ReadCapacityUnits": 2.0,
    }


def test_a_batch_is_summed_by_table() -> None:
    first, second = units.Consumption(), units.Consumption()
    first.add(1, {"g": 1})
    first.add(2, {"g": 2}, {"l": 1})
    second.add(0.5)
    assert units.consumed_list("INDEXES", {"a": first, "b": second}) == [
        {
            "TableName": "a",
            "CapacityUnits": 7.0,
            "Table": {"CapacityUnits": 3.0},
            "GlobalSecondaryIndexes": {"g": {"CapacityUnits": 3.0}},
            "LocalSecondaryIndexes": {"l": {"CapacityUnits": 1.0}},
        },
        {"TableName": "b", "CapacityUnits": 0.5, "Table": {"CapacityUnits": 0.5}},
    ]


def test_a_failed_statement_counts_in_the_total_alone() -> None:
    used = units.Consumption()
    used.add(1, {"g": 1})
    used.unassigned_units += 1
    assert units.consumed_list("INDEXES", {"t": used}) == [
        {
            "TableName": "t",
            "CapacityUnits": 3.0,
            "Table": {"CapacityUnits": 1.0},
            "GlobalSecondaryIndexes": {"g": {"CapacityUnits": 1.0}},
        }
    ]
