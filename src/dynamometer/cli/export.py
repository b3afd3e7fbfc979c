"""Export a table to a bucket, on any endpoint, Amazon's too. Prints where the manifest is, which `dyno import` takes.

The endpoint writes the files, not this command: the bucket is Amazon's, or what the server has for one (`--s3-folder`,
`--s3-endpoint`). The table's point-in-time recovery has to be on.
"""

from __future__ import annotations

import argparse
import json
from typing import Any

from dynamometer.cli.clients import Progress, add_endpoint, connect, plain_errors, wait_until
from dynamometer.cli.failures import CommandError
from dynamometer.cli.restore import moment

FORMATS = {"json": "DYNAMODB_JSON", "ion": "ION"}


def add_options(parser: argparse.ArgumentParser) -> None:
    """What to export, of when, and where to."""
    parser.add_argument("table", metavar="TABLE", help="name or ARN of the table")
    parser.add_argument("target", metavar="s3://BUCKET[/PREFIX]", help="where the files go")
    parser.add_argument("--format", choices=FORMATS, default="json", help="of the files (default: json)")
    when = parser.add_argument_group("when", "times are ISO 8601 (2026-11-30T12:00:00Z) or seconds since the epoch")
    when.add_argument("--at", metavar="TIME", help="the table as it was then (default: as it is now)")
    when.add_argument("--since", metavar="TIME", help="only what has changed since then: 15 minutes to 24 hours")
    when.add_argument("--until", metavar="TIME", help="and before then (default: now)")
    when.add_argument("--new-only", action="store_true", help="changes without the old items")
    what = parser.add_argument_group("what")
    what.add_argument("--key", metavar="EXPRESSION", help="key condition: one partition key, and maybe sort keys")
    what.add_argument("--filter", metavar="EXPRESSION", help="filter expression")
    what.add_argument("--project", metavar="EXPRESSION", help="projection expression")
    what.add_argument("--names", metavar="JSON", help='names in the expressions: {"#n": "name"}')
    what.add_argument("--values", metavar="JSON", help='values in the expressions: {":v": {"S": "text"}}')
    parser.add_argument("--bucket-owner", metavar="ACCOUNT", help="the account of a bucket that is not the table's")
    parser.add_argument("--kms-key", metavar="KEY", help="encrypt the files with this KMS key")
    parser.add_argument(
        "--enable-recovery", action="store_true", help="turn point-in-time recovery on first (Amazon charges for it)"
    )
    parser.add_argument("--no-wait", action="store_true", help="print the export's ARN and don't wait for its end")
    add_endpoint(parser)


def run(arguments: argparse.Namespace) -> int:
    """Begin the export, and follow it to its end."""
    request = _request(arguments)
    client = connect(arguments)
    with plain_errors(client):
        arn = arguments.table
        if not arn.startswith("arn:"):
            arn = client.describe_table(TableName=arn)["Table"]["TableArn"]
        if arguments.enable_recovery:
            client.update_continuous_backups(
                TableName=arn, PointInTimeRecoverySpecification={"PointInTimeRecoveryEnabled": True}
            )
        try:
            started = client.export_table_to_point_in_time(TableArn=arn, **request)["ExportDescription"]
        except client.exceptions.PointInTimeRecoveryUnavailableException:
            raise CommandError(
                f"point-in-time recovery is off for {arguments.table}, and exports need it: "
                "--enable-recovery turns it on"
            ) from None
        if arguments.no_wait:
            print(started["ExportArn"])
            return 0
        return _follow(client, arguments, started)


def _follow(client: Any, arguments: argparse.Namespace, started: dict[str, Any]) -> int:
    description = started

    def look() -> tuple[bool, str]:
        nonlocal description
        description = client.describe_export(ExportArn=started["ExportArn"])["ExportDescription"]
        status, items = description["ExportStatus"], description.get("ItemCount", 0)
        return status != "IN_PROGRESS", f"export of {arguments.table}: {items:,} items, {status}"

    wait_until(look, Progress(arguments.quiet))
    if description["ExportStatus"] != "COMPLETED":
        raise CommandError(f"the export failed: {description.get('FailureCode')}: {description.get('FailureMessage')}")
    print(f"s3://{description['S3Bucket']}/{description['ExportManifest']}")
    return 0


def _request(arguments: argparse.Namespace) -> dict[str, Any]:
    bucket, prefix = bucket_and_key(arguments.target)
    request: dict[str, Any] = {"S3Bucket": bucket, "ExportFormat": FORMATS[arguments.format]}
    if prefix:
        request["S3Prefix"] = prefix
    if arguments.bucket_owner:
        request["S3BucketOwner"] = arguments.bucket_owner
    if arguments.kms_key:
        request |= {"S3SseAlgorithm": "KMS", "S3SseKmsKeyId": arguments.kms_key}
    if arguments.since is not None:
        if arguments.at is not None:
            raise CommandError("--at is for whole tables, --since for changes: give one of them")
        window = {
            "ExportFromTime": moment(arguments.since, "--since"),
            "ExportViewType": "NEW_IMAGE" if arguments.new_only else "NEW_AND_OLD_IMAGES",
        }
        if arguments.until is not None:
            window["ExportToTime"] = moment(arguments.until, "--until")
        request |= {"ExportType": "INCREMENTAL_EXPORT", "IncrementalExportSpecification": window}
    elif arguments.until is not None or arguments.new_only:
        raise CommandError("--until and --new-only are for changes: give --since too")
    if arguments.at is not None:
        request["ExportTime"] = moment(arguments.at, "--at")
    selection = _selection(arguments)
    return request | ({"FilterSpecification": selection} if selection else {})


def _selection(arguments: argparse.Namespace) -> dict[str, Any]:
    given = {
        "KeyConditionExpression": arguments.key,
        "FilterExpression": arguments.filter,
        "ProjectionExpression": arguments.project,
        "ExpressionAttributeNames": json_option("--names", arguments.names),
        "ExpressionAttributeValues": json_option("--values", arguments.values),
    }
    return {name: value for name, value in given.items() if value is not None}


def bucket_and_key(url: str) -> tuple[str, str]:
    """Bucket and key from an s3:// URL. Raises CommandError."""
    bucket, _, key = url.removeprefix("s3://").partition("/")
    if not url.startswith("s3://") or not bucket:
        raise CommandError(f"{url} is not a place in a bucket: write s3://BUCKET/PREFIX")
    return bucket, key


def json_option(option: str, text: str | None) -> Any:
    """The JSON that an option holds; None if it was not given. Raises CommandError."""
    if text is None:
        return None
    try:
        return json.loads(text)
    except ValueError as error:
        raise CommandError(f"{option} is not JSON: {error}") from None
