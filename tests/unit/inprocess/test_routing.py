"""Every client of the process to one engine."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import botocore.endpoint
import botocore.session
import botocore.signers
import pytest
from botocore.config import Config
from botocore.exceptions import EndpointConnectionError, NoCredentialsError, NoRegionError

import dynamometer
from dynamometer import inprocess
from tests.unit.inprocess.test_local import TABLE

NAMES = ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_DEFAULT_REGION", "AWS_REGION"]


@pytest.fixture(autouse=True)
def nothing_configured(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A machine without credentials, region or network."""
    for name in NAMES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setattr(boto3, "DEFAULT_SESSION", None)

    def refuse(*_: Any, **__: Any) -> None:
        raise OSError("no network here")

    monkeypatch.setattr(socket, "create_connection", refuse)


@pytest.fixture
def db() -> Iterator[dynamometer.Local]:
    with dynamometer.local() as engine:
        yield engine


def make_client(service: str = "dynamodb") -> Any:
    """As code under test would; fails fast where there is nobody."""
    return boto3.client(service, config=Config(retries={"total_max_attempts": 1}, connect_timeout=1))


def test_a_client_that_code_makes_itself_is_routed(db: dynamometer.Local) -> None:
    with db.route_all() as engine:
        assert engine is db
        make_client().create_table(**TABLE)
        boto3.resource("dynamodb").Table("things").put_item(Item={"id": "a"})
    assert db.client().scan(TableName="things")["Count"] == 1


def test_a_client_that_was_made_before_is_routed(db: dynamometer.Local) -> None:
    before = boto3.client(
        "dynamodb", region_name="us-east-1", aws_access_key_id="testing", aws_secret_access_key="testing"
    )
    with db.route_all():
        before.create_table(**TABLE)
        assert before.list_tables()["TableNames"] == ["things"]


def test_a_client_that_was_made_before_without_credentials_is_routed(db: dynamometer.Local) -> None:
    before = boto3.client("dynamodb", region_name="eu-west-1")
    with db.route_all():
        before.create_table(**TABLE)
    assert db.client(region_name="eu-west-1").list_tables()["TableNames"] == ["things"]
    with pytest.raises(NoCredentialsError):
        before.list_tables()


def test_configured_credentials_and_region_are_kept(db: dynamometer.Local, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "123456789012")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "x")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-west-1")
    with db.route_all():
        make_client().create_table(**TABLE)
    assert db.client().list_tables()["TableNames"] == []
    own = db.client(region_name="eu-west-1", aws_access_key_id="123456789012", aws_secret_access_key="x")
    assert own.list_tables()["TableNames"] == ["things"]


def test_ordinary_credentials_share_the_engines_account(db: dynamometer.Local, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "testing")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "testing")
    with db.route_all():
        make_client().create_table(**TABLE)
    assert db.client().list_tables()["TableNames"] == ["things"]


def test_other_services_go_their_own_way(db: dynamometer.Local) -> None:
    with db.route_all():
        with pytest.raises((NoRegionError, NoCredentialsError)):
            make_client("sqs").list_queues()
        queue = boto3.client(
            "sqs",
            region_name="us-east-1",
            endpoint_url="http://127.0.0.1:9",
            aws_access_key_id="a",
            aws_secret_access_key="b",
            config=Config(retries={"total_max_attempts": 1}),
        )
        with pytest.raises(EndpointConnectionError):
            queue.list_queues()


def test_everything_is_put_back(db: dynamometer.Local) -> None:
    def replaced() -> list[Any]:
        return [
            botocore.endpoint.Endpoint._send,
            botocore.signers.RequestSigner.get_auth_instance,
            botocore.session.Session.create_client,
        ]

    originals = replaced()
    with pytest.raises(ZeroDivisionError), db.route_all():
        assert all(left is not right for left, right in zip(originals, replaced(), strict=True))
        raise ZeroDivisionError
    assert replaced() == originals
    with pytest.raises(NoRegionError):
        boto3.client("dynamodb")


def test_routings_do_not_nest(db: dynamometer.Local) -> None:
    with db.route_all():
        with pytest.raises(inprocess.RoutingError, match="don't nest"), dynamometer.route_boto3():
            pass
        make_client().create_table(**TABLE)
    assert db.client().list_tables()["TableNames"] == ["things"]


def test_one_routing_can_be_used_again(db: dynamometer.Local) -> None:
    routing = db.route_all()
    for _ in range(2):
        with routing:
            make_client().list_tables()
    routing.stop()


def test_a_decorated_function_gets_a_fresh_engine_each_time() -> None:
    @dynamometer.route_boto3()
    def create() -> list[str]:
        client = make_client()
        client.create_table(**TABLE)
        return list(client.list_tables()["TableNames"])

    assert create() == ["things"]
    assert create() == ["things"]
    assert create.__name__ == "create"


def test_local_clients_of_another_engine_stay_with_it(db: dynamometer.Local) -> None:
    with dynamometer.local() as other:
        client = other.client()
        client.create_table(**TABLE)
        with db.route_all():
            assert client.list_tables()["TableNames"] == ["things"]
    assert db.client().list_tables()["TableNames"] == []


def test_unsigned_clients_are_routed_to_their_region(db: dynamometer.Local) -> None:
    from botocore import UNSIGNED

    with db.route_all():
        boto3.client("dynamodb", region_name="eu-west-1", config=Config(signature_version=UNSIGNED)).create_table(
            **TABLE
        )
    assert db.client(region_name="eu-west-1").list_tables()["TableNames"] == ["things"]


def test_whoever_listens_to_the_exchange_of_a_routed_client_hears_it(db: dynamometer.Local) -> None:
    heard: list[str] = []
    with db.route_all():
        client = make_client()
        client.list_tables()
        client.meta.events.register("before-send.dynamodb", lambda request, **_: heard.append(request.url))
        client.list_tables()
    assert len(heard) == 1


def test_a_refused_request_of_a_routed_client_reaches_the_engine_once(db: dynamometer.Local) -> None:
    answered = db._service.answered
    with db.route_all():
        client = make_client()
        with pytest.raises(client.exceptions.ResourceNotFoundException):
            client.describe_table(TableName="nothing")
    assert db._service.answered == answered + 1


def test_a_refusal_to_a_local_client_comes_from_its_own_engine_while_another_is_routed(db: dynamometer.Local) -> None:
    with dynamometer.local() as other, db.route_all():
        client = other.client()
        client.create_table(**TABLE)
        client.meta.events.register("before-send.dynamodb", lambda **_: None)
        assert client.list_tables()["TableNames"] == ["things"]
        with pytest.raises(client.exceptions.ResourceInUseException):
            client.create_table(**TABLE)
    assert db.client().list_tables()["TableNames"] == []
