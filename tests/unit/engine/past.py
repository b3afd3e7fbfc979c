"""Tables with a past, for the tests of backups and of point-in-time recovery, on any store."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from dynamometer.engine.backups import STEP_ITEMS
from dynamometer.engine.check import check
from dynamometer.storage.interface import Store
from dynamometer.storage.memory import MemoryStore
from dynamometer.storage.rocksdb import RocksStore
from tests.unit.engine.tables import Body, Tables, index, key, types

Items = dict[str, Body]
COUNT = STEP_ITEMS * 2 + 50
"""Items that take three steps."""
DAY = 86400


class Past(Tables):
    """One engine that can be restarted, with a table `abc` that has indexes of both kinds."""

    def __init__(self, store: Store, reopen: Callable[[Any], Store], **settings: Any) -> None:
        self._reopen = reopen
        super().__init__(store=store, **settings)

    def make(self, **body: Any) -> None:
        """The table: key p and s, a local index on l, a global one on g that holds the keys only."""
        self.create(
            KeySchema=key("p", "s"),
            AttributeDefinitions=types(p="S", s="N", l="S", g="S"),
            LocalSecondaryIndexes=[index("local", "p", "l")],
            GlobalSecondaryIndexes=[index("global", "g", Projection={"ProjectionType": "KEYS_ONLY"})],
            **body,
        )

    def fill(self, count: int = COUNT, **attributes: Body) -> None:
        for number in range(count):
            self.put(**item(number) | attributes)

    def restart(self) -> None:
        """Stop in the middle of whatever goes on, and start again on what the store has."""
        self.engine.close()
        self.store = self._reopen(self.store)
        self.open()

    def finish(self) -> None:
        """Let all jobs come to their end."""
        for _ in range(10_000):
            if not self.engine.run_jobs():
                return
        raise AssertionError("the jobs never end")

    def items(self, name: str = "abc", index_name: str | None = None) -> Items:
        """All items of a table or index, by the table's key."""
        found: Items = {}
        request: Body = {"TableName": name} | ({} if index_name is None else {"IndexName": index_name})
        while True:
            answer = self.call("Scan", **request)
            for each in loaded(answer["Items"]):
                found[f"{each['p']['S']}/{each['s']['N']}"] = each
            if "LastEvaluatedKey" not in answer:
                return found
            request["ExclusiveStartKey"] = answer["LastEvaluatedKey"]

    def keep(self, name: str = "abc", **more: Any) -> Body:
        """Switch point-in-time recovery on."""
        specification = {"PointInTimeRecoveryEnabled": True} | more
        answer = self.call("UpdateContinuousBackups", TableName=name, PointInTimeRecoverySpecification=specification)
        description: Body = answer["ContinuousBackupsDescription"]["PointInTimeRecoveryDescription"]
        return description

    def forget(self, name: str = "abc") -> Body:
        """Switch point-in-time recovery off."""
        return self.keep(name, PointInTimeRecoveryEnabled=False)

    def window(self) -> tuple[float, float]:
        """The earliest and the latest second of the table's past."""
        answer = self.call("DescribeContinuousBackups", TableName="abc")["ContinuousBackupsDescription"]
        past = answer["PointInTimeRecoveryDescription"]
        return past["EarliestRestorableDateTime"], past["LatestRestorableDateTime"]

    def restored(self, at: float, target: str = "target") -> Items:
        """The items of the table at a past second, by way of a restored table, which is checked too."""
        self.call("RestoreTableToPointInTime", SourceTableName="abc", TargetTableName=target, RestoreDateTime=at)
        self.finish()
        return self.checked(target)

    def checked(self, target: str) -> Items:
        """The items of a restored table, which agree with its indexes and counters."""
        found = self.items(target)
        assert self.items(target, "local") == {name: each for name, each in found.items() if "l" in each}
        assert set(self.items(target, "global")) == {name for name, each in found.items() if "g" in each}
        description = self.describe(target)
        assert description["TableStatus"] == "ACTIVE"
        assert description["RestoreSummary"]["RestoreInProgress"] is False
        assert description["ItemCount"] == len(found)
        self.check()
        return found

    def check(self) -> None:
        assert [str(finding) for finding in check(self.store)] == []

    def backup(self, name: str = "first") -> str:
        arn: str = self.call("CreateBackup", TableName="abc", BackupName=name)["BackupDetails"]["BackupArn"]
        return arn

    def status(self, arn: str) -> str:
        details = self.call("DescribeBackup", BackupArn=arn)["BackupDescription"]["BackupDetails"]
        status: str = details["BackupStatus"]
        return status


def loaded(value: Any) -> Any:
    """An answer without the fragments of JSON that a page is made of."""
    import orjson

    return orjson.loads(orjson.dumps(value))


def item(number: int) -> Items:
    """The item of a number; some have no place in an index."""
    found: Items = {"p": {"S": f"p{number % 7}"}, "s": {"N": str(number)}, "text": {"S": "x" * (number % 50)}}
    if number % 3:
        found["l"] = {"S": f"l{number % 5}"}
    if number % 4:
        found["g"] = {"S": f"g{number % 5}"}
    return found


def name_of(number: int) -> str:
    """The key of an item as `Past.items` has it."""
    return f"p{number % 7}/{number}"


def in_memory(**settings: Any) -> Past:
    return Past(MemoryStore(), lambda store: store, **settings)


def on_disk(path: Path, **settings: Any) -> Past:
    def reopen(_: Store) -> Store:
        return RocksStore(path, durability="os")

    return Past(RocksStore(path, durability="os"), reopen, **settings)
