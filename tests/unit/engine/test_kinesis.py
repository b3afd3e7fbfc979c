"""Kinesis streaming destinations: their states, what is delivered, and that nothing is lost or overtaken."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dynamometer.engine.cursors import BACKOFF_SECONDS_MAX, BATCH_RECORDS_MAX, GIVE_UP_SECONDS
from dynamometer.engine.sinks import FolderSink, NoSuchStream, Outcome, SinkError, SinkRecord
from tests.unit.engine.streaming import HOUR, Streaming

ARN = "arn:aws:kinesis:us-east-1:000000000000:stream/changes"
OTHER = ARN.replace("changes", "others")
INVALID = "Table is not in a valid state to enable Kinesis Streaming Destination: "
MUST_BE_OVER = (
    INVALID + "EnableKinesisStreamingDestination must be DISABLED or ENABLE_FAILED to perform ENABLE operation."
)
MUST_BE_ACTIVE = INVALID + "KinesisStreamingDestination must be ACTIVE to perform DISABLE operation."


class Fake:
    """A Kinesis that fails when told to. `outcomes`: for the next requests, an error, or which records to refuse."""

    def __init__(self) -> None:
        self.streams: dict[str, list[SinkRecord]] = {ARN: [], OTHER: []}
        self.requests: list[int] = []
        self.outcomes: list[Any] = []
        self.delays = 0

    def find(self, stream_arn: str) -> Outcome:
        return self._later(lambda: self._find(stream_arn))

    def send(self, stream_arn: str, records: list[SinkRecord]) -> Outcome:
        self.requests.append(len(records))
        outcome = self.outcomes.pop(0) if self.outcomes else []
        return self._later(lambda: self._send(stream_arn, records, outcome))

    def close(self) -> None:
        pass

    def _find(self, stream_arn: str) -> list[int]:
        if stream_arn not in self.streams:
            raise NoSuchStream("no")
        return []

    def _send(self, stream_arn: str, records: list[SinkRecord], outcome: Any) -> list[int]:
        if isinstance(outcome, Exception):
            raise outcome
        refused = [number for number in range(len(records)) if number % 7 in outcome]
        self.streams[stream_arn] += [record for number, record in enumerate(records) if number not in refused]
        return refused

    def _later(self, request: Any) -> Outcome:
        waits = [None] * self.delays

        def outcome() -> Any:
            return waits.pop() if waits else request()

        return outcome

    def bodies(self, arn: str = ARN) -> list[dict[str, Any]]:
        return [json.loads(record.data) for record in self.streams[arn]]


class Delivering(Streaming):
    """An engine whose sink is a fake, which outlives it."""

    def __init__(self, folder: Path | None = None, **options: Any) -> None:
        self.kinesis = Fake()
        super().__init__(folder, **options)

    def open(self) -> None:
        super().open()
        self.db.engine.destinations._sink = self.kinesis

    def enable(self, arn: str = ARN, **configuration: str) -> str:
        more = {"EnableKinesisStreamingConfiguration": configuration} if configuration else {}
        answer = self.client.enable_kinesis_streaming_destination(TableName="tab", StreamArn=arn, **more)
        return str(answer["DestinationStatus"])

    def disable(self, arn: str = ARN) -> str:
        answer = self.client.disable_kinesis_streaming_destination(TableName="tab", StreamArn=arn)
        return str(answer["DestinationStatus"])

    def set_precision(self, precision: str) -> dict[str, Any]:
        configuration: Any = {"ApproximateCreationDateTimePrecision": precision}
        answer: dict[str, Any] = self.client.update_kinesis_streaming_destination(
            TableName="tab", StreamArn=ARN, UpdateKinesisStreamingConfiguration=configuration
        )
        return answer

    def states(self) -> dict[str, str]:
        described = self.client.describe_kinesis_streaming_destination(TableName="tab")
        assert described["TableName"] == "tab"
        return {
            each["StreamArn"].rpartition("/")[2]: each["DestinationStatus"]
            for each in described["KinesisDataStreamDestinations"]
        }

    def arrived(self, arn: str = ARN) -> list[tuple[str, str]]:
        """Event names and keys, after all that can be done was done."""
        self.db.catch_up()
        return [(body["eventName"], body["dynamodb"]["Keys"]["p"]["S"]) for body in self.kinesis.bodies(arn)]

    def pass_time(self, seconds: float) -> None:
        self.clock.advance(seconds)
        self.db.catch_up()

    def log_size(self) -> int:
        self.db.engine.log.trim()
        return len(list(self.db.engine.store.range(b"s", b"t")))


@pytest.fixture
def at() -> Iterator[Delivering]:
    made = Delivering()
    made.create(None)
    yield made
    made.assert_consistent()
    made.db.close()


# --- States ---


def test_a_destination_is_enabled_and_disabled(at: Delivering) -> None:
    assert at.states() == {}
    assert at.enable() == "ENABLING"
    at.db.catch_up()
    assert at.states() == {"changes": "ACTIVE"}
    assert at.disable() == "DISABLING"
    assert at.states() == {"changes": "DISABLED"}
    assert at.enable() == "ENABLING"
    at.db.catch_up()
    assert at.states() == {"changes": "ACTIVE"}


def test_states_take_their_time() -> None:
    at = Delivering(table_transition_seconds=10.0)
    at.create(None)
    body = {"TableName": "tab", "StreamArn": ARN}
    missing = ("ResourceNotFoundException", "Requested resource not found: Table: tab not found")
    assert at.refused(at.client.enable_kinesis_streaming_destination, **body) == missing
    at.clock.advance(10)
    at.enable()
    at.db.catch_up()
    assert at.states() == {"changes": "ENABLING"}
    assert at.refused(at.client.enable_kinesis_streaming_destination, **body)[1] == MUST_BE_OVER
    assert at.refused(at.client.disable_kinesis_streaming_destination, **body)[1] == MUST_BE_ACTIVE
    assert at.refused(at.set_precision, precision="MICROSECOND") == (
        "ValidationException",
        INVALID + "Kinesis streaming is not in ACTIVE state. Updates are only allowed in ACTIVE state. "
        f"TableName: tab, kdsArn: {ARN}",
    )
    at.clock.advance(10)
    assert at.states() == {"changes": "ACTIVE"}
    at.set_precision("MICROSECOND")
    assert at.states() == {"changes": "UPDATING"}
    at.clock.advance(10)
    at.disable()
    assert at.states() == {"changes": "DISABLING"}
    assert at.disable() == "DISABLING"
    at.clock.advance(10)
    assert at.states() == {"changes": "DISABLED"}


def test_a_table_has_one_destination_at_a_time(at: Delivering) -> None:
    at.enable()
    at.db.catch_up()
    body = {"TableName": "tab", "StreamArn": OTHER}
    assert at.refused(at.client.enable_kinesis_streaming_destination, **body) == ("ValidationException", MUST_BE_OVER)
    assert at.refused(at.client.disable_kinesis_streaming_destination, **body) == (
        "ValidationException",
        MUST_BE_ACTIVE,
    )
    at.disable()
    at.enable(OTHER)
    at.db.catch_up()
    assert at.states() == {"others": "ACTIVE", "changes": "DISABLED"}


def test_a_stream_that_does_not_exist_fails_afterwards(at: Delivering) -> None:
    nowhere = ARN.replace("changes", "nowhere")
    assert at.enable(nowhere) == "ENABLING"
    at.db.catch_up()
    [described] = at.client.describe_kinesis_streaming_destination(TableName="tab")["KinesisDataStreamDestinations"]
    assert described == {
        "StreamArn": nowhere,
        "DestinationStatus": "ENABLE_FAILED",
        "DestinationStatusDescription": "User does not have a permission to use kinesis stream",
    }
    at.enable(ARN.replace("us-east-1", "eu-west-1"))
    assert at.states() == {"changes": "ENABLE_FAILED", "nowhere": "ENABLE_FAILED"}
    at.put("a")
    assert at.log_size() == 0
    at.enable()
    at.put("b")
    assert at.arrived() == [("INSERT", "b")]


def test_the_precision_can_be_changed_three_times_a_day(at: Delivering) -> None:
    at.enable()
    at.db.catch_up()
    at.put("a")
    answer = at.set_precision("MICROSECOND")
    assert (answer["DestinationStatus"], answer["UpdateKinesisStreamingConfiguration"]) == (
        "UPDATING",
        {"ApproximateCreationDateTimePrecision": "MICROSECOND"},
    )
    at.put("b")
    at.db.catch_up()
    table_id = at.client.describe_table(TableName="tab")["Table"]["TableId"]
    assert at.refused(at.set_precision, precision="MICROSECOND") == (
        "ValidationException",
        "Invalid Request: Precision is already set to the desired value of MICROSECOND "
        f"for tableId: {table_id}, kdsArn: {ARN}",
    )
    seconds = int(at.clock.now())
    assert [body["dynamodb"]["ApproximateCreationDateTime"] for body in at.kinesis.bodies()] == [
        seconds * 1000,
        seconds * 1_000_000,
    ]
    at.set_precision("MILLISECOND")
    at.set_precision("MICROSECOND")
    assert at.refused(at.set_precision, precision="MILLISECOND")[0] == "LimitExceededException"
    at.clock.advance(24 * HOUR + 1)
    at.set_precision("MILLISECOND")
    for more in ({}, {"UpdateKinesisStreamingConfiguration": {}}):
        update = at.client.update_kinesis_streaming_destination
        _, message = at.refused(update, TableName="tab", StreamArn=ARN, **more)
        assert message.startswith("Streaming destination cannot be updated with given parameters")


def test_other_refusals(at: Delivering) -> None:
    update, disable = at.client.update_kinesis_streaming_destination, at.client.disable_kinesis_streaming_destination
    assert at.refused(update, TableName="tab", StreamArn=ARN) == (
        "ValidationException",
        f"{INVALID}No streaming destination with streamArn: {ARN} found for table with tableName: tab",
    )
    at.enable()
    at.db.catch_up()
    configuration = {"ApproximateCreationDateTimePrecision": "MICROSECOND"}
    assert at.refused(disable, TableName="tab", StreamArn=ARN, EnableKinesisStreamingConfiguration=configuration) == (
        "ValidationException",
        "Stream cannot be disabled using EnableKinesisStreamingConfiguration parameters",
    )
    assert at.refused(at.client.describe_kinesis_streaming_destination, TableName="none") == (
        "ResourceNotFoundException",
        "Requested resource not found: Table: none not found",
    )


# --- Records ---


def test_a_record(at: Delivering) -> None:
    at.enable()
    at.put("a", v={"N": "1"}, b={"B": b"\x00"})
    at.put("a", v={"N": "2"})
    at.put("a", v={"N": "2.0"})
    at.delete("a")
    assert at.arrived() == [("INSERT", "a"), ("MODIFY", "a"), ("REMOVE", "a")]
    first, second, third = at.kinesis.bodies()
    assert len({body.pop("eventID") for body in (first, second, third)}) == 3
    assert first == {
        "awsRegion": "us-east-1",
        "eventName": "INSERT",
        "userIdentity": None,
        "recordFormat": "application/json",
        "tableName": "tab",
        "dynamodb": {
            "ApproximateCreationDateTime": int(at.clock.now() * 1000),
            "ApproximateCreationDateTimePrecision": "MILLISECOND",
            "Keys": {"p": {"S": "a"}},
            "NewImage": {"p": {"S": "a"}, "v": {"N": "1"}, "b": {"B": "AA=="}},
            "SizeBytes": 2 + 2 + 3 + 2,
        },
        "eventSource": "aws:dynamodb",
    }
    assert set(second["dynamodb"]) >= {"NewImage", "OldImage"}
    assert "NewImage" not in third["dynamodb"] and third["dynamodb"]["OldImage"]["v"] == {"N": "2"}
    assert len({record.partition_key for record in at.kinesis.streams[ARN]}) == 1


def test_a_deletion_by_time_to_live_is_the_services_own(at: Delivering) -> None:
    at.client.update_time_to_live(TableName="tab", TimeToLiveSpecification={"Enabled": True, "AttributeName": "ttl"})
    at.enable()
    at.put("a", ttl={"N": str(int(at.clock.now()))})
    at.pass_time(HOUR)
    assert at.arrived() == [("INSERT", "a"), ("REMOVE", "a")]
    identity = {"type": "Service", "principalId": "dynamodb.amazonaws.com"}
    assert [body["userIdentity"] for body in at.kinesis.bodies()] == [None, identity]


def test_records_too_large_for_kinesis_are_skipped(at: Delivering) -> None:
    at.enable()
    many = {f"{number}": {"BOOL": True} for number in range(60_000)}
    at.put("a", m={"M": many})
    at.put("b")
    assert at.arrived() == [("INSERT", "b")]
    [cursor] = at.db.engine.destinations._cursors.values()
    assert cursor.skipped == 1


# --- Delivery ---


def test_what_was_written_before_or_after_is_not_delivered(at: Delivering) -> None:
    at.put("before")
    at.enable()
    at.put("a")
    at.db.catch_up()
    at.disable()
    at.put("between")
    at.enable()
    at.put("b")
    at.client.delete_table(TableName="tab")
    assert at.arrived() == [("INSERT", "a"), ("INSERT", "b")]
    assert at.log_size() == 0 and not at.db.engine.destinations._cursors
    at.create(None)


def test_what_is_not_delivered_yet_outlives_the_disabling_and_the_table(at: Delivering) -> None:
    at.enable()
    at.db.catch_up()
    at.kinesis.outcomes = [SinkError("down")] * 3
    at.put("a")
    at.disable()
    at.put("between")
    at.enable()
    at.put("b")
    at.client.delete_table(TableName="tab")
    at.create(None)
    assert at.arrived() == []
    for _ in range(4):
        at.pass_time(BACKOFF_SECONDS_MAX)
    assert at.arrived() == [("INSERT", "a"), ("INSERT", "b")]


def test_a_batch_holds_an_item_once_and_up_to_five_hundred(at: Delivering) -> None:
    at.enable()
    at.db.catch_up()
    engine_deliver = at.db.engine.destinations.deliver
    at.db.engine.destinations.deliver = lambda: False  # type: ignore[method-assign]
    for chore in at.db.engine._chores:
        if chore.work == engine_deliver:
            chore.work = lambda: False
    for number in range(BATCH_RECORDS_MAX + 3):
        at.put(f"{number}")
    for _ in range(3):
        at.put("hot", n={"N": f"{_}"})
    while engine_deliver():
        pass
    assert at.kinesis.requests == [BATCH_RECORDS_MAX, 4, 1, 1]
    assert len(at.arrived()) == BATCH_RECORDS_MAX + 6


def test_failures_are_tried_again_less_and_less_often(at: Delivering) -> None:
    at.enable()
    at.db.catch_up()
    at.kinesis.outcomes = [SinkError("down")] * 20
    at.put("a")
    tries = []
    for _ in range(400):
        at.pass_time(1)
        tries.append(len(at.kinesis.requests))
    assert tries[-1] == 1 + 6 + (400 - 63) // 60
    assert at.states() == {"changes": "ACTIVE"}
    at.kinesis.outcomes = []
    at.pass_time(60)
    assert at.arrived() == [("INSERT", "a")]


def test_after_a_week_of_failures_it_is_turned_off(at: Delivering) -> None:
    at.enable()
    at.db.catch_up()
    at.put("a")
    at.db.catch_up()
    at.kinesis.outcomes = [SinkError("down")] * 100_000
    at.put("b")
    at.pass_time(GIVE_UP_SECONDS - 1)
    assert at.states() == {"changes": "ACTIVE"} and at.log_size() == 1
    at.pass_time(BACKOFF_SECONDS_MAX)
    assert at.states() == {"changes": "DISABLED"}
    at.put("c")
    assert at.log_size() == 0


def test_without_a_sink_changes_wait_for_one(tmp_path: Path) -> None:
    at = Delivering(tmp_path)
    at.create(None)
    at.db.engine.destinations._sink = None
    at.enable()
    at.put("a")
    at.db.catch_up()
    [described] = at.client.describe_kinesis_streaming_destination(TableName="tab")["KinesisDataStreamDestinations"]
    assert described["DestinationStatus"] == "ACTIVE"
    assert described["DestinationStatusDescription"].startswith("Neither kinesis_folder nor")
    at.clock.advance(2 * 24 * HOUR)
    at.reopen()
    assert at.arrived() == [("INSERT", "a")]
    at.db.close()


def test_a_folder_has_a_file_for_each_stream(tmp_path: Path) -> None:
    at = Streaming(kinesis_folder=str(tmp_path))
    at.create(None)
    at.client.enable_kinesis_streaming_destination(TableName="tab", StreamArn=ARN)
    at.put("a")
    at.put("b")
    at.db.catch_up()
    lines = (tmp_path / "000000000000" / "us-east-1" / "changes.jsonl").read_text().splitlines()
    assert [json.loads(line)["dynamodb"]["Keys"]["p"]["S"] for line in lines] == ["a", "b"]
    at.client.delete_table(TableName="tab")
    at.create(None)
    at.client.enable_kinesis_streaming_destination(TableName="tab", StreamArn=ARN.replace("changes", ".."))
    at.db.catch_up()
    [described] = at.client.describe_kinesis_streaming_destination(TableName="tab")["KinesisDataStreamDestinations"]
    assert described["DestinationStatus"] == "ENABLE_FAILED"


@pytest.mark.parametrize("left", [b"", b'{"half', b'{"a":1}\n{"ha', b"x" * 10_000, b"{}\n" + b"x" * 10_000])
def test_a_line_that_was_cut_is_removed_from_the_file(tmp_path: Path, left: bytes) -> None:
    path = tmp_path / "000000000000" / "us-east-1" / "changes.jsonl"
    path.parent.mkdir(parents=True)
    path.write_bytes(left)
    sink = FolderSink(str(tmp_path))
    assert sink.send(ARN, [SinkRecord(b'{"b":2}', "key")])() == []
    assert path.read_bytes() == left[: left.rfind(b"\n") + 1] + b'{"b":2}\n'


def test_a_folder_that_cannot_be_written_is_tried_again(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    sink = FolderSink(str(tmp_path / "file"))
    with pytest.raises(SinkError):
        sink.send(ARN, [SinkRecord(b"{}", "key")])()


def test_a_replica_in_another_region_has_no_destination(at: Delivering) -> None:
    at.set_stream("NEW_AND_OLD_IMAGES")
    at.enable()
    at.client.update_table(TableName="tab", ReplicaUpdates=[{"Create": {"RegionName": "eu-west-1"}}])
    at.db.catch_up()
    elsewhere = at.db.client("dynamodb", region_name="eu-west-1")
    described = elsewhere.describe_kinesis_streaming_destination(TableName="tab")
    assert described["KinesisDataStreamDestinations"] == []
    elsewhere.put_item(TableName="tab", Item={"p": {"S": "there"}})
    at.clock.advance(HOUR)
    assert at.arrived() == [("INSERT", "there")], "replicated writes are changes of this table too"


# --- Whatever fails, nothing is lost and nothing is overtaken ---

WRITES = st.tuples(st.just("write"), st.sampled_from("abcdefgh"))
FAILURES = st.one_of(st.just(SinkError("down")), st.sets(st.integers(0, 6), min_size=1))
EVENTS = st.one_of(
    WRITES,
    WRITES,
    WRITES,
    st.tuples(st.just("fail"), FAILURES),
    st.tuples(st.just("wait"), st.integers(0, 3)),
    st.tuples(st.just("work"), st.just(None)),
    st.tuples(st.just("pass"), st.sampled_from([1, 70])),
    st.tuples(st.just("crash"), st.just(None)),
)


def run_events(at: Delivering, events: list[Any], folder: Path | None) -> dict[str, list[int]]:
    """What was written to each key, in order."""
    written: dict[str, list[int]] = {}
    number = 0
    for kind, argument in events:
        if kind == "write":
            number += 1
            at.put(argument, n={"N": str(number)})
            written.setdefault(argument, []).append(number)
        elif kind == "fail":
            at.kinesis.outcomes.append(argument)
        elif kind == "wait":
            at.kinesis.delays = argument
        elif kind == "work":
            at.db.engine.destinations.deliver()
        elif kind == "pass":
            at.clock.advance(argument)
        elif folder is not None:
            left = at._folder.with_name(at._folder.name + "+")  # type: ignore[union-attr]
            shutil.copytree(at._folder, left)  # type: ignore[arg-type]
            at.db.close()
            at._folder = left
            at.open()
    return written


def assert_complete(at: Delivering, written: dict[str, list[int]], once: bool) -> None:
    at.kinesis.outcomes = []
    for _ in range(3):
        at.pass_time(BACKOFF_SECONDS_MAX)
    arrived: dict[str, list[int]] = {}
    for body in at.kinesis.bodies():
        numbers = arrived.setdefault(body["dynamodb"]["Keys"]["p"]["S"], [])
        number = int(body["dynamodb"]["NewImage"]["n"]["N"])
        if once or numbers[-1:] != [number]:  # a crash may have the last delivery made twice
            numbers.append(number)
    assert arrived == written


@settings(max_examples=60, deadline=None)
@given(st.lists(EVENTS, max_size=60))
def test_nothing_is_lost_or_overtaken(events: list[Any]) -> None:
    at = Delivering()
    at.create(None)
    at.enable()
    assert_complete(at, run_events(at, events, None), once=True)


@settings(max_examples=8, deadline=None)
@given(st.lists(EVENTS, max_size=30))
def test_nothing_is_lost_or_overtaken_across_crashes(
    tmp_path_factory: pytest.TempPathFactory, events: list[Any]
) -> None:
    folder = tmp_path_factory.mktemp("data")
    at = Delivering(folder / "store", durability="os")
    at.create(None)
    at.enable()
    at.db.catch_up()
    written = run_events(at, [*events, ("write", "a"), ("crash", None), ("write", "b")], folder)
    assert_complete(at, written, once=False)
    at.db.close()
