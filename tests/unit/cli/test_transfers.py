"""`dyno export` and `dyno import`, on an engine that stands for the service."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dynamometer.base.clock import ManualClock
from dynamometer.cli import EXIT_ERROR, EXIT_OK, EXIT_PROBLEM, clients, main
from dynamometer.cli.export import bucket_and_key
from dynamometer.cli.failures import CommandError
from dynamometer.inprocess import local

ITEMS = 30
Captured = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of this machine's AWS configuration."""
    for name in ("AWS_PROFILE", "AWS_REGION", "AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_DYNAMODB"):
        monkeypatch.delenv(name, raising=False)
    for name in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
        monkeypatch.setenv(name, str(tmp_path / "none"))
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "local")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "local")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setattr(clients, "POLL_SECONDS_MAX", 0.001)
    monkeypatch.setattr(clients, "POLL_SECONDS_MIN", 0.001)


@pytest.fixture
def bucket(tmp_path: Path) -> Path:
    folder = tmp_path / "s3" / "bucket"
    folder.mkdir(parents=True)
    return folder


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def client(bucket: Path, clock: ManualClock) -> Iterator[Any]:
    """A client of the engine, which has a table with items and an index."""
    with local(s3_folder=str(bucket.parent), clock=clock) as engine, engine.route_all():
        client = engine.client()
        client.create_table(
            TableName="orders",
            ProvisionedThroughput={"ReadCapacityUnits": 3, "WriteCapacityUnits": 4},
            KeySchema=[{"AttributeName": "p", "KeyType": "HASH"}],
            AttributeDefinitions=[{"AttributeName": name, "AttributeType": "S"} for name in "pgl"],
            GlobalSecondaryIndexes=[
                {
                    "IndexName": "global",
                    "KeySchema": [
                        {"AttributeName": "g", "KeyType": "HASH"},
                        {"AttributeName": "l", "KeyType": "RANGE"},
                    ],
                    "Projection": {"ProjectionType": "KEYS_ONLY"},
                    "ProvisionedThroughput": {"ReadCapacityUnits": 1, "WriteCapacityUnits": 2},
                }
            ],
        )
        for number in range(ITEMS):
            client.put_item(TableName="orders", Item={"p": {"S": f"{number:02}"}, "g": {"S": "x"}, "l": {"S": "y"}})
        yield client


def items(client: Any, table: str, **index: str) -> list[str]:
    return sorted(each["p"]["S"] for each in client.scan(TableName=table, **index)["Items"])


def test_a_table_goes_out_and_comes_in(client: Any, capsys: Captured) -> None:
    assert main(["export", "orders", "s3://bucket/some/where"]) == EXIT_ERROR
    assert capsys.readouterr().err == (
        "dyno export: point-in-time recovery is off for orders, and exports need it: --enable-recovery turns it on\n"
    )
    assert main(["export", "orders", "s3://bucket/some/where", "--enable-recovery"]) == EXIT_OK
    out, err = capsys.readouterr()
    manifest = out.strip()
    assert manifest.startswith("s3://bucket/some/where/AWSDynamoDB/") and manifest.endswith("/manifest-summary.json")
    assert err.endswith(f"export of orders: {ITEMS} items, COMPLETED\n")
    assert main(["import", manifest, "copy", "--key", "p:S"]) == EXIT_OK
    out, err = capsys.readouterr()
    assert out == client.describe_table(TableName="copy")["Table"]["TableArn"] + "\n"
    assert f"import of copy: {ITEMS} items from " in err and err.endswith("COMPLETED\n")
    assert main(["import", manifest, "twin", "--like", "orders", "--quiet"]) == EXIT_OK
    assert capsys.readouterr().err == ""
    assert items(client, "copy") == items(client, "twin") == items(client, "twin", IndexName="global")
    there, twin = (client.describe_table(TableName=name)["Table"] for name in ("orders", "twin"))
    for member in ("ProvisionedThroughput", "KeySchema", "AttributeDefinitions"):
        assert there[member] == twin[member]


def test_ion_of_some_items(client: Any, bucket: Path, capsys: Captured) -> None:
    options = ["--format", "ion", "--filter", "#p > :p", "--project", "#p", "--enable-recovery", "--quiet"]
    expressions = ["--names", '{"#p": "p"}', "--values", '{":p": {"S": "25"}}']
    assert main(["export", "orders", "s3://bucket", *options, *expressions]) == EXIT_OK
    manifest = capsys.readouterr().out.strip()
    assert main(["import", manifest, "copy", "--format", "ion", "--key", "p:S", "--quiet"]) == EXIT_OK
    assert items(client, "copy") == ["26", "27", "28", "29"]
    assert "g" not in client.get_item(TableName="copy", Key={"p": {"S": "26"}})["Item"]


