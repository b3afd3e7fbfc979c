"""Kill servers in the middle of replication: whatever was acknowledged in any region is in all of them, or was lost to
a later write and noted."""

from __future__ import annotations

import json
import random
import socket
import subprocess
import sys
import urllib.error
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from http.client import HTTPException
from pathlib import Path
from threading import Event
from typing import Any

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import BotoCoreError

from tests.unit.cli.test_serve import Served, serving

US, EU = "us-east-1", "eu-west-1"
ROUNDS = 5
WRITES = 60
KEYS = 9
POLLS_MAX = 600
GONE = (BotoCoreError, OSError, HTTPException, urllib.error.URLError)
TABLE: dict[str, Any] = {
    "TableName": "things",
    "BillingMode": "PAY_PER_REQUEST",
    "AttributeDefinitions": [{"AttributeName": "k", "AttributeType": "S"}],
    "KeySchema": [{"AttributeName": "k", "KeyType": "HASH"}],
}
BY_N: dict[str, Any] = {
    "AttributeDefinitions": [{"AttributeName": "n", "AttributeType": "N"}],
    "GlobalSecondaryIndexUpdates": [
        {
            "Create": {
                "IndexName": "ByN",
                "KeySchema": [{"AttributeName": "n", "KeyType": "HASH"}],
                "Projection": {"ProjectionType": "ALL"},
            }
        }
    ],
}
OPTIONS = ("--durability", "fsync", "--replication-lag-seconds", "0.02")


def client(url: str, region: str) -> Any:
    return boto3.client(
        "dynamodb",
        endpoint_url=url,
        region_name=region,
        aws_access_key_id="111122223333",
        aws_secret_access_key="secret",
        config=Config(retries={"total_max_attempts": 1}, read_timeout=20, connect_timeout=5),
    )


def items(of: Any) -> dict[str, Any]:
    return {item["k"]["S"]: item for item in of.scan(TableName="things", ConsistentRead=True)["Items"]}


def wait(condition: Any) -> bool:
    """Whether it came true in time."""
    pause = Event()
    for _ in range(POLLS_MAX):
        if condition():
            return True
        pause.wait(0.05)
    return False


def lost(folder: Path) -> set[int]:
    """The numbers of lost updates, as `dyno conflicts` tells them."""
    command = [sys.executable, "-m", "dynamometer", "conflicts", "--data", str(folder), "--json"]
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    shown = [json.loads(line)["lost_item"] for line in ran.stdout.splitlines()]
    return {int(item["n"]["N"]) for item in shown if item is not None}


