"""Import a new table from a bucket, on any endpoint, Amazon's too.

The endpoint reads the files, not this command: the bucket is Amazon's, or what the server has for one (`--s3-folder`,
`--s3-endpoint`). The source is a prefix, or the manifest of a full export, as `dyno export` prints it.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from dynamometer.cli.clients import Progress, add_endpoint, connect, plain_errors, wait_until
from dynamometer.cli.export import bucket_and_key, json_option
from dynamometer.cli.failures import CommandError

FORMATS = {"json": "DYNAMODB_JSON", "ion": "ION", "csv": "CSV"}
MANIFEST = "manifest-summary.json"


def add_options(parser: argparse.ArgumentParser) -> None:
    """Where from, in which form, and what table to make."""
    parser.add_argument("source", metavar="s3://BUCKET/PREFIX", help="what the objects' keys begin with, or a manifest")
    parser.add_argument("table", metavar="TABLE", help="name of the table, which must not be there yet")
    parser.add_argument("--format", choices=FORMATS, default="json", help="of the objects (default: json)")
    parser.add_argument(
        "--compression", choices=("none", "gzip", "zstd"), help="of the objects (default: gzip for exports, else none)"
    )
    table = parser.add_argument_group("table", "how the table is made: give one of these")
    way = table.add_mutually_exclusive_group(required=True)
    way.add_argument("--key", action="append", metavar="NAME:TYPE", help="the partition key, then the sort key")
    way.add_argument("--like", metavar="TABLE", help="keys, indexes and capacity of a table on the same endpoint")
    way.add_argument("--definition", metavar="FILE", help="JSON: what TableCreationParameters has beside the name")
    csv = parser.add_argument_group("csv")
    csv.add_argument("--delimiter", metavar="CHARACTER", help="between columns (default: a comma)")
    csv.add_argument("--header", metavar="NAMES", help="names of the columns, with commas; the objects have no header")
    parser.add_argument("--bucket-owner", metavar="ACCOUNT", help="the account of a bucket that is not yours")
    parser.add_argument("--no-wait", action="store_true", help="print the import's ARN and don't wait for its end")
    add_endpoint(parser)


def run(arguments: argparse.Namespace) -> int:
    """Begin the import, and follow it to its end. Exit code 1 when records were left out."""
    request = _request(arguments)
    client = connect(arguments)
    with plain_errors(client):
        request["TableCreationParameters"] = {"TableName": arguments.table} | _definition(client, arguments)
        started = client.import_table(**request)["ImportTableDescription"]
        if arguments.no_wait:
            print(started["ImportArn"])
            return 0
        return _follow(client, arguments, started)


def _follow(client: Any, arguments: argparse.Namespace, started: dict[str, Any]) -> int:
    description = started

    def look() -> tuple[bool, str]:
        nonlocal description
        description = client.describe_import(ImportArn=started["ImportArn"])["ImportTableDescription"]
        status = description["ImportStatus"]
        items, size = description.get("ImportedItemCount", 0), description.get("ProcessedSizeBytes", 0)
        errors = f", {description['ErrorCount']:,} errors" if description.get("ErrorCount") else ""
        return (
            status not in ("IN_PROGRESS", "CANCELLING"),
            f"import of {arguments.table}: {items:,} items from {size:,} bytes{errors}, {status}",
        )

    wait_until(look, Progress(arguments.quiet))
    if description["ImportStatus"] == "COMPLETED":
        print(description["TableArn"])
        return 0
    if description.get("FailureCode") == "ItemValidationError":
        print(description["TableArn"])
        errors = description["ErrorCount"]
        print(f"records left out, because they are no items of this table: {errors:,}; the log has them")
        return 1
    raise CommandError(f"the import failed: {description.get('FailureCode')}: {description.get('FailureMessage')}")


def _request(arguments: argparse.Namespace) -> dict[str, Any]:
    bucket, prefix = bucket_and_key(arguments.source)
    compression = arguments.compression or "none"
    if prefix.endswith(MANIFEST):
        prefix = prefix.removesuffix(MANIFEST) + "data/"
        compression = arguments.compression or "gzip"
    source = {"S3Bucket": bucket} | ({"S3KeyPrefix": prefix} if prefix else {})
    if arguments.bucket_owner:
        source["S3BucketOwner"] = arguments.bucket_owner
    request: dict[str, Any] = {
        "S3BucketSource": source,
        "InputFormat": FORMATS[arguments.format],
        "InputCompressionType": compression.upper(),
    }
    options: dict[str, Any] = {}
    if arguments.delimiter:
        options["Delimiter"] = arguments.delimiter
    if arguments.header:
        options["HeaderList"] = arguments.header.split(",")
    if options:
        if arguments.format != "csv":
            raise CommandError("--delimiter and --header are for --format csv")
        request["InputFormatOptions"] = {"Csv": options}
    return request


def _definition(client: Any, arguments: argparse.Namespace) -> dict[str, Any]:
    """What the table is made with, beside its name."""
    if arguments.definition is not None:
        try:
            text = Path(arguments.definition).read_text(encoding="utf-8")
        except OSError as error:
            raise CommandError(f"{arguments.definition} can't be read: {error.strerror}") from None
        definition = json_option(f"--definition {arguments.definition}", text)
        if not isinstance(definition, dict):
            raise CommandError(f"{arguments.definition} holds no JSON object")
        return {name: value for name, value in definition.items() if name != "TableName"}
    if arguments.like is not None:
        return _like(client.describe_table(TableName=arguments.like)["Table"])
    return _keyed(arguments.key)


def _keyed(keys: list[str]) -> dict[str, Any]:
    if len(keys) > 2:
        raise CommandError("--key is given once for the partition key, and once more for the sort key")
    definitions, schema = [], []
    for text, role in zip(keys, ("HASH", "RANGE"), strict=False):
        name, _, kind = text.rpartition(":")
        if not name or kind not in ("S", "N", "B"):
            raise CommandError(f"--key {text}: write NAME:S, NAME:N or NAME:B")
        definitions.append({"AttributeName": name, "AttributeType": kind})
        schema.append({"AttributeName": name, "KeyType": role})
    return {"AttributeDefinitions": definitions, "KeySchema": schema, "BillingMode": "PAY_PER_REQUEST"}


def _like(table: dict[str, Any]) -> dict[str, Any]:
    """A definition after a table's description. Imports make no local indexes."""
    mode = table.get("BillingModeSummary", {}).get("BillingMode", "PROVISIONED")
    definition: dict[str, Any] = {"KeySchema": table["KeySchema"], "BillingMode": mode}
    used = {each["AttributeName"] for each in table["KeySchema"]}
    if mode == "PROVISIONED":
        definition["ProvisionedThroughput"] = _units(table)
    indexes = []
    for each in table.get("GlobalSecondaryIndexes", ()):
        index = {name: each[name] for name in ("IndexName", "KeySchema", "Projection")}
        if mode == "PROVISIONED":
            index["ProvisionedThroughput"] = _units(each)
        used |= {key["AttributeName"] for key in each["KeySchema"]}
        indexes.append(index)
    if indexes:
        definition["GlobalSecondaryIndexes"] = indexes
    definition["AttributeDefinitions"] = [
        each for each in table["AttributeDefinitions"] if each["AttributeName"] in used
    ]
    return definition


def _units(described: dict[str, Any]) -> dict[str, int]:
    units = described["ProvisionedThroughput"]
    return {name: units[name] for name in ("ReadCapacityUnits", "WriteCapacityUnits")}
