"""Whatever is done to a table, reading its stream from the trim horizon tells all of it, in order, exactly once."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.unit.engine.streaming import HOUR, Record, Streaming, replayed

KEYS = st.sampled_from(["a", "b", "c", "d", "e", "f"])
SMALL = st.integers(0, 3).map(lambda number: {"N": str(number)})
VALUES = st.one_of(
    SMALL,
    st.sets(st.sampled_from("xyz"), min_size=1).map(lambda members: {"SS": list(members)}),
    st.permutations(["k", "l", "m"]).map(lambda names: {"M": {name: {"S": name} for name in names}}),
    st.lists(SMALL, max_size=2).map(lambda members: {"L": members}),
)
STEPS = st.one_of(
    st.tuples(st.just("put"), KEYS, VALUES),
    st.tuples(st.just("update"), KEYS, VALUES),
    st.tuples(st.just("remove"), KEYS),
    st.tuples(st.just("delete"), KEYS),
    st.tuples(st.just("expire"), KEYS),
    st.tuples(st.just("batch"), st.dictionaries(KEYS, VALUES, min_size=1, max_size=4)),
    st.tuples(st.just("transaction"), st.dictionaries(KEYS, VALUES, min_size=1, max_size=4), st.booleans()),
    st.tuples(st.just("pass"), st.sampled_from([1, 200, HOUR, 5 * HOUR])),
    st.tuples(st.just("grow"), st.integers(1, 4)),
    st.tuples(st.just("restart")),
    st.tuples(st.just("crash")),
)
WHOLE_RUN_SECONDS = 24 * HOUR


class Run(Streaming):
    """A table under random changes. Only runs with a folder restart and crash."""

    def __init__(self, folder: Path | None) -> None:
        super().__init__(folder, durability="os" if folder else "fsync")
        self.arn = self.create(ProvisionedThroughput={"ReadCapacityUnits": 1, "WriteCapacityUnits": 1})
        self.client.update_time_to_live(
            TableName="tab", TimeToLiveSpecification={"Enabled": True, "AttributeName": "ttl"}
        )
        self.started = self.clock.now()
        self.units = 1

    def do(self, step: Any) -> None:
        kind, *rest = step
        getattr(self, f"do_{kind}")(*rest)

    def do_put(self, key: str, value: Any) -> None:
        self.put(key, v=value)

    def do_update(self, key: str, value: Any) -> None:
        self.update(key, "SET v = :v ADD n :one", v=value, one={"N": "1"})

    def do_remove(self, key: str) -> None:
        self.update(key, "REMOVE v, n")

    def do_delete(self, key: str) -> None:
        self.delete(key)

    def do_expire(self, key: str) -> None:
        self.put(key, ttl={"N": str(int(self.clock.now()))})

    def do_batch(self, items: dict[str, Any]) -> None:
        requests: list[Any] = [
            {"PutRequest": {"Item": {"p": {"S": key}, "v": value}}}
            if "N" not in value
            else {"DeleteRequest": {"Key": {"p": {"S": key}}}}
            for key, value in items.items()
        ]
        self.client.batch_write_item(RequestItems={"tab": requests})

    def do_transaction(self, items: dict[str, Any], succeeds: bool) -> None:
        actions: list[Any] = [
            {"Put": {"TableName": "tab", "Item": {"p": {"S": key}, "v": value}}} for key, value in items.items()
        ]
        condition = "attribute_not_exists(p)" if succeeds else "attribute_exists(p)"
        check = {"TableName": "tab", "Key": {"p": {"S": "never"}}, "ConditionExpression": condition}
        try:
            self.client.transact_write_items(TransactItems=[*actions, {"ConditionCheck": check}])
        except self.client.exceptions.TransactionCanceledException:
            assert not succeeds

    def do_pass(self, seconds: int) -> None:
        if self.clock.now() + seconds < self.started + WHOLE_RUN_SECONDS:
            self.clock.advance(seconds)
            self.db.catch_up()

    def do_grow(self, partitions: int) -> None:
        if partitions * 1000 != self.units:
            self.units = partitions * 1000
            throughput = {"ReadCapacityUnits": 1, "WriteCapacityUnits": self.units}
            self.client.update_table(TableName="tab", ProvisionedThroughput=throughput)
            self.client.describe_table(TableName="tab")

    def do_restart(self) -> None:
        if self._folder is not None:
            self.reopen()

    def do_crash(self) -> None:
        """What a killed process leaves: the folder as it is in mid-work, without having been closed."""
        if self._folder is not None:
            left = self._folder.with_name(self._folder.name + "+")
            shutil.copytree(self._folder, left)
            self.db.close()
            self._folder = left
            self.open()

    def check(self) -> None:
        everything = self.client.scan(TableName="tab")["Items"]
        items = {repr(sorted({"p": item["p"]}.items())): item for item in everything}
        for limit in (1000, 3):
            records = self.read(self.arn, limit)
            assert replayed(records) == items
            assert_in_order(records)
        self.assert_consistent()
        self.db.close()


def assert_in_order(records: list[Record]) -> None:
    numbers: dict[str, str] = {}
    for record in records:
        key, number = record["dynamodb"]["Keys"]["p"]["S"], record["dynamodb"]["SequenceNumber"]
        assert numbers.get(key, "") < number
        numbers[key] = number


@settings(max_examples=40, deadline=None)
@given(st.lists(STEPS, max_size=40))
def test_a_stream_replayed_is_the_table(steps: list[Any]) -> None:
    run = Run(None)
    for step in steps:
        run.do(step)
    run.check()


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(STEPS, max_size=30))
def test_a_stream_replayed_is_the_table_across_restarts_and_crashes(steps: list[Any]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        run = Run(Path(folder) / "data")
        for step in [*steps, ("crash",), ("put", "a", {"N": "1"}), ("restart",)]:
            run.do(step)
        run.check()
