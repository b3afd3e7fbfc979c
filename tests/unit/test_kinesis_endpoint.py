"""Delivery to another program that speaks Kinesis: moto's server, on loopback."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from threading import Event
from typing import Any

import boto3
import pytest
from moto.server import ThreadedMotoServer

from dynamometer.engine.sinks import NoSuchStream, Outcome, SinkError, SinkRecord
from dynamometer.kinesis import KinesisSink
from tests.unit.cli.test_serve import TABLE, serving
from tests.unit.engine.streaming import Streaming

POLLS_MAX = 10_000


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")


@pytest.fixture
def kinesis(endpoint: str) -> Any:
    return boto3.client("kinesis", endpoint_url=endpoint, region_name="us-east-1")


@pytest.fixture
def arn(kinesis: Any, request: pytest.FixtureRequest) -> str:
    """A data stream of the test's own."""
    name = request.node.name
    kinesis.create_stream(StreamName=name, ShardCount=2)
    return str(kinesis.describe_stream_summary(StreamName=name)["StreamDescriptionSummary"]["StreamARN"])


def bodies(kinesis: Any, arn: str) -> list[Any]:
    """The data of all records of a stream, shard by shard."""
    found = []
    for shard in kinesis.list_shards(StreamARN=arn)["Shards"]:
        iterator = kinesis.get_shard_iterator(
            StreamARN=arn, ShardId=shard["ShardId"], ShardIteratorType="TRIM_HORIZON"
        )["ShardIterator"]
        records = kinesis.get_records(ShardIterator=iterator, StreamARN=arn)["Records"]
        found += [json.loads(record["Data"]) for record in records]
    return found


def outcome_of(outcome: Outcome) -> list[int]:
    pause = Event()
    for _ in range(POLLS_MAX):
        refused = outcome()
        if refused is not None:
            return refused
        pause.wait(0.005)
    raise AssertionError("no outcome")


def test_changes_arrive_in_the_order_of_each_item(endpoint: str, kinesis: Any, arn: str) -> None:
    at = Streaming(kinesis_endpoint=endpoint)
    at.create(None)
    at.client.enable_kinesis_streaming_destination(TableName="tab", StreamArn=arn)
    at.db.catch_up()
    for number in range(5):
        for key in "abc":
            at.put(key, n={"N": str(number)})
    at.db.catch_up()
    numbers: dict[str, list[int]] = {}
    for body in bodies(kinesis, arn):
        image = body["dynamodb"]["NewImage"]
        numbers.setdefault(image["p"]["S"], []).append(int(image["n"]["N"]))
    assert numbers == {key: list(range(5)) for key in "abc"}


def test_a_stream_that_is_not_there(endpoint: str) -> None:
    at = Streaming(kinesis_endpoint=endpoint)
    at.create(None)
    arn = "arn:aws:kinesis:us-east-1:123456789012:stream/nowhere"
    at.client.enable_kinesis_streaming_destination(TableName="tab", StreamArn=arn)
    at.db.catch_up()
    [described] = at.client.describe_kinesis_streaming_destination(TableName="tab")["KinesisDataStreamDestinations"]
    assert described["DestinationStatus"] == "ENABLE_FAILED"


def test_an_endpoint_that_is_down_is_tried_again(tmp_path: Path, endpoint: str, kinesis: Any, arn: str) -> None:
    at = Streaming(tmp_path, kinesis_endpoint="http://127.0.0.1:9")
    at.create(None)
    at.client.enable_kinesis_streaming_destination(TableName="tab", StreamArn=arn)
    at.put("a")
    at.db.catch_up()
    [described] = at.client.describe_kinesis_streaming_destination(TableName="tab")["KinesisDataStreamDestinations"]
    assert described["DestinationStatus"] == "ACTIVE"
    at._settings = {"kinesis_endpoint": endpoint}
    at.reopen()
    at.db.catch_up()
    assert [body["eventName"] for body in bodies(kinesis, arn)] == ["INSERT"]
    at.db.close()


def test_a_sink_on_threads_never_waits(endpoint: str, kinesis: Any, arn: str) -> None:
    sink = KinesisSink(endpoint, is_waiting=False)
    assert outcome_of(sink.find(arn)) == []
    assert outcome_of(sink.send(arn, [SinkRecord(b'{"n":1}', "a"), SinkRecord(b'{"n":2}', "b")])) == []
    assert sorted(body["n"] for body in bodies(kinesis, arn)) == [1, 2]
    with pytest.raises(NoSuchStream):
        outcome_of(sink.send(arn + "-not", [SinkRecord(b"{}", "a")]))
    with pytest.raises(NoSuchStream):
        outcome_of(sink.find("arn:aws:kinesis:us-east-1:123456789012:firehose/x"))
    sink.close()
    down = KinesisSink("http://127.0.0.1:9", is_waiting=False)
    with pytest.raises(SinkError):
        outcome_of(down.send(arn, [SinkRecord(b"{}", "a")]))
    down.close()


def test_a_server_delivers_beside_its_requests(tmp_path: Path, endpoint: str, kinesis: Any, arn: str) -> None:
    with serving(tmp_path, "--data", "data", "--kinesis-endpoint", endpoint) as served:
        served.request("CreateTable", TABLE)
        served.request("EnableKinesisStreamingDestination", {"TableName": "things", "StreamArn": arn})
        served.request("PutItem", {"TableName": "things", "Item": {"k": {"S": "a"}}})
        for _ in range(POLLS_MAX):
            found = bodies(kinesis, arn)
            if found:
                break
        assert [body["dynamodb"]["Keys"] for body in found] == [{"k": {"S": "a"}}]
        assert served.stop()[0] == 0
