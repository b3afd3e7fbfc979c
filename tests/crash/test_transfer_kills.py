"""Exports, imports and bulk puts while the server is killed again and again: each goes on, and counts everything once.

DYNO_SEED=1234 python -m pytest tests/crash/test_transfer_kills.py     the same moments, as far as machines repeat
"""

from __future__ import annotations

import gzip
import os
import random
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest

from dynamometer.engine.check import check
from dynamometer.storage.rocksdb import RocksStore
from tests.crash.server import Client, Server

OBJECTS = 3
RECORDS = 12_000
"""Of one object."""
LIFE_SECONDS_MAX = 0.15
LIVES_MAX = 200
SEED = int(os.environ.get("DYNO_SEED", random.randrange(2**32)))

DEFINITION = {
    "KeySchema": [{"AttributeName": "p", "KeyType": "HASH"}],
    "AttributeDefinitions": [{"AttributeName": "p", "AttributeType": "S"}],
    "BillingMode": "PAY_PER_REQUEST",
}
Ended = Callable[[Client], dict[str, Any] | None]


class Lives:
    """One server after another on one folder, with one bucket beside it."""

    def __init__(self, path: Path) -> None:
        print(f"DYNO_SEED={SEED}")
        self._rng = random.Random(SEED)
        self._folder = path / "data"
        self.bucket = path / "s3" / "bucket"
        self.bucket.mkdir(parents=True)
        self._environment = {"DYNO_S3_FOLDER": str(path / "s3")}
        self.kills = 0

    def run(self, work: Callable[[Client], Any]) -> Any:
        """Do something on a server that stops in good order."""
        server = Server(self._folder, self._environment)
        client = Client(server.url())
        try:
            return work(client)
        finally:
            client.close()
            server.stop()

    def until(
        self, ended: Ended, begin: Callable[[Client], Any] | None = None, life_seconds: float = LIFE_SECONDS_MAX
    ) -> dict[str, Any]:
        """Start servers and kill them at any moment, until one says how it ended."""
        for _ in range(LIVES_MAX):
            server = Server(self._folder, self._environment)
            client = Client(server.url())
            if begin is not None:
                begin(client)
                begin = None
            description = ended(client)
            if description is None:
                time.sleep(self._rng.random() * life_seconds)
            client.close()
            server.kill()
            self.kills += 1
            if description is not None:
                return description
        raise AssertionError("it never ends")

    def check(self) -> None:
        store = RocksStore(self._folder)
        findings = [str(finding) for finding in check(store)]
        store.close()
        assert findings == []


def described(operation: str, member: str, status: str, **request: str) -> Ended:
    """How something ended, or None while it goes on."""

    def ended(client: Client) -> dict[str, Any] | None:
        description: dict[str, Any] = client.call(operation, **request)[member]
        return None if description[status] == "IN_PROGRESS" else description

    return ended


def item(number: int) -> dict[str, Any]:
    return {"p": {"S": f"{number:06}"}, "text": {"S": "x" * (number % 90)}}


