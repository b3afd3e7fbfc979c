"""`dynamometer.local()`: clients in this process, without a socket."""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ParamValidationError

import dynamometer
from dynamometer.base.clock import ManualClock
from dynamometer.base.errors import StoreUnwritable

TABLE = {
    "TableName": "things",
    "BillingMode": "PAY_PER_REQUEST",
    "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
    "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
}
KEY = {"id": {"S": "a"}}


@pytest.fixture
def db() -> Iterator[dynamometer.Local]:
    with dynamometer.local() as engine:
        yield engine


@pytest.fixture
def client(db: dynamometer.Local) -> Any:
    made = db.client("dynamodb")
    made.create_table(**TABLE)
    return made


@pytest.fixture
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("a socket was opened")

    monkeypatch.setattr(socket, "socket", refuse)
    monkeypatch.setattr(socket, "create_connection", refuse)


def test_items_go_in_and_come_out_as_boto3_hands_them_over(client: Any) -> None:
    item = KEY | {"blob": {"B": b"\x00\xff"}, "list": {"L": [{"B": b"x"}, {"N": "1"}]}, "none": {"NULL": True}}
    client.put_item(TableName="things", Item=item)
    answer = client.get_item(TableName="things", Key=KEY)
    assert answer["Item"] == item
    metadata = answer["ResponseMetadata"]
    assert (metadata["HTTPStatusCode"], metadata["RetryAttempts"]) == (200, 0)
    assert len(metadata["RequestId"]) == 52
    assert metadata["HTTPHeaders"]["x-amzn-requestid"] == metadata["RequestId"]


@pytest.mark.usefixtures("no_network")
def test_no_socket_is_opened_and_no_credentials_are_sought(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_DEFAULT_REGION"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_PROFILE", "no-such-profile")
    monkeypatch.setenv("HOME", str(tmp_path))
    with dynamometer.local() as db:
        db.client("dynamodb").create_table(**TABLE)
        db.resource("dynamodb").Table("things").put_item(Item={"id": "a"})
        assert db.client("dynamodb").scan(TableName="things")["Count"] == 1


def test_importing_the_package_does_not_import_boto3() -> None:
    code = "import sys, dynamometer; assert not {'boto3', 'botocore', 'orjson'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_refusals_are_botocores_exceptions(client: Any) -> None:
    with pytest.raises(client.exceptions.ResourceNotFoundException) as missing:
        client.get_item(TableName="nothing", Key=KEY)
    assert missing.value.response["Error"]["Message"] == "Requested resource not found"
    client.put_item(TableName="things", Item=KEY)
    with pytest.raises(client.exceptions.ConditionalCheckFailedException) as failed:
        client.put_item(
            TableName="things",
            Item=KEY,
            ConditionExpression="attribute_not_exists(id)",
            ReturnValuesOnConditionCheckFailure="ALL_OLD",
        )
    assert failed.value.response["Item"] == KEY


def test_parameters_are_validated_as_ever(client: Any) -> None:
    with pytest.raises(ParamValidationError, match="Unknown parameter"):
        client.get_item(TableName="things", Key=KEY, Nonsense=1)


def test_paginators_and_waiters_work(client: Any) -> None:
    client.get_waiter("table_exists").wait(TableName="things")
    for number in range(5):
        client.put_item(TableName="things", Item={"id": {"S": str(number)}})
    pages = client.get_paginator("scan").paginate(TableName="things", PaginationConfig={"PageSize": 2})
    assert [page["Count"] for page in pages] == [2, 2, 1]


def test_a_failed_request_reaches_the_engine_once(db: dynamometer.Local, client: Any) -> None:
    """The long way of a refusal must not run it again."""
    answered = db._service.answered
    with pytest.raises(client.exceptions.ResourceNotFoundException):
        client.get_item(TableName="nothing", Key=KEY)
    assert db._service.answered == answered + 1


def test_whoever_listens_to_the_exchange_hears_it(client: Any) -> None:
    heard: list[str] = []
    client.meta.events.register("before-send.dynamodb", lambda request, **_: heard.append(request.method))
    client.meta.events.register("response-received.dynamodb", lambda event_name, **_: heard.append(event_name))
    client.get_item(TableName="things", Key=KEY)
    assert heard == ["POST", "response-received.dynamodb.GetItem"]


def test_whoever_listens_to_the_call_hears_it(client: Any) -> None:
    heard: list[str] = []
    for event in ("provide-client-params", "before-parameter-build", "before-call", "after-call"):
        client.meta.events.register(f"{event}.dynamodb", lambda event_name, **_: heard.append(event_name))
    client.get_item(TableName="things", Key=KEY)
    assert [name.partition(".")[0] for name in heard] == [
        "provide-client-params",
        "before-parameter-build",
        "before-call",
        "after-call",
    ]


def test_regions_have_their_own_tables(db: dynamometer.Local, client: Any) -> None:
    other = db.client("dynamodb", region_name="eu-west-1")
    assert client.list_tables()["TableNames"] == ["things"]
    assert other.list_tables()["TableNames"] == []
    other.create_table(**TABLE)
    assert ":eu-west-1:" in other.describe_table(TableName="things")["Table"]["TableArn"]