def test_times(client: Any, clock: ManualClock, bucket: Path, capsys: Captured) -> None:
    assert main(["export", "orders", "s3://bucket", "--enable-recovery", "--no-wait"]) == EXIT_OK
    arn = capsys.readouterr().out.strip()
    assert client.describe_export(ExportArn=arn)["ExportDescription"]["ExportType"] == "FULL_EXPORT"
    clock.advance(3600)
    then = clock.now()
    client.delete_item(TableName="orders", Key={"p": {"S": "00"}})
    clock.advance(3600)
    assert main(["export", "orders", "s3://bucket/at", "--at", str(then - 1), "--quiet"]) == EXIT_OK
    manifest = json.loads((bucket / capsys.readouterr().out.strip().removeprefix("s3://bucket/")).read_text())
    assert (manifest["itemCount"], manifest["exportTime"]) == (ITEMS, "2023-11-14T23:13:19.000Z")
    window = ["--since", "2023-11-14T23:00:00Z", "--until", "2023-11-14T23:20:00Z", "--new-only"]
    assert main(["export", "orders", "s3://bucket/changes", *window, "--quiet"]) == EXIT_OK
    manifest = json.loads((bucket / capsys.readouterr().out.strip().removeprefix("s3://bucket/")).read_text())
    assert (manifest["itemCount"], manifest["outputView"]) == (1, "NEW_IMAGE")


def test_csv_with_records_that_are_none(client: Any, bucket: Path, capsys: Captured) -> None:
    (bucket / "in.csv").write_text("a;1\nb\nc;3\n")
    csv = ["--format", "csv", "--delimiter", ";", "--header", "p,n"]
    keys = ["--key", "p:S", "--key", "n:N"]
    assert main(["import", "s3://bucket/in.csv", "copy", *csv, *keys, "--quiet"]) == EXIT_PROBLEM
    assert capsys.readouterr().out.splitlines()[1] == (
        "records left out, because they are no items of this table: 1; the log has them"
    )
    assert items(client, "copy") == ["a", "c"]


def test_a_definition_from_a_file(client: Any, bucket: Path, tmp_path: Path, capsys: Captured) -> None:
    (bucket / "in.json").write_text('{"Item":{"p":{"S":"a"}}}')
    definition = {
        "TableName": "ignored",
        "KeySchema": [{"AttributeName": "p", "KeyType": "HASH"}],
        "AttributeDefinitions": [{"AttributeName": "p", "AttributeType": "S"}],
        "BillingMode": "PAY_PER_REQUEST",
    }
    (tmp_path / "definition.json").write_text(json.dumps(definition))
    arguments = ["s3://bucket/in.json", "copy", "--definition", str(tmp_path / "definition.json"), "--no-wait"]
    assert main(["import", *arguments]) == EXIT_OK
    assert ":table/copy/import/" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["export", "orders", "bucket"], "bucket is not a place in a bucket: write s3://BUCKET/PREFIX"),
        (["export", "orders", "s3://b", "--until", "5"], "--until and --new-only are for changes: give --since too"),
        (
            ["export", "orders", "s3://b", "--at", "5", "--since", "5"],
            "--at is for whole tables, --since for changes: give one of them",
        ),
        (["export", "orders", "s3://b", "--values", "{"], "--values is not JSON: "),
        (
            ["export", "orders", "s3://b", "--since", "noon"],
            "--since is 'noon', but must be a time such as 2026-11-29T14:00:00, or seconds since the epoch",
        ),
        (["export", "nothing", "s3://b"], "DescribeTable was refused: ResourceNotFoundException: "),
        (
            ["export", "orders", "s3://nowhere", "--enable-recovery"],
            "the export failed: S3NoSuchBucket: The specified bucket does not exist",
        ),
        (["import", "s3://bucket", "t", "--key", "p"], "--key p: write NAME:S, NAME:N or NAME:B"),
        (
            ["import", "s3://bucket", "t", "--key", "p:S", "--header", "p"],
            "--delimiter and --header are for --format csv",
        ),
        (["import", "s3://bucket", "copy", *["--key", "p:S"] * 3], "--key is given once for the partition key, "),
        (["import", "s3://bucket", "copy", "--definition", "none.json"], "none.json can't be read: No such file"),
        (["import", "s3://bucket/x", "copy", "--key", "p:S"], "the import failed: S3NoSuchKey: "),
        (
            ["import", "s3://bucket/x", "orders", "--key", "p:S"],
            "ImportTable was refused: ResourceInUseException: Table already exists: orders",
        ),
    ],
)
@pytest.mark.usefixtures("client")
def test_what_goes_wrong_is_said_in_one_line(arguments: list[str], message: str, capsys: Captured) -> None:
    assert main([*arguments, "--quiet"]) == EXIT_ERROR
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"dyno {arguments[0]}: {message}")


def test_places() -> None:
    assert bucket_and_key("s3://bucket") == ("bucket", "")
    assert bucket_and_key("s3://bucket/a/b/") == ("bucket", "a/b/")
    with pytest.raises(CommandError):
        bucket_and_key("s3:///a")
