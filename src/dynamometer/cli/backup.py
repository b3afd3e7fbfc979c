"""Back up a table, or list and delete backups; on any endpoint, Amazon's too. Prints the backup's ARN."""

from __future__ import annotations

import argparse
import re
from datetime import UTC, datetime
from typing import Any

from dynamometer.base.clock import SystemClock
from dynamometer.cli.clients import Progress, add_endpoint, connect, plain_errors, wait_until
from dynamometer.cli.failures import CommandError


def add_options(parser: argparse.ArgumentParser) -> None:
    """The table, or what else to do."""
    parser.add_argument("table", nargs="?", metavar="TABLE", help="name or ARN of the table")
    parser.add_argument("--name", metavar="NAME", help="name of the backup (default: the table's name and the time)")
    parser.add_argument("--no-wait", action="store_true", help="don't wait until the backup can be restored")
    action = parser.add_mutually_exclusive_group()
    action.add_argument("--list", action="store_true", help="list backups, those of TABLE if it is given")
    action.add_argument("--delete", metavar="ARN", help="delete a backup")
    add_endpoint(parser)


def run(arguments: argparse.Namespace) -> int:
    """Do what the options ask for."""
    client = connect(arguments)
    with plain_errors(client):
        if arguments.list:
            return _list(client, arguments.table)
        if arguments.delete:
            client.delete_backup(BackupArn=arguments.delete)
            print(f"deleted {arguments.delete}")
            return 0
        if arguments.table is None:
            raise CommandError("which table? Give its name: dyno backup TABLE")
        return _create(client, arguments)


def _create(client: Any, arguments: argparse.Namespace) -> int:
    table = arguments.table
    name = arguments.name or _name(table)
    arn = client.create_backup(TableName=table, BackupName=name)["BackupDetails"]["BackupArn"]
    if not arguments.no_wait:

        def look() -> tuple[bool, str]:
            details = client.describe_backup(BackupArn=arn)["BackupDescription"]["BackupDetails"]
            status = details["BackupStatus"]
            return status != "CREATING", f"backup of {table}: {details['BackupSizeBytes']:,} bytes, {status}"

        wait_until(look, Progress(arguments.quiet))
    print(arn)
    return 0


def _name(table: str) -> str:
    """A name for a backup: at most 255 of the characters that it may have."""
    moment = datetime.fromtimestamp(SystemClock().now(), UTC).strftime("%Y%m%dT%H%M%SZ")
    return f"{re.sub(r'[^a-zA-Z0-9_.-]', '-', table.rpartition('/')[2])[:200]}-{moment}"


def _list(client: Any, table: str | None) -> int:
    """One line a backup: when, type, status, size, name, ARN."""
    request: dict[str, Any] = {"BackupType": "ALL"} | ({} if table is None else {"TableName": table})
    while True:
        answer = client.list_backups(**request)
        for each in answer["BackupSummaries"]:
            when = each["BackupCreationDateTime"].astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
            print(
                f"{when}  {each['BackupType']:<10}  {each['BackupStatus']:<9}  {each.get('BackupSizeBytes', 0):>15,}  "
                f"{each['BackupName']}  {each['BackupArn']}"
            )
        if not answer.get("LastEvaluatedBackupArn"):
            return 0
        request["ExclusiveStartBackupArn"] = answer["LastEvaluatedBackupArn"]