def test_an_account_number_as_access_key_is_an_account(db: dynamometer.Local, client: Any) -> None:
    own = db.client("dynamodb", aws_access_key_id="testing", aws_secret_access_key="testing")
    other = db.client("dynamodb", aws_access_key_id="123456789012", aws_secret_access_key="x")
    assert own.list_tables()["TableNames"] == ["things"]
    assert other.list_tables()["TableNames"] == []


def test_clients_take_a_config(db: dynamometer.Local, client: Any) -> None:
    config = Config(retries={"max_attempts": 1, "mode": "standard"}, region_name="us-east-1")
    assert db.client("dynamodb", config=config).list_tables()["TableNames"] == ["things"]


def test_other_services_are_refused(db: dynamometer.Local) -> None:
    with pytest.raises(ValueError, match="'s3'"):
        db.client("s3")


def test_a_session_serves_its_clients_here(db: dynamometer.Local, client: Any) -> None:
    session = db.session()
    assert isinstance(session, boto3.Session)
    assert session.client("dynamodb").list_tables()["TableNames"] == ["things"]
    assert [table.name for table in session.resource("dynamodb").tables.all()] == ["things"]


@pytest.mark.parametrize("is_kept", [False, True])
def test_many_threads_use_one_client(tmp_path: Path, is_kept: bool) -> None:
    """Kept in a folder, they also sync beside each other."""
    with dynamometer.local(*[tmp_path / "data"] * is_kept) as db:
        client = db.client()
        client.create_table(**TABLE)

        def add(_: int) -> None:
            values = {":one": {"N": "1"}}
            client.update_item(
                TableName="things", Key=KEY, UpdateExpression="ADD seen :one", ExpressionAttributeValues=values
            )

        with ThreadPoolExecutor(8) as threads:
            list(threads.map(add, range(400)))
        assert client.get_item(TableName="things", Key=KEY)["Item"]["seen"] == {"N": "400"}


def test_background_work_that_cannot_be_kept_spares_the_request_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with dynamometer.local(tmp_path / "data") as db:
        client = db.client()
        client.create_table(**TABLE)
        store: Any = db.engine.store

        class Work:
            def step(self) -> bool:
                transaction = store.begin()
                transaction.put(b"work", b"1")
                transaction.commit()
                return True

        def fail() -> None:
            raise StoreUnwritable("the disk is gone")

        with monkeypatch.context() as patched:
            patched.setattr(store, "_sync", fail)
            db.engine.jobs.append(Work())
            assert client.list_tables()["TableNames"] == ["things"]
        assert isinstance(store.failure, StoreUnwritable)
        with pytest.raises(StoreUnwritable):
            db.close()


def test_a_folder_keeps_the_tables(tmp_path: Path) -> None:
    with dynamometer.local(tmp_path / "data") as db:
        db.client().create_table(**TABLE)
        db.client().put_item(TableName="things", Item=KEY)
    with dynamometer.local(tmp_path / "data") as db:
        assert db.client().get_item(TableName="things", Key=KEY)["Item"] == KEY


def test_a_write_has_become_durable_when_it_is_answered(tmp_path: Path) -> None:
    with dynamometer.local(tmp_path / "data") as db:
        db.client().create_table(**TABLE)
        for number in range(5):
            db.client().put_item(TableName="things", Item={"id": {"S": str(number)}})
            assert db.engine.store.durable_sequence == db.engine.store.last_sequence


def test_a_closed_engine_says_so(db: dynamometer.Local, client: Any) -> None:
    db.close()
    db.close()
    with pytest.raises(RuntimeError, match="is closed"):
        client.list_tables()


def test_a_reset_forgets_the_tables_and_keeps_the_clients(db: dynamometer.Local, client: Any) -> None:
    clock = ManualClock(1_600_000_000)
    db.reset(clock)
    assert client.list_tables()["TableNames"] == []
    client.create_table(**TABLE)
    created = client.describe_table(TableName="things")["Table"]["CreationDateTime"]
    assert created.timestamp() == 1_600_000_000


def test_a_folder_is_not_reset(tmp_path: Path) -> None:
    with dynamometer.local(tmp_path / "data") as db, pytest.raises(RuntimeError, match="in memory"):
        db.reset()


@pytest.mark.parametrize(
    ("settings", "message"), [({"no_such": 1}, "'no_such' is not a setting"), ({"durability": "x"}, "durability")]
)
def test_wrong_settings_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        dynamometer.local(**settings)


def test_time_is_the_clocks(tmp_path: Path) -> None:
    clock = ManualClock(1_600_000_000)
    with dynamometer.local(clock=clock) as db:
        assert db.clock is clock
        headers = db.client().list_tables()["ResponseMetadata"]["HTTPHeaders"]
        assert headers["date"] == "Sun, 13 Sep 2020 12:26:40 GMT"


def test_what_fails_in_the_background_fails_no_request(
    db: dynamometer.Local, client: Any, caplog: pytest.LogCaptureFixture
) -> None:
    class Failing:
        def step(self) -> bool:
            raise OSError("a job's own trouble")

    db.engine.jobs.append(Failing())
    client.put_item(TableName="things", Item=KEY)
    assert client.get_item(TableName="things", Key=KEY)["Item"] == KEY
    assert "background work failed; it is tried again: OSError" in caplog.text
