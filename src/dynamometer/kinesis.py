"""Delivery to an endpoint that speaks Kinesis, through boto3. Programs that want it give its sink to the engine.

A server must not wait for another one: there, requests are made on threads (`is_waiting` False). In a test's own
process they are made at once, so that what was written has arrived when the call returns.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Lock
from typing import Any

from dynamometer.base.config import Settings
from dynamometer.engine.sinks import FolderSink, NoSuchStream, Outcome, Sink, SinkError, SinkRecord, stream_of

THREADS_MAX = 4
CONNECT_SECONDS_MAX = 2
READ_SECONDS_MAX = 5


def open_sink(settings: Settings, is_waiting: bool) -> Sink | None:
    """The sink that the settings ask for, if any."""
    if settings.kinesis_folder is not None:
        return FolderSink(settings.kinesis_folder, settings.durability == "fsync")
    if settings.kinesis_endpoint is not None:
        return KinesisSink(settings.kinesis_endpoint, is_waiting)
    return None


class KinesisSink:
    """An endpoint that speaks Kinesis. Credentials are those that boto3 finds; without any, made-up ones."""

    def __init__(self, endpoint: str, is_waiting: bool) -> None:
        self._endpoint = endpoint
        self._clients: dict[str, Any] = {}
        self._lock = Lock()
        self._threads = None if is_waiting else ThreadPoolExecutor(THREADS_MAX, "kinesis")

    def find(self, stream_arn: str) -> Outcome:
        return self._run(lambda client: self._find(client, stream_arn), stream_arn)

    def send(self, stream_arn: str, records: list[SinkRecord]) -> Outcome:
        return self._run(lambda client: self._send(client, stream_arn, records), stream_arn)

    def close(self) -> None:
        """Wait for no request that is under way."""
        if self._threads is not None:
            self._threads.shutdown(wait=False, cancel_futures=True)

    def _run(self, request: Callable[[Any], list[int]], stream_arn: str) -> Outcome:
        if self._threads is None:
            return lambda: self._try(request, stream_arn)
        return _asked_later(self._threads.submit(self._try, request, stream_arn))

    def _try(self, request: Callable[[Any], list[int]], stream_arn: str) -> list[int]:
        """Make a request; its failures in the words of sinks."""
        from botocore.exceptions import ClientError

        stream = stream_of(stream_arn)
        if stream is None:
            raise NoSuchStream("there is no such Kinesis data stream")
        try:
            return request(self._client(stream[0]))
        except ClientError as error:
            if error.response["Error"]["Code"] == "ResourceNotFoundException":
                raise NoSuchStream(str(error)) from error
            raise SinkError(str(error)) from error
        except Exception as error:
            # whatever else is at the other end: an answer that is no Kinesis answer raises what it likes
            raise SinkError(repr(error)) from error

    def _client(self, region: str) -> Any:
        with self._lock:
            client = self._clients.get(region)
            if client is None:
                client = self._clients[region] = _client(self._endpoint, region)
            return client

    def _find(self, client: Any, stream_arn: str) -> list[int]:
        client.describe_stream_summary(StreamARN=stream_arn)
        return []

    def _send(self, client: Any, stream_arn: str, records: list[SinkRecord]) -> list[int]:
        entries = [{"Data": record.data, "PartitionKey": record.partition_key} for record in records]
        answer = client.put_records(StreamARN=stream_arn, Records=entries)
        return [number for number, record in enumerate(answer["Records"]) if record.get("ErrorCode")]


def _asked_later(future: Future[list[int]]) -> Outcome:
    return lambda: future.result() if future.done() else None


def _client(endpoint: str, region: str) -> Any:
    import boto3
    from botocore.config import Config

    config = Config(
        connect_timeout=CONNECT_SECONDS_MAX,
        read_timeout=READ_SECONDS_MAX,
        retries={"total_max_attempts": 1},
        max_pool_connections=THREADS_MAX,
    )
    session = boto3.Session()
    made_up = {} if session.get_credentials() else {"aws_access_key_id": "local", "aws_secret_access_key": "local"}
    return session.client("kinesis", region_name=region, endpoint_url=endpoint, config=config, **made_up)
