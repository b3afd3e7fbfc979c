"""`dyno check` finds what does not agree about expiries and the change log."""

from __future__ import annotations

import pytest

from dynamometer.engine import keyspace
from dynamometer.engine.check import check
from tests.unit.engine.streaming import Streaming


@pytest.fixture
def at() -> Streaming:
    made = Streaming()
    made.create()
    made.client.update_time_to_live(TableName="tab", TimeToLiveSpecification={"Enabled": True, "AttributeName": "ttl"})
    made.db.catch_up()
    made.put("a", ttl={"N": "1700001000"})
    made.put("b")
    made.assert_consistent()
    return made


def findings(at: Streaming) -> list[str]:
    return [finding.problem for finding in check(at.db.engine.store)]


def change(at: Streaming, key: bytes, value: bytes | None) -> None:
    transaction = at.db.engine.store.begin()
    if value is None:
        transaction.delete(key)
    else:
        transaction.put(key, value)
    transaction.commit()


def only_key(at: Streaming, low: bytes, high: bytes) -> bytes:
    [(key, _)] = list(at.db.engine.store.range(low, high))
    return key


def test_an_item_that_nothing_would_delete(at: Streaming) -> None:
    change(at, only_key(at, *keyspace.due_range()), None)
    assert findings(at) == ["it expires at 1700001000, but nothing would delete it then"]


def test_an_expiry_without_its_item(at: Streaming) -> None:
    key = only_key(at, *keyspace.due_range())
    table = at.db.engine.catalog.tables()[0]
    change(at, keyspace.due_key(table.number, 5, b"elsewhere"), b"")
    change(at, keyspace.due_key(table.number, 5, key[13:]), b"")
    assert findings(at) == ["its item does not exist, or expires at another time"] * 2
    change(at, keyspace.due_key(99, 5, b"x"), b"")
    assert findings(at)[-1] == "the table has no time to live"


def test_entries_of_the_log_that_cannot_be_right(at: Streaming) -> None:
    entries = list(at.db.engine.store.range(*keyspace.log_range()))
    change(at, entries[0][0], b"\0\0")
    [problem] = findings(at)
    assert problem.startswith("it can't be read")
    change(at, entries[0][0], entries[0][1][:-1])
    [problem] = findings(at)
    assert problem.startswith("it can't be read")
    change(at, entries[0][0], entries[1][1])
    assert findings(at) == []
    change(at, entries[0][0], entries[0][1])
    [(key, value)] = [pair for pair in at.db.engine.store.range(b"d", b"e") if b'"b"' in pair[1]]
    change(at, key, value.replace(b'"b"', b'"c"'))
    assert "it is the newest change of its item, but the item is another one" in findings(at)


def test_a_delivery_that_cannot_be_read(at: Streaming) -> None:
    change(at, keyspace.cursor_key(1, 1), b"[]")
    assert findings(at) == ["what is kept of a delivery to Kinesis can't be read"]


def test_a_stream_that_cannot_be_read(at: Streaming) -> None:
    change(at, only_key(at, *keyspace.stream_range()), b"{}")
    assert findings(at) == ["a stream's record can't be read"]
