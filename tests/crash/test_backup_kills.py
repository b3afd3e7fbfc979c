"""Backups and restores of a server that is killed in the middle of them: each goes on, and none shows half a table.

python -m pytest tests/crash/test_backup_kills.py            a few kills
python -m pytest tests/crash/test_backup_kills.py -m soak    CRASH_KILLS of them
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.crash.server import Client, Gone, Refused, Server
from tests.crash.test_server_kills import check_copy

SEED = int(os.environ.get("CRASH_SEED", random.randrange(2**32)))
ITEMS = 3000
BATCH = 25
LIFE_SECONDS_MAX = 0.3
Items = dict[str, dict[str, Any]]


@pytest.mark.slow
def test_kills_in_the_middle_of_backups_and_restores(tmp_path: Path) -> None:
    Attack(tmp_path / "data", SEED).run(12)


@pytest.mark.soak
def test_many_kills_in_the_middle_of_backups_and_restores(tmp_path: Path) -> None:
    Attack(tmp_path / "data", SEED).run(int(os.environ.get("CRASH_KILLS", "300")))


class Attack:
    """One table with a past, of which backups are made and restored while the server is killed again and again."""

    def __init__(self, folder: Path, seed: int) -> None:
        print(f"CRASH_SEED={seed}")
        self._rng = random.Random(seed)
        self._folder = folder
        self._backup = ""
        self._backed_up: Items = {}
        self._second = 0
        self._past: Items = {}
        self._targets: dict[str, Items] = {}
        self._made = 0

    def run(self, kills: int) -> None:
        with self._started() as client:
            self._prepare(client)
        for _ in range(kills):
            self._work_and_kill()
            check_copy(self._folder)
        with self._started() as client:
            self._audit(client)
        assert self._made > kills // 2, "too few restores were begun to prove anything"

    @contextmanager
    def _started(self) -> Iterator[Client]:
        server = self._server()
        try:
            client = Client(server.url())
            yield client
            client.close()
        except BaseException:
            server.kill()
            raise
        server.stop()

    def _server(self) -> Server:
        return Server(self._folder, {"DYNO_RECOVERY_LAG_SECONDS": "0"})

    def _prepare(self, client: Client) -> None:
        """A table with items, a backup of it, and a second of its past; then it becomes another."""
        client.call(
            "CreateTable",
            TableName="source",
            BillingMode="PAY_PER_REQUEST",
            KeySchema=[{"AttributeName": "p", "KeyType": "HASH"}, {"AttributeName": "s", "KeyType": "RANGE"}],
            AttributeDefinitions=[{"AttributeName": name, "AttributeType": "S"} for name in "psg"],
            GlobalSecondaryIndexes=[_index("global", "g", "p")],
            LocalSecondaryIndexes=[_index("local", "p", "g")],
        )
        self._write(client, "first")
        specification = {"PointInTimeRecoveryEnabled": True}
        client.call("UpdateContinuousBackups", TableName="source", PointInTimeRecoverySpecification=specification)
        self._backed_up = _by_key(client.everything("source"))
        self._backup = client.call("CreateBackup", TableName="source", BackupName="first")["BackupDetails"]["BackupArn"]
        self._second = int(time.time()) + 1
        while time.time() < self._second + 0.05:
            time.sleep(0.01)
        self._past = _by_key(client.everything("source"))
        self._write(client, "second")

    def _write(self, client: Client, text: str) -> None:
        """Change a part of the items, in batches; delete some."""
        for start in range(0, ITEMS, BATCH):
            requests: list[Any] = []
            for number in range(start, start + BATCH):
                key = {"p": {"S": f"p{number % 40}"}, "s": {"S": str(number)}}
                if self._rng.random() < 0.2:
                    requests.append({"DeleteRequest": {"Key": key}})
                else:
                    item = key | {"g": {"S": f"{text}{number % 3}"}, "text": {"S": text * self._rng.randrange(20)}}
                    requests.append({"PutRequest": {"Item": item}})
            client.call("BatchWriteItem", RequestItems={"source": requests})

    def _work_and_kill(self) -> None:
        server = self._server()
        try:
            client = Client(server.url())
            self._audit(client)
            deadline = time.time() + self._rng.uniform(0, LIFE_SECONDS_MAX)
            while time.time() < deadline:
                try:
                    self._begin_something(client)
                except Refused as refused:
                    assert refused.name == "LimitExceededException", refused  # fifty restores at once
        except Gone:
            raise AssertionError("the server went away by itself") from None
        finally:
            server.kill()

    def _begin_something(self, client: Client) -> None:
        what = self._rng.choice(["backup", "restore", "past", "put"])
        target = f"target{self._made}"
        if what == "backup":
            name = f"backup{self._rng.randrange(10**9)}"
            client.call("CreateBackup", TableName="source", BackupName=name)
        elif what == "restore":
            client.call("RestoreTableFromBackup", TargetTableName=target, BackupArn=self._backup)
            self._targets[target] = self._backed_up
            self._made += 1
        elif what == "past":
            client.call(
                "RestoreTableToPointInTime",
                SourceTableName="source",
                TargetTableName=target,
                RestoreDateTime=self._second,
            )
            self._targets[target] = self._past
            self._made += 1
        else:
            number = str(self._rng.randrange(ITEMS))
            client.call("PutItem", TableName="source", Item={"p": {"S": "p0"}, "s": {"S": number}, "g": {"S": "late"}})

    def _audit(self, client: Client) -> None:
        """Let everything come to its end; then each restored table has all its items, and no more."""
        for target, expected in self._targets.items():
            _wait(client, target)
            found = client.everything(target)
            assert _by_key(found) == expected, f"{target} is not what it was restored from"
            for index in ("global", "local"):
                assert _by_key(client.everything(target, index)) == expected
            client.call("DeleteTable", TableName=target)
        self._targets.clear()
        for backup in client.call("ListBackups")["BackupSummaries"]:
            assert backup["BackupStatus"] in ("AVAILABLE", "CREATING")
            if backup["BackupStatus"] == "AVAILABLE" and backup["BackupArn"] != self._backup:
                client.call("DeleteBackup", BackupArn=backup["BackupArn"])


def _index(name: str, partition: str, sort: str) -> dict[str, Any]:
    key = [{"AttributeName": partition, "KeyType": "HASH"}, {"AttributeName": sort, "KeyType": "RANGE"}]
    return {"IndexName": name, "KeySchema": key, "Projection": {"ProjectionType": "ALL"}}


def _by_key(items: list[dict[str, Any]]) -> Items:
    return {f"{item['p']['S']}/{item['s']['S']}": item for item in items}


def _wait(client: Client, target: str) -> None:
    """Until the table is ACTIVE: it must become that, for its restore was answered."""
    for _ in range(2000):
        try:
            if client.call("DescribeTable", TableName=target)["Table"]["TableStatus"] == "ACTIVE":
                return
        except Refused as refused:
            raise AssertionError(f"{target} is gone: {refused}") from refused
        time.sleep(0.005)
    raise AssertionError(f"{target} is not restored")
