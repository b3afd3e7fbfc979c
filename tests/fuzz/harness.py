"""The service under fuzz: fresh tables, one request at a time, and what may never come back."""

from __future__ import annotations

import re
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from zlib import crc32

import orjson

from dynamometer.base.clock import ManualClock
from dynamometer.base.config import Settings
from dynamometer.base.rng import seeded
from dynamometer.engine.engine import Engine
from dynamometer.engine.operations import load
from dynamometer.storage.memory import MemoryStore
from dynamometer.wire.service import Response, Service
from tests.fuzz import bodies
from tests.fuzz.cases import Case, headers

STREAMS = "DynamoDBStreams_20120810"
CPU_SECONDS_MAX = 2.0
ERROR_TYPE = re.compile(r"com\.amazon(aws)?\.[\w.]+#[A-Z]\w+")
STATUSES = frozenset({200, 400, 403, 404, 413})
BUG = b"The server encountered an internal error trying to fulfill the request."


class TooSlow(BaseException):
    """Not an Exception, so that nothing under test can take it for one of its own."""


def implemented() -> dict[str, tuple[str, bodies.Shape]]:
    """Target and input shape of every operation that is built."""
    known = bodies.operations()
    return {name: known[name] for name in load()}


def fresh() -> Service:
    """A service on memory with a table of every form and some items."""
    clock = ManualClock()
    service = Service(Engine(MemoryStore(), clock, seeded(1), Settings(in_memory=True)))
    for body in TABLES:
        _must(service, "CreateTable", body)
    arn = _must(service, "DescribeTable", {"TableName": "Sorted"})["Table"]["LatestStreamArn"]
    for number in range(60):
        pk = {"S": "xyz"[number % 3]}
        numbered = {"pk": pk, "sk": {"N": str(number)}, "a": {"N": str(number)}}
        text = {"pk": pk, "sk": {"S": "abcdef"[number % 6]}, "gpk": {"S": "pqr"[number % 3]}, "lsk": {"S": "z"}}
        for table, item in (("Simple", text), ("Sorted", text), ("Indexed", text), ("Numbers", numbered)):
            _must(service, "PutItem", {"TableName": table, "Item": item | CONTENT})
    bodies.KNOWN.update(_known(service, arn))
    return service


def _known(service: Service, arn: str) -> dict[str, list[str]]:
    """What requests of the streams service refer to."""
    shards = _must(service, "DescribeStream", {"StreamArn": arn}, STREAMS)["StreamDescription"]["Shards"]
    ids = [shard["ShardId"] for shard in shards]
    numbers = [shard["SequenceNumberRange"]["StartingSequenceNumber"] for shard in shards]
    iterators = []
    for shard_id in ids:
        body = {"StreamArn": arn, "ShardId": shard_id, "ShardIteratorType": "TRIM_HORIZON"}
        iterators.append(_must(service, "GetShardIterator", body, STREAMS)["ShardIterator"])
    return {
        "StreamArn": [arn],
        "ExclusiveStartStreamArn": [arn],
        "ShardId": ids,
        "ExclusiveStartShardId": ids,
        "SequenceNumber": [*numbers, "0", "9" * 40],
        "ShardIterator": iterators,
    }


def send(service: Service, case: Case) -> Response:
    """One request and the checks of its answer."""
    try:
        with cpu_limit(case):
            response = service.handle("POST", "/", dict(case.headers), case.body)
            service.engine.run_jobs()
    except Exception as error:
        raise AssertionError(_report(case, f"raised {error!r}")) from error
    check(case, response)
    return response


def check(case: Case, response: Response) -> None:
    """The answer is the service's: an answer, or one of its errors."""
    if response.status == 500 and b"content-encoding" in case.headers and BUG not in response.body:
        return  # the service calls a body that it can't decompress its own fault (measured on the service)
    assert response.status in STATUSES, _report(case, f"status {response.status} {response.body[:300]!r}")
    found = {name: value for name, _, value in (line.partition(b": ") for line in response.headers.splitlines())}
    assert found[b"x-amz-crc32"] == b"%d" % crc32(response.body), _report(case, "the CRC is wrong")
    if b"Content-Encoding" in found or response.status == 404 or (response.status == 200 and not response.body):
        return
    answer = orjson.loads(response.body)
    assert isinstance(answer, dict), _report(case, f"answered {response.body[:300]!r}")
    if response.status != 200:
        kind = answer.get("__type", "")
        assert ERROR_TYPE.fullmatch(kind) and "Internal" not in kind, _report(case, f"answered {response.body[:300]!r}")
        message = answer.get("message", answer.get("Message", ""))
        assert isinstance(message, str), _report(case, f"message {message!r}")


@contextmanager
def cpu_limit(case: Case) -> Iterator[None]:
    """Stop a request that computes for too long. Processor time, so that a busy machine is no failure."""

    def stop(number: int, frame: FrameType | None) -> None:
        raise TooSlow(_report(case, f"took more than {CPU_SECONDS_MAX} s of processor time"))

    previous = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, CPU_SECONDS_MAX)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, previous)


def _must(service: Service, action: str, body: bodies.Json, prefix: str = "DynamoDB_20120810") -> bodies.Json:
    response = service.handle("POST", "/", headers(f"{prefix}.{action}"), orjson.dumps(body))
    assert response.status == 200, response.body
    service.engine.run_jobs()
    return orjson.loads(response.body)


def _report(case: Case, what: str) -> str:
    target = case.headers.get(b"x-amz-target", b"").decode("latin-1")
    return f"{case.name}: {what}\n  {target}\n  {case.body[:2000]!r}"


def _key(*names: str) -> list[dict[str, str]]:
    return [{"AttributeName": name, "KeyType": kind} for name, kind in zip(names, ("HASH", "RANGE"), strict=False)]


def _types(**kinds: str) -> list[dict[str, str]]:
    return [{"AttributeName": name, "AttributeType": kind} for name, kind in kinds.items()]


def _index(name: str, *key: str) -> dict[str, object]:
    return {"IndexName": name, "KeySchema": _key(*key), "Projection": {"ProjectionType": "ALL"}}


CONTENT = {
    "lst": {"L": [{"N": "1"}, {"S": "x"}]},
    "mp": {"M": {"a": {"N": "1"}, "mp": {"M": {}}}},
    "num": {"N": "5"},
    "st": {"SS": ["a", "b"]},
    "txt": {"S": "x"},
}
TABLES = (
    {"TableName": "Simple", "KeySchema": _key("pk"), "AttributeDefinitions": _types(pk="S")},
    {
        "TableName": "Sorted",
        "KeySchema": _key("pk", "sk"),
        "AttributeDefinitions": _types(pk="S", sk="S"),
        "StreamSpecification": {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"},
    },
    {"TableName": "Numbers", "KeySchema": _key("pk", "sk"), "AttributeDefinitions": _types(pk="S", sk="N")},
    {
        "TableName": "Indexed",
        "KeySchema": _key("pk", "sk"),
        "AttributeDefinitions": _types(pk="S", sk="S", gpk="S", lsk="S"),
        "GlobalSecondaryIndexes": [_index("ByStatus", "gpk", "sk")],
        "LocalSecondaryIndexes": [_index("ByDate", "pk", "lsk")],
    },
)
TABLES = tuple({**table, "BillingMode": "PAY_PER_REQUEST"} for table in TABLES)
