"""A global table in one process, written in several regions by chance, with a reference of who saw what.

Every write has a parent: the write that its region had when it was made. The writes of an item are a tree, and the
leaves of the tree are the writes that nobody built upon: the newest of them wins, the others are lost.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any

from dynamometer.base.clock import ManualClock
from dynamometer.base.config import Settings
from dynamometer.base.rng import seeded
from dynamometer.engine import keyspace, versions
from dynamometer.engine.catalog import Table, World
from dynamometer.engine.check import check
from dynamometer.engine.engine import Engine
from dynamometer.engine.operations import load
from dynamometer.storage.memory import MemoryStore

ACCOUNT = "111122223333"
REGIONS = ("us-east-1", "eu-west-1", "ap-south-1")
KEYS = ("a", "b", "c", "d")
OPERATIONS = load()
Name = tuple[int, str]
"""A write's version: sequence number and region."""


class Writes:
    """What was written, by whom, and on top of what."""

    def __init__(self) -> None:
        self.parents: dict[str, dict[Name, Name]] = {key: {} for key in KEYS}
        self.deletions: set[Name] = set()

    def winner(self, key: str) -> Name | None:
        return max(self.parents[key], default=None)

    def lost(self, key: str) -> set[Name]:
        """The leaves that did not win."""
        leaves = set(self.parents[key]) - set(self.parents[key].values())
        return leaves - {self.winner(key)}

    def ancestors(self, key: str, name: Name) -> set[Name]:
        found: set[Name] = set()
        while name in self.parents[key]:
            name = self.parents[key][name]
            found.add(name)
        return found