def write_objects(bucket: Path) -> None:
    """Objects of numbered items, each with a broken line in its middle."""
    for each in range(OBJECTS):
        lines = [orjson.dumps({"Item": item(number)}) for number in range(each * RECORDS, (each + 1) * RECORDS)]
        lines.insert(RECORDS // 2, b"broken")
        (bucket / f"in-{each}").write_bytes(gzip.compress(b"\n".join(lines), 1))


@pytest.mark.slow
def test_everything_is_counted_once(tmp_path: Path) -> None:
    lives = Lives(tmp_path)
    write_objects(lives.bucket)
    source = {"S3Bucket": "bucket", "S3KeyPrefix": "in-"}
    packed = {"InputFormat": "DYNAMODB_JSON", "InputCompressionType": "GZIP"}
    expected = [item(number) for number in range(OBJECTS * RECORDS)]

    def begin(client: Client) -> tuple[str, str]:
        client.call("CreateTable", TableName="put", **DEFINITION)
        started = client.call(
            "ImportTable", S3BucketSource=source, TableCreationParameters={"TableName": "new"} | DEFINITION, **packed
        )
        output = {"S3Bucket": "bucket", "OutputType": ["ERROR"]}
        put = client.call(
            "StartBulkPutItems",
            TableName="put",
            InputS3Configuration=source | packed,
            OutputS3Configuration=output,
        )
        return started["ImportTableDescription"]["ImportArn"], put["BulkOperationDescription"]["BulkOperationArn"]

    arn, put_arn = lives.run(begin)
    imported = lives.until(described("DescribeImport", "ImportTableDescription", "ImportStatus", ImportArn=arn))
    put = lives.until(
        described("DescribeBulkOperation", "BulkOperationDescription", "BulkOperationStatus", BulkOperationArn=put_arn)
    )
    print(f"{lives.kills} kills")
    assert (imported["ProcessedItemCount"], imported["ErrorCount"]) == (OBJECTS * (RECORDS + 1), OBJECTS)
    assert (put["ProcessedItemCount"], put["FailedItemCount"]) == (OBJECTS * (RECORDS + 1), OBJECTS)
    errors = list(lives.bucket.rglob("errors/data.jsonl"))
    assert [len(each.read_bytes().splitlines()) for each in errors] == [OBJECTS]
    for name in ("new", "put"):
        items = lives.run(lambda client, name=name: client.everything(name))
        assert sorted(items, key=lambda each: each["p"]["S"]) == expected
    lives.check()


@pytest.mark.slow
def test_an_export_shows_its_moment_whatever_happens(tmp_path: Path) -> None:
    lives = Lives(tmp_path)
    write_objects(lives.bucket)

    def fill(client: Client) -> None:
        source = {"S3Bucket": "bucket", "S3KeyPrefix": "in-"}
        table = {"TableName": "abc"} | DEFINITION
        arn = client.call(
            "ImportTable",
            S3BucketSource=source,
            TableCreationParameters=table,
            InputFormat="DYNAMODB_JSON",
            InputCompressionType="GZIP",
        )["ImportTableDescription"]["ImportArn"]
        ended = described("DescribeImport", "ImportTableDescription", "ImportStatus", ImportArn=arn)
        while ended(client) is None:
            time.sleep(0.01)
        specification = {"PointInTimeRecoveryEnabled": True}
        client.call("UpdateContinuousBackups", TableName="abc", PointInTimeRecoverySpecification=specification)

    def begin(client: Client) -> str:
        arn = client.call("DescribeTable", TableName="abc")["Table"]["TableArn"]
        started = client.call("ExportTableToPointInTime", TableArn=arn, S3Bucket="bucket")
        return str(started["ExportDescription"]["ExportArn"])

    def change(client: Client) -> None:
        for number in range(0, OBJECTS * RECORDS, 4000):
            client.call("PutItem", TableName="abc", Item=item(number) | {"late": {"BOOL": True}})
            client.call("DeleteItem", TableName="abc", Key={"p": {"S": f"{number + 1:06}"}})
            client.call("PutItem", TableName="abc", Item={"p": {"S": f"late {number}"}})

    lives.run(fill)
    begun: list[str] = []

    def begin_and_change(client: Client) -> None:
        begun.append(begin(client))
        change(client)

    def ended(client: Client) -> dict[str, Any] | None:
        description: dict[str, Any] = client.call("DescribeExport", ExportArn=begun[0])["ExportDescription"]
        return None if description["ExportStatus"] == "IN_PROGRESS" else description

    description = lives.until(ended, begin_and_change, 0.08)
    print(f"{lives.kills} kills")
    assert description["ExportStatus"] == "COMPLETED"
    summary = orjson.loads((lives.bucket / description["ExportManifest"]).read_bytes())
    rows = (lives.bucket / summary["manifestFilesS3Key"]).read_bytes().splitlines()
    found = [
        orjson.loads(line)["Item"]
        for row in map(orjson.loads, rows)
        for line in gzip.decompress((lives.bucket / row["dataFileS3Key"]).read_bytes()).splitlines()
    ]
    assert sorted(found, key=lambda each: each["p"]["S"]) == [item(number) for number in range(OBJECTS * RECORDS)]
    assert summary["itemCount"] == len(found)
    lives.check()
