"""Restore a backup, or a table as it was at a past second, into a new table; on any endpoint, Amazon's too."""

from __future__ import annotations

import argparse
from datetime import UTC, datetime
from typing import Any

from dynamometer.cli.clients import Progress, add_endpoint, connect, plain_errors, wait_until
from dynamometer.cli.failures import CommandError


def add_options(parser: argparse.ArgumentParser) -> None:
    """The new table, and what to fill it with."""
    parser.add_argument("target", metavar="TABLE", help="name of the new table")
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--backup", metavar="ARN", help="the backup to restore")
    source.add_argument("--past-of", metavar="TABLE", help="name or ARN of the table whose past to restore")
    parser.add_argument(
        "--at",
        metavar="TIME",
        help="with --past-of: which second, as 2026-11-29T14:00:00 (UTC, unless it names a zone) or in seconds since "
        "the epoch (default: the latest possible)",
    )
    parser.add_argument(
        "--billing-mode", choices=("PAY_PER_REQUEST", "PROVISIONED"), help="of the new table, if not the source's"
    )
    parser.add_argument("--read-units", type=int, metavar="N", help="provisioned read capacity of the new table")
    parser.add_argument("--write-units", type=int, metavar="N", help="provisioned write capacity of the new table")
    parser.add_argument("--without-indexes", action="store_true", help="leave out all secondary indexes")
    parser.add_argument("--no-wait", action="store_true", help="don't wait until the table can be used")
    add_endpoint(parser)


def run(arguments: argparse.Namespace) -> int:
    """Restore, wait, and say what the table has."""
    request = _request(arguments)
    client = connect(arguments)
    with plain_errors(client):
        if arguments.backup:
            client.restore_table_from_backup(**request)
        else:
            client.restore_table_to_point_in_time(**request)
        if arguments.no_wait:
            print(arguments.target)
            return 0

        def look() -> tuple[bool, str]:
            table = client.describe_table(TableName=arguments.target)["Table"]
            is_running = table.get("RestoreSummary", {}).get("RestoreInProgress", False)
            text = f"restoring {arguments.target}: {table['ItemCount']:,} items, {table['TableStatus']}"
            return table["TableStatus"] == "ACTIVE" and not is_running, text

        wait_until(look, Progress(arguments.quiet))
    print(arguments.target)
    return 0


def _request(arguments: argparse.Namespace) -> dict[str, Any]:
    request: dict[str, Any] = {"TargetTableName": arguments.target}
    if arguments.backup:
        if arguments.at:
            raise CommandError("--at goes with --past-of: a backup has one moment")
        request["BackupArn"] = arguments.backup
    else:
        is_arn = arguments.past_of.startswith("arn:")
        request["SourceTableArn" if is_arn else "SourceTableName"] = arguments.past_of
        if arguments.at:
            request["RestoreDateTime"] = moment(arguments.at)
        else:
            request["UseLatestRestorableTime"] = True
    if arguments.billing_mode:
        request["BillingModeOverride"] = arguments.billing_mode
    if arguments.read_units or arguments.write_units:
        if not (arguments.read_units and arguments.write_units):
            raise CommandError("give both --read-units and --write-units")
        request["ProvisionedThroughputOverride"] = {
            "ReadCapacityUnits": arguments.read_units,
            "WriteCapacityUnits": arguments.write_units,
        }
    if arguments.without_indexes:
        request |= {"GlobalSecondaryIndexOverride": [], "LocalSecondaryIndexOverride": []}
    return request


def moment(text: str, option: str = "--at") -> datetime:
    """A time from its text. Raises CommandError."""
    try:
        if text.replace(".", "", 1).isdigit():
            return datetime.fromtimestamp(float(text), UTC)
        parsed = datetime.fromisoformat(text)
    except (ValueError, OverflowError, OSError):
        raise CommandError(
            f"{option} is {text!r}, but must be a time such as 2026-11-29T14:00:00, or seconds since the epoch"
        ) from None
    return parsed if parsed.tzinfo is not None else parsed.replace(tzinfo=UTC)
