"""Items a second through exports, imports and bulk puts, on the embedded store and with a folder for the bucket.

    python bench/bulk.py [--items 200000] [--memory]

Items are small: two keys, a number, two texts, about 100 bytes as the service counts them. Every job runs alone and at
full speed, as when a server has nothing else to do. The most memory that the process took is printed last: it must not
grow with --items (the embedded store's own buffers are some 100 MiB).
"""

from __future__ import annotations

import argparse
import resource
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

import orjson
import run

import dynamometer

AIM = 50_000
"""Items a second, of JSON."""
DEFINITION = {
    "KeySchema": [{"AttributeName": "p", "KeyType": "HASH"}, {"AttributeName": "s", "KeyType": "RANGE"}],
    "AttributeDefinitions": [{"AttributeName": name, "AttributeType": "S"} for name in "ps"],
    "BillingMode": "PAY_PER_REQUEST",
}


def main() -> None:
    """Write a file, then take it through everything."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--items", type=int, default=200_000)
    parser.add_argument("--memory", action="store_true", help="on the store in memory")
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="dyno-bulk-"))
    try:
        rows = list(_measure(folder, options.items, options.memory))
    finally:
        shutil.rmtree(folder)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(f"most memory: {memory} MiB")
    run.save("bulk", {"options": vars(options), "rows": rows, "memory_mib": memory})


def _measure(folder: Path, items: int, memory: bool) -> Iterator[dict[str, Any]]:
    bucket = folder / "s3" / "bucket"
    bucket.mkdir(parents=True)
    with (bucket / "items.json").open("wb") as file:
        for number in range(items):
            file.write(orjson.dumps({"Item": _item(number)}) + b"\n")
    with dynamometer.local(None if memory else folder / "data", s3_folder=str(folder / "s3")) as db:
        client = db.client("dynamodb")
        bench = Bench(db, client, items)
        yield bench.import_("first", "items.json", "DYNAMODB_JSON", "NONE")
        client.create_table(TableName="put", **DEFINITION)
        yield bench.put("put", "items.json", "bulk put")
        yield bench.put("put", "items.json", "bulk put, all unchanged")
        client.update_continuous_backups(
            TableName="first", PointInTimeRecoverySpecification={"PointInTimeRecoveryEnabled": True}
        )
        for form in ("DYNAMODB_JSON", "ION"):
            row, manifest = bench.export("first", form)
            yield row
            yield bench.import_(form, f"{manifest.rpartition('/')[0]}/data/", form, "GZIP")
            client.delete_table(TableName=form)


class Bench:
    """One kind of job after another."""

    def __init__(self, db: Any, client: Any, items: int) -> None:
        self._db = db
        self._client = client
        self._items = items

    def _run(self, name: str) -> dict[str, Any]:
        started = time.perf_counter()
        self._db.catch_up()
        rate = round(self._items / (time.perf_counter() - started))
        print(f"{name:36} {rate:>9,} items/s  {rate / AIM:5.1f} of the aim", flush=True)
        return {"job": name, "items_per_second": rate}

    def import_(self, table: str, prefix: str, form: str, compression: str) -> dict[str, Any]:
        self._client.import_table(
            S3BucketSource={"S3Bucket": "bucket", "S3KeyPrefix": prefix},
            InputFormat=form,
            InputCompressionType=compression,
            TableCreationParameters={"TableName": table} | DEFINITION,
        )
        row = self._run(f"import {form} {compression}")
        assert self._client.describe_table(TableName=table)["Table"]["ItemCount"] == self._items
        return row

    def put(self, table: str, prefix: str, name: str) -> dict[str, Any]:
        self._client.start_bulk_put_items(
            TableName=table,
            InputS3Configuration={"S3Bucket": "bucket", "S3KeyPrefix": prefix, "InputFormat": "DYNAMODB_JSON"},
            OutputS3Configuration={"S3Bucket": "bucket", "OutputType": ["ERROR"]},
        )
        return self._run(name)

    def export(self, table: str, form: str) -> tuple[dict[str, Any], str]:
        arn = self._client.describe_table(TableName=table)["Table"]["TableArn"]
        started = self._client.export_table_to_point_in_time(TableArn=arn, S3Bucket="bucket", ExportFormat=form)
        row = self._run(f"export {form}")
        arn = started["ExportDescription"]["ExportArn"]
        description = self._client.describe_export(ExportArn=arn)["ExportDescription"]
        assert description["ItemCount"] == self._items
        return row, description["ExportManifest"]


def _item(number: int) -> dict[str, Any]:
    return {
        "p": {"S": f"customer#{number % 5000}"},
        "s": {"S": f"order#{number:08}"},
        "total": {"N": str(number * 7 % 100_000)},
        "state": {"S": "shipped"},
        "note": {"S": "left at the door, " * 2},
    }


if __name__ == "__main__":
    main()