class Regions:
    """One engine with a replica in each region. Everything in it repeats with the seed."""

    def __init__(self, seed: int, count: int = 2, **table: Any) -> None:
        self.rng = random.Random(seed)
        self.clock = ManualClock()
        self.store = MemoryStore()
        self.names = REGIONS[:count]
        self.writes = Writes()
        self._number = 0
        self.start()
        definition: dict[str, Any] = {
            "TableName": "tab",
            "KeySchema": [{"AttributeName": "p", "KeyType": "HASH"}],
            "AttributeDefinitions": [{"AttributeName": "p", "AttributeType": "S"}],
            "BillingMode": "PAY_PER_REQUEST",
        }
        self.call("CreateTable", self.names[0], **definition | table)
        for name in self.names[1:]:
            self.add(name)

    def start(self) -> None:
        """A new engine on what the old one left in the store."""
        self.engine = Engine(self.store, self.clock, seeded(1), Settings(in_memory=True))

    def engine_of(self, region: str) -> Engine:
        return self.engine

    def engines(self) -> list[Engine]:
        return [self.engine]

    def world(self, region: str) -> World:
        return self.engine_of(region).world(ACCOUNT, region)

    def table(self, region: str) -> Table:
        return self.world(region).tables["tab"]

    def call(self, operation: str, region: str, **body: Any) -> Any:
        return OPERATIONS[operation].run(self.engine_of(region), self.world(region), body)[0]

    def add(self, region: str) -> None:
        self.call("UpdateTable", self.names[0], TableName="tab", ReplicaUpdates=[{"Create": {"RegionName": region}}])
        while self.table(self.names[0]).record.status != "ACTIVE":
            self.clock.advance(0.01)
            self.catch_up()

    def remove(self, region: str) -> None:
        self.call("UpdateTable", self.names[0], TableName="tab", ReplicaUpdates=[{"Delete": {"RegionName": region}}])
        while "tab" in self.world(region).tables or self.table(self.names[0]).record.status != "ACTIVE":
            self.clock.advance(0.01)
            self.catch_up()

    def heal(self) -> None:
        """Let every region reach every other one."""
        for engine in self.engines():
            for region in list(engine.replication.cut_off):
                engine.replication.heal(region)

    def catch_up(self) -> None:
        for engine in self.engines():
            engine.catch_up()

    # By chance.

    def run(self, steps: int) -> None:
        """Writes in all regions, lags, cuts and restarts."""
        actions: list[tuple[int, Callable[[], None]]] = [
            (50, self.write),
            (20, self.pass_time),
            (25, self.replicate),
            (5, self.cut_or_heal),
            (2, self.change_lag),
            (1, self.start_again),
        ]
        weights = [weight for weight, _ in actions]
        for _ in range(steps):
            self.rng.choices(actions, weights)[0][1]()

    def write(self) -> None:
        region, key = self.rng.choice(self.names), self.rng.choice(KEYS)
        parent = self.version(region, key)
        self._number += 1
        body: dict[str, Any] = {"TableName": "tab"}
        kind = self.rng.choice(("put", "put", "update", "delete"))
        if kind == "put":
            self.call("PutItem", region, **body, Item={"p": {"S": key}, "w": {"N": str(self._number)}})
        elif kind == "update":
            self.call(
                "UpdateItem",
                region,
                **body,
                Key={"p": {"S": key}},
                UpdateExpression="SET u = :w, h = :h",
                ExpressionAttributeValues={":w": {"N": str(self._number)}, ":h": {"S": self.rng.choice("xyz")}},
            )
        else:
            self.call("DeleteItem", region, **body, Key={"p": {"S": key}})
        made = self.version(region, key)
        if made is not None and made != parent:
            assert made[1] == region
            self.writes.parents[key][made] = parent or (0, "")
            if kind == "delete":
                self.writes.deletions.add(made)

    def pass_time(self) -> None:
        self.clock.advance(self.rng.choice((0.01, 0.1, 0.6)))

    def replicate(self) -> None:
        self.rng.choice(self.engines()).replication.work()

    def cut_or_heal(self) -> None:
        region, replication = self.rng.choice(self.names), self.rng.choice(self.engines()).replication
        if region in replication.cut_off:
            replication.heal(region)
        else:
            replication.cut(region)

    def change_lag(self) -> None:
        self.rng.choice(self.engines()).replication.lag_seconds = self.rng.choice((0.0, 0.2, 1.0, 3.0))

    def start_again(self) -> None:
        self.start()

    def settle(self) -> None:
        """Heal everything and wait until nothing is on its way."""
        self.heal()
        self.clock.advance(5)
        while not all(engine.replication.is_caught_up() for engine in self.engines()):
            self.catch_up()
            self.clock.advance(0.5)

    # What there is.

    def version(self, region: str, key: str) -> Name | None:
        table = self.table(region)
        place = table.encode_key({"p": {"S": key}})[7:]
        value = self.engine_of(region).store.get(keyspace.version_prefix(table.number) + place)
        return None if value is None else versions.decode(value).order

    def range(self, region: str, prefix: bytes) -> Iterator[tuple[bytes, bytes]]:
        return self.engine_of(region).store.range(prefix, keyspace.successor(prefix))

    def contents(self, region: str) -> dict[bytes, bytes]:
        """The items of a replica as they are at rest, by place."""
        prefix = self.table(region).prefix
        return {key[len(prefix) :]: value for key, value in self.range(region, prefix)}

    def versions(self, region: str) -> dict[bytes, bytes]:
        prefix = keyspace.version_prefix(self.table(region).number)
        return {key[len(prefix) :]: value for key, value in self.range(region, prefix)}

    def recorded(self, key: str) -> dict[Name, Name]:
        """Which writes were lost to which, as the engine noted it."""
        return {
            (conflict.lost_sequence, conflict.lost_region): (conflict.winning_sequence, conflict.winning_region)
            for engine in self.engines()
            for conflict in engine.replication.conflicts()
            if conflict.key == {"p": {"S": key}}
        }

    def findings(self) -> list[str]:
        return [str(finding) for engine in self.engines() for finding in check(engine.store)]