def assert_sound(folder: Path) -> None:
    command = [sys.executable, "-m", "dynamometer", "check", str(folder), "--quiet"]
    checked = subprocess.run(command, capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stdout


class Writer:
    """Writes numbers to keys in turn, by chance in either region, and knows what was acknowledged."""

    def __init__(self) -> None:
        self._rng = random.Random(4)
        self._number = 0
        self.acknowledged: dict[str, list[tuple[int, str]]] = {}
        self.unknown: set[int] = set()

    def write(self, clients: dict[str, Any]) -> None:
        self._number += 1
        key, region = f"key-{self._rng.randrange(KEYS)}", self._rng.choice(list(clients))
        try:
            clients[region].put_item(TableName="things", Item={"k": {"S": key}, "n": {"N": str(self._number)}})
            self.acknowledged.setdefault(key, []).append((self._number, region))
        except GONE:
            self.unknown.add(self._number)

    def assert_kept(self, found: dict[str, Any], noted: set[int]) -> None:
        """The last write that a region acknowledged is what is there, was replaced later, or is noted as lost."""
        for key, writes in self.acknowledged.items():
            number = int(found[key]["n"]["N"])
            assert number in self.unknown or number in {each for each, _ in writes}
            for each in {region: each for each, region in writes}.values():
                assert each <= number or each in noted or number in self.unknown, (key, each, number)


@pytest.mark.slow
def test_two_regions_of_a_server_that_is_killed(tmp_path: Path) -> None:
    writer = Writer()
    for number in range(ROUNDS):
        with serving(tmp_path, "--data", "data", *OPTIONS) as served:
            clients = {region: client(served.url, region) for region in (US, EU)}
            if number == 0:
                make(clients[US])
            if number == 2:
                clients[EU].update_table(TableName="things", **BY_N)
            usable = clients if number else {US: clients[US]}
            assert not number or wait(partial(is_filled, clients[EU]))
            for _ in range(WRITES):
                writer.write(usable)
            served.process.kill()
    with serving(tmp_path, "--data", "data", *OPTIONS) as served:
        clients = {region: client(served.url, region) for region in (US, EU)}
        assert wait(lambda: items(clients[US]) == items(clients[EU]))
        found = items(clients[US])
        assert served.stop()[0] == 0
    assert_sound(tmp_path / "data")
    writer.assert_kept(found, lost(tmp_path / "data"))


def make(us: Any, count: int = 300) -> None:
    """The table, with items that are there before its replica is asked for; killed before it is filled."""
    us.create_table(**TABLE)
    for number in range(count):
        us.put_item(TableName="things", Item={"k": {"S": f"old-{number}"}, "n": {"N": "0"}})
    us.update_table(TableName="things", ReplicaUpdates=[{"Create": {"RegionName": EU}}])


def is_filled(eu: Any) -> bool:
    """Whether the new replica may be used."""
    if "things" not in eu.list_tables()["TableNames"]:
        return False
    return bool(eu.describe_table(TableName="things")["Table"]["TableStatus"] != "CREATING")


def is_active(region: Any) -> bool:
    """Whether nothing about the table is on the way."""
    return bool(region.describe_table(TableName="things")["Table"]["TableStatus"] == "ACTIVE")


@contextmanager
def pair(folder: Path, ports: dict[str, int]) -> Iterator[dict[str, Served]]:
    """Two servers, each with a region of its own."""
    with ExitStack() as stack:
        servers = {}
        for region, other in ((US, EU), (EU, US)):
            peers = ("--peers", f"{other}=http://127.0.0.1:{ports[other]}", "--replication-secret", "secret")
            place = ("--data", region, "--port", str(ports[region]))
            servers[region] = stack.enter_context(serving(folder, *place, *peers, *OPTIONS))
        yield servers


def free_ports() -> dict[str, int]:
    found = {}
    with ExitStack() as stack:
        for region in (US, EU):
            listener = stack.enter_context(socket.socket())
            listener.bind(("127.0.0.1", 0))
            found[region] = listener.getsockname()[1]
    return found


@pytest.mark.slow
def test_two_servers_of_which_one_is_killed_by_turns(tmp_path: Path) -> None:
    writer = Writer()
    ports = free_ports()
    for number in range(ROUNDS):
        with pair(tmp_path, ports) as servers:
            clients = {region: client(served.url, region) for region, served in servers.items()}
            if number == 0:
                make(clients[US])
            if number == 2:
                assert wait(partial(is_active, clients[US]))
                clients[US].update_table(TableName="things", **BY_N)
            usable = clients if number else {US: clients[US]}
            assert not number or wait(partial(is_filled, clients[EU]))
            for each in range(WRITES):
                writer.write(usable)
                if each == WRITES // 2:
                    servers[EU if number % 2 else US].process.kill()
    with pair(tmp_path, ports) as servers:
        clients = {region: client(served.url, region) for region, served in servers.items()}
        assert wait(partial(is_active, clients[US]))
        assert wait(lambda: items(clients[US]) == items(clients[EU]))
        found = items(clients[US])
        assert [served.stop()[0] for served in servers.values()] == [0, 0]
    for region in (US, EU):
        assert_sound(tmp_path / region)
    writer.assert_kept(found, lost(tmp_path / US) | lost(tmp_path / EU))
