"""Buckets of an S3-compatible endpoint: moto's server on this machine."""

from __future__ import annotations

import gzip
import hashlib
import logging
import random
from collections.abc import Callable, Iterator
from typing import Any

import boto3
import orjson
import pytest
from moto.server import ThreadedMotoServer

import dynamometer
from dynamometer.base.config import Settings, SettingsError
from dynamometer.engine.objects import Encryption, FolderObjects, ObjectsError, put
from dynamometer.objects import open_objects
from dynamometer.objects import s3 as s3_module
from dynamometer.objects.s3 import PART_BYTES, PIECE_BYTES, S3Objects

PLAIN = Encryption()
KEYS = {"aws_access_key_id": "local", "aws_secret_access_key": "local", "region_name": "us-east-1"}


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer(port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture
def s3(endpoint: str) -> Any:
    """A client of an endpoint that has one empty bucket."""
    client = boto3.client("s3", endpoint_url=endpoint, **KEYS)
    client.create_bucket(Bucket="bucket")
    for each in client.list_objects_v2(Bucket="bucket").get("Contents", ()):
        client.delete_object(Bucket="bucket", Key=each["Key"])
    return client


@pytest.fixture
def store(endpoint: str, s3: Any) -> S3Objects:
    return S3Objects(endpoint)


def read(store: S3Objects, key: str) -> bytes:
    (listed,) = store.list("bucket", key)
    source = store.open("bucket", listed)
    data = b""
    while piece := source.read():
        data += piece
    assert source.is_ready
    source.close()
    return data


@pytest.mark.parametrize("size", [0, 1, PIECE_BYTES, PART_BYTES, PART_BYTES * 2 + 12345])
def test_objects_come_back(store: S3Objects, s3: Any, size: int) -> None:
    data = random.Random(size).randbytes(size)
    sink = store.create("bucket", "a/b", PLAIN)
    for start in range(0, size, 1_000_000):
        sink.write(data[start : start + 1_000_000])
    etag = sink.finish()
    sink.abort()  # after the end, nothing
    assert s3.head_object(Bucket="bucket", Key="a/b")["ETag"] == f'"{etag}"'
    if size < PART_BYTES:
        assert etag == hashlib.md5(data).hexdigest()
    assert read(store, "a/b") == data


def test_nothing_is_left_of_an_upload_that_was_given_up(store: S3Objects, s3: Any) -> None:
    sink = store.create("bucket", "never", PLAIN)
    sink.write(b"x" * (PART_BYTES * 2))
    sink.abort()
    assert list(store.list("bucket", "")) == []
    assert "Uploads" not in s3.list_multipart_uploads(Bucket="bucket")


def test_lists_have_more_than_one_page(store: S3Objects, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(s3_module, "LISTED_AT_ONCE", 10)
    names = [f"many/{number:02}" for number in range(25)]
    for name in names:
        put(store, "bucket", name, b"", PLAIN)
    assert [each.key for each in store.list("bucket", "many/")] == names


def test_encryption_is_asked_for(store: S3Objects, s3: Any) -> None:
    put(store, "bucket", "aes", b"", Encryption("AES256"))
    put(store, "bucket", "kms", b"", Encryption("KMS", "arn:aws:kms:us-east-1:123456789012:key/1"))
    assert s3.head_object(Bucket="bucket", Key="aes")["ServerSideEncryption"] == "AES256"
    head = s3.head_object(Bucket="bucket", Key="kms")
    assert head["ServerSideEncryption"] == "aws:kms"
    assert head["SSEKMSKeyId"] == "arn:aws:kms:us-east-1:123456789012:key/1"


def test_an_overwritten_object_is_noticed(store: S3Objects) -> None:
    put(store, "bucket", "a", b"one", PLAIN)
    (listed,) = store.list("bucket", "a")
    put(store, "bucket", "a", b"two", PLAIN)
    with pytest.raises(ObjectsError) as overwritten:
        store.open("bucket", listed).read()
    assert overwritten.value.code == "ObjectModifiedInS3DuringImport"


@pytest.mark.parametrize(
    "use",
    [
        lambda store: list(store.list("nowhere", "")),
        lambda store: put(store, "nowhere", "a", b"", PLAIN),
        lambda store: put(store, "nowhere", "a", b"x" * PART_BYTES, PLAIN),
    ],
)
def test_a_missing_bucket(store: S3Objects, use: Callable[[S3Objects], Any]) -> None:
    with pytest.raises(ObjectsError) as missing:
        use(store)
    assert missing.value.code == "S3NoSuchBucket"


def test_an_endpoint_that_does_not_answer() -> None:
    with pytest.raises(ObjectsError, match=r"The S3 endpoint http://127\.0\.0\.1:1 can't be used"):
        list(S3Objects("http://127.0.0.1:1").list("bucket", ""))


def test_settings_choose_the_place(endpoint: str, tmp_path: Any) -> None:
    assert open_objects(Settings()) is None
    assert isinstance(open_objects(Settings(s3_folder=str(tmp_path))), FolderObjects)
    with pytest.raises(SettingsError, match="not a folder: make it"):
        open_objects(Settings(s3_folder=str(tmp_path / "missing")))
    assert isinstance(open_objects(Settings(s3_endpoint=endpoint)), S3Objects)


def test_a_table_goes_there_and_comes_back(endpoint: str, s3: Any) -> None:
    with dynamometer.local(s3_endpoint=endpoint) as db:
        client = db.client("dynamodb")
        definition = {
            "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
            "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
            "BillingMode": "PAY_PER_REQUEST",
        }
        arn = client.create_table(TableName="here", **definition)["TableDescription"]["TableArn"]
        client.update_continuous_backups(
            TableName="here", PointInTimeRecoverySpecification={"PointInTimeRecoveryEnabled": True}
        )
        for number in range(100):
            client.put_item(TableName="here", Item={"pk": {"S": str(number)}, "text": {"S": "x" * number}})
        started = client.export_table_to_point_in_time(TableArn=arn, S3Bucket="bucket", S3Prefix="x")
        db.catch_up()
        done = client.describe_export(ExportArn=started["ExportDescription"]["ExportArn"])["ExportDescription"]
        summary = orjson.loads(s3.get_object(Bucket="bucket", Key=done["ExportManifest"])["Body"].read())
        rows = s3.get_object(Bucket="bucket", Key=summary["manifestFilesS3Key"])["Body"].read().splitlines()
        for row in map(orjson.loads, rows):
            answer = s3.get_object(Bucket="bucket", Key=row["dataFileS3Key"])
            assert answer["ETag"] == f'"{row["etag"]}"'
            assert len(gzip.decompress(answer["Body"].read()).splitlines()) == row["itemCount"]
        prefix = done["ExportManifest"].removesuffix("manifest-summary.json") + "data/"
        client.import_table(
            S3BucketSource={"S3Bucket": "bucket", "S3KeyPrefix": prefix},
            InputFormat="DYNAMODB_JSON",
            InputCompressionType="GZIP",
            TableCreationParameters={"TableName": "back"} | definition,
        )
        db.catch_up()
        here, back = (client.scan(TableName=name)["Items"] for name in ("here", "back"))
        assert len(here) == 100 and here == back
