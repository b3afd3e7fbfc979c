"""`dyno check` finds what does not agree about replicas."""

from __future__ import annotations

import pytest

from dynamometer.engine import keyspace
from tests.unit.engine.replicas import EU, US, Replicas, number


@pytest.fixture
def replicas() -> Replicas:
    made = Replicas()
    made.create(EU)
    made.put(US, "a", v=number(1))
    made.put(EU, "a", v=number(2))
    made.put(US, "b")
    made.replicate()
    made.delete(US, "b")
    made.replicate()
    assert made.findings() == []
    return made


def only(replicas: Replicas, low: bytes, high: bytes) -> bytes:
    return next(key for key, _ in replicas.db.engine.store.range(low, high))


def change(replicas: Replicas, key: bytes, value: bytes | None) -> None:
    transaction = replicas.db.engine.store.begin()
    if value is None:
        transaction.delete(key)
    else:
        transaction.put(key, value)
    transaction.commit()


def test_a_deletion_that_would_never_be_forgotten(replicas: Replicas) -> None:
    change(replicas, only(replicas, *keyspace.grave_range()), None)
    assert ["its item is deleted, but nothing would ever clear it away" in each for each in replicas.findings()] == [
        True
    ]


def test_a_grave_without_a_version(replicas: Replicas) -> None:
    grave = only(replicas, *keyspace.grave_range())
    _, place = keyspace.grave_parts(grave)
    change(replicas, keyspace.version_prefix(keyspace.log_table(grave)) + place, None)
    assert [finding.endswith("it has no version") for finding in replicas.findings()] == [True]


def test_what_can_not_be_read_and_what_belongs_to_nobody(replicas: Replicas) -> None:
    change(replicas, only(replicas, *keyspace.version_range()), b"?")
    change(replicas, only(replicas, *keyspace.conflict_range()), b"?")
    change(replicas, keyspace.version_prefix(77) + b"x", b'[1,"r",{},[0,""]]')
    change(replicas, keyspace.position_key(77, b"s", US), b"1")
    found = replicas.findings()
    for part in ("it can't be read", "a lost update can't be read", "belongs to no replica", "has no replica of the"):
        assert any(part in finding for finding in found), part
