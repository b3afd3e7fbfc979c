"""`dyno backup` and `dyno restore`, on an engine that stands for the service."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from dynamometer.cli import EXIT_ERROR, EXIT_OK, clients, main
from dynamometer.cli.failures import CommandError
from dynamometer.cli.restore import moment
from dynamometer.inprocess import local

ITEMS = 450
Captured = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of this machine's AWS configuration."""
    for name in ("AWS_PROFILE", "AWS_REGION", "AWS_DEFAULT_REGION", "AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_DYNAMODB"):
        monkeypatch.delenv(name, raising=False)
    for name in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
        monkeypatch.setenv(name, str(tmp_path / "none"))
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "local")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "local")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setattr(clients, "POLL_SECONDS_MAX", 0.01)
    monkeypatch.setattr(clients, "POLL_SECONDS_MIN", 0.001)


@pytest.fixture
def client(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A client of the engine, which has a table with items, an index and a past."""
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    with local(recovery_lag_seconds=0.0) as engine, engine.route_all():
        client = engine.client()
        client.create_table(
            TableName="orders",
            BillingMode="PAY_PER_REQUEST",
            KeySchema=[{"AttributeName": "p", "KeyType": "HASH"}],
            AttributeDefinitions=[{"AttributeName": name, "AttributeType": "S"} for name in "pg"],
            GlobalSecondaryIndexes=[
                {
                    "IndexName": "global",
                    "KeySchema": [{"AttributeName": "g", "KeyType": "HASH"}],
                    "Projection": {"ProjectionType": "ALL"},
                }
            ],
        )
        for number in range(ITEMS):
            client.put_item(TableName="orders", Item={"p": {"S": str(number)}, "g": {"S": "x"}})
        client.update_continuous_backups(
            TableName="orders", PointInTimeRecoverySpecification={"PointInTimeRecoveryEnabled": True}
        )
        yield client


def count(client: Any, table: str) -> int:
    return int(client.scan(TableName=table, Select="COUNT")["Count"])


def test_back_up_list_restore_and_delete(client: Any, capsys: Captured) -> None:
    assert main(["backup", "orders"]) == EXIT_OK
    out, err = capsys.readouterr()
    arn = out.strip()
    assert arn.startswith("arn:aws:dynamodb:us-east-1:")
    assert "backup of orders: " in err and err.endswith("AVAILABLE\n")
    assert main(["backup", "--list", "orders"]) == EXIT_OK
    line = capsys.readouterr().out
    assert re.fullmatch(rf"\S+Z  USER +AVAILABLE +[\d,]+  orders-\d+T\d+Z  {re.escape(arn)}\n", line)
    assert main(["restore", "copy", "--backup", arn]) == EXIT_OK
    out, err = capsys.readouterr()
    assert out == "copy\n"
    assert err.endswith(f"restoring copy: {ITEMS} items, ACTIVE\n")
    assert count(client, "copy") == ITEMS
    assert main(["backup", "--delete", arn]) == EXIT_OK
    assert capsys.readouterr().out == f"deleted {arn}\n"
    assert main(["backup", "--list"]) == EXIT_OK
    assert capsys.readouterr().out == ""


def test_restore_the_past_without_indexes(client: Any, capsys: Captured) -> None:
    assert main(["restore", "latest", "--past-of", "orders", "--without-indexes", "--quiet"]) == EXIT_OK
    assert capsys.readouterr() == ("latest\n", "")
    assert "GlobalSecondaryIndexes" not in client.describe_table(TableName="latest")["Table"]
    assert count(client, "latest") == ITEMS
    description = client.describe_continuous_backups(TableName="orders")["ContinuousBackupsDescription"]
    at = description["PointInTimeRecoveryDescription"]["EarliestRestorableDateTime"].astimezone(UTC)
    units = ["--billing-mode", "PROVISIONED", "--read-units", "3", "--write-units", "4", "--without-indexes"]
    arn = client.describe_table(TableName="orders")["Table"]["TableArn"]
    assert main(["restore", "earliest", "--past-of", arn, "--at", at.isoformat(), *units, "--no-wait"]) == EXIT_OK
    throughput = client.describe_table(TableName="earliest")["Table"]["ProvisionedThroughput"]
    assert (throughput["ReadCapacityUnits"], throughput["WriteCapacityUnits"]) == (3, 4)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["backup"], "dyno backup: which table? Give its name: dyno backup TABLE"),
        (
            ["backup", "nothing"],
            "dyno backup: CreateBackup was refused: TableNotFoundException: Table not found: nothing",
        ),
        (
            ["restore", "orders", "--past-of", "orders"],
            "dyno restore: RestoreTableToPointInTime was refused: TableAlreadyExistsException: "
            "Table already exists: orders",
        ),
        (
            ["restore", "copy", "--backup", "arn", "--at", "5"],
            "dyno restore: --at goes with --past-of: a backup has one moment",
        ),
        (
            ["restore", "copy", "--past-of", "orders", "--read-units", "5"],
            "dyno restore: give both --read-units and --write-units",
        ),
        (
            ["restore", "copy", "--past-of", "orders", "--at", "noon"],
            "dyno restore: --at is 'noon', but must be a time such as 2026-11-29T14:00:00, or seconds since the epoch",
        ),
    ],
)
@pytest.mark.usefixtures("client")
def test_what_goes_wrong_is_said_in_one_line(arguments: list[str], message: str, capsys: Captured) -> None:
    assert main(arguments) == EXIT_ERROR
    assert capsys.readouterr().err == f"{message}\n"


def test_without_a_region(capsys: Captured) -> None:
    assert main(["backup", "--list"]) == EXIT_ERROR
    text = "dyno backup: no region is configured: give --region, or --endpoint-url for a server of your own\n"
    assert capsys.readouterr().err == text


def test_without_a_server(capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    assert main(["backup", "--list", "--endpoint-url", "http://127.0.0.1:9"]) == EXIT_ERROR
    text = "nothing answers at http://127.0.0.1:9: start the server, or give another --endpoint-url\n"
    assert capsys.readouterr().err == f"dyno backup: {text}"


def test_without_a_profile(capsys: Captured) -> None:
    assert main(["backup", "--list", "--profile", "nobody"]) == EXIT_ERROR
    assert "(nobody) could not be found: `aws configure list-profiles`" in capsys.readouterr().err


def test_moments() -> None:
    noon = datetime(2026, 11, 29, 12, tzinfo=UTC)
    assert moment("2026-11-29T12:00:00") == moment("2026-11-29T12:00:00Z") == noon
    assert moment("2026-11-29T14:00:00+02:00") == noon
    assert moment(str(int(noon.timestamp()))) == noon
    assert moment("1700000000.5") == datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC) + timedelta(seconds=0.5)
    for text in ("", "yesterday", "9" * 40):
        with pytest.raises(CommandError):
            moment(text)


def test_progress_stays_on_one_line_of_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    progress = clients.Progress()
    progress.show("a long text")
    progress.show("short")
    progress.end()
    first, second = terminal.getvalue().rstrip("\n").split("\r")[1:]
    assert first.startswith("a long text, ")
    assert second.startswith("short, ")
    assert len(second) == len(first)
