"""Tables, and buckets in a folder beside them, for the tests of exports, imports and bulk puts."""

from __future__ import annotations

import base64
import gzip
import hashlib
from pathlib import Path
from typing import Any

import orjson

from dynamometer.storage.memory import MemoryStore
from dynamometer.storage.rocksdb import RocksStore
from tests.unit.engine.past import Items, Past, item, name_of
from tests.unit.engine.tables import ACCOUNT, REGION, Body, index, key, types

BUCKET = "bucket"


class Buckets(Past):
    """An engine whose only bucket is an empty folder."""

    def __init__(self, folder: Path, on_disk: bool, **settings: Any) -> None:
        self.folder = folder
        self.bucket = folder / BUCKET
        self.bucket.mkdir(parents=True)
        data = folder.parent / "data"

        def reopen(store: Any) -> Any:
            return RocksStore(data, durability="os") if on_disk else store

        super().__init__(reopen(MemoryStore()), reopen, s3_folder=str(folder), **settings)

    def write(self, name: str, data: bytes | str) -> None:
        """An object."""
        path = self.bucket / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data if isinstance(data, bytes) else data.encode())

    def step(self, steps: int) -> None:
        """Let jobs do a few pieces."""
        for _ in range(steps):
            self.engine.run_jobs()

    def remove(self, number: int) -> None:
        """Delete the item of a number."""
        self.call("DeleteItem", TableName="abc", Key={name: item(number)[name] for name in ("p", "s")})

    def arn(self, name: str = "abc") -> str:
        return f"arn:aws:dynamodb:{REGION}:{ACCOUNT}:table/{name}"

    # Exports.

    def start_export(self, **body: Any) -> str:
        request = {"TableArn": self.arn(), "S3Bucket": BUCKET} | body
        arn: str = self.call("ExportTableToPointInTime", **request)["ExportDescription"]["ExportArn"]
        return arn

    def export(self, **body: Any) -> Body:
        """The description of an export that has ended."""
        arn = self.start_export(**body)
        self.finish()
        return self.exported(arn)

    def exported(self, arn: str) -> Body:
        description: Body = self.call("DescribeExport", ExportArn=arn)["ExportDescription"]
        return description

    def lines(self, description: Body) -> list[bytes]:
        """All lines of an export's files, which agree with its manifests."""
        assert description["ExportStatus"] == "COMPLETED", description
        summary = self.manifest(description["ExportManifest"])
        rows = [orjson.loads(row) for row in self.checked_object(summary["manifestFilesS3Key"]).splitlines()]
        lines: list[bytes] = []
        for row in rows:
            packed = (self.bucket / row["dataFileS3Key"]).read_bytes()
            assert row["md5Checksum"] == md5(packed)
            found = gzip.decompress(packed).splitlines()
            assert row["itemCount"] == len(found)
            lines += found
        assert summary["itemCount"] == description["ItemCount"] == len(lines)
        assert summary["billedSizeBytes"] == description["BilledSizeBytes"]
        return lines

    def records(self, description: Body) -> list[Body]:
        return [orjson.loads(line) for line in self.lines(description)]

    def exported_items(self, description: Body) -> Items:
        """The items of a full export, by their keys."""
        records = self.records(description)
        found = {f"{each['Item']['p']['S']}/{each['Item']['s']['N']}": each["Item"] for each in records}
        assert len(found) == len(records), "an item is there twice"
        return found

    def manifest(self, name: str) -> Body:
        manifest: Body = orjson.loads(self.checked_object(name))
        return manifest

    def checked_object(self, name: str) -> bytes:
        """An object that has its checksum beside it."""
        data = (self.bucket / name).read_bytes()
        assert (self.bucket / name).with_suffix(".md5").read_text() == md5(data)
        return data

    # Imports and bulk puts.

    def start_import(self, prefix: str, form: str = "DYNAMODB_JSON", name: str = "imported", **body: Any) -> str:
        request = {
            "S3BucketSource": {"S3Bucket": BUCKET, "S3KeyPrefix": prefix},
            "InputFormat": form,
            "TableCreationParameters": {
                "TableName": name,
                "KeySchema": key("p", "s"),
                "AttributeDefinitions": types(p="S", s="N", g="S"),
                "GlobalSecondaryIndexes": [index("global", "g")],
                "BillingMode": "PAY_PER_REQUEST",
            },
        }
        arn: str = self.call("ImportTable", **request | body)["ImportTableDescription"]["ImportArn"]
        return arn

    def import_(self, prefix: str, form: str = "DYNAMODB_JSON", **body: Any) -> Body:
        """The description of an import that has ended."""
        arn = self.start_import(prefix, form, **body)
        self.finish()
        return self.imported(arn)

    def imported(self, arn: str) -> Body:
        description: Body = self.call("DescribeImport", ImportArn=arn)["ImportTableDescription"]
        return description

    def start_bulk(self, prefix: str, form: str = "DYNAMODB_JSON", **body: Any) -> str:
        request = {
            "TableName": "abc",
            "InputS3Configuration": {"S3Bucket": BUCKET, "S3KeyPrefix": prefix, "InputFormat": form},
            "OutputS3Configuration": {
                "S3Bucket": BUCKET,
                "S3KeyPrefix": "out",
                "OutputType": ["ERROR", "CONDITION_CHECK_FAILURE"],
            },
        }
        arn: str = self.call("StartBulkPutItems", **request | body)["BulkOperationDescription"]["BulkOperationArn"]
        return arn

    def bulk(self, prefix: str, form: str = "DYNAMODB_JSON", **body: Any) -> Body:
        """The description of a bulk put that has ended."""
        arn = self.start_bulk(prefix, form, **body)
        self.finish()
        return self.bulk_put(arn)

    def bulk_put(self, arn: str) -> Body:
        description: Body = self.call("DescribeBulkOperation", BulkOperationArn=arn)["BulkOperationDescription"]
        return description

    def output(self, description: Body, kind: str) -> list[Body]:
        label = description["BulkOperationArn"].rpartition("/")[2]
        path = self.bucket / "out" / "AWSDynamoDB" / label / kind / "data.jsonl"
        return [orjson.loads(line) for line in path.read_bytes().splitlines()] if path.exists() else []


def md5(data: bytes) -> str:
    return base64.b64encode(hashlib.md5(data).digest()).decode()


def jsonl(*records: Body) -> bytes:
    """Records as JSON Lines."""
    return b"".join(orjson.dumps(record) + b"\n" for record in records)


def numbered(start: int, end: int) -> bytes:
    """The items of some numbers, as JSON Lines."""
    return jsonl(*({"Item": item(number)} for number in range(start, end)))


def items_of(start: int, end: int) -> Items:
    """The same, as `Past.items` has them."""
    return {name_of(number): item(number) for number in range(start, end)}
