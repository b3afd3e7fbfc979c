"""An engine on a memory store and a manual clock, with the control plane's operations at hand."""

from __future__ import annotations

from typing import Any

import pytest

from dynamometer.base.clock import ManualClock
from dynamometer.base.config import Settings
from dynamometer.base.errors import ServiceError
from dynamometer.base.rng import seeded
from dynamometer.engine.engine import Engine
from dynamometer.engine.operations import load
from dynamometer.storage.interface import Store
from dynamometer.storage.memory import MemoryStore

Body = dict[str, Any]

ACCOUNT = "123456789012"
REGION = "us-east-1"
INVALID = "One or more parameter values were invalid: "
IN_USE = "Attempt to change a resource which is still in use: "


def key(*names: str) -> list[Body]:
    """A KeySchema: the first attribute is the partition key, a name with a colon says what it is."""
    elements = []
    for number, name in enumerate(names):
        bare, _, kind = name.partition(":")
        elements.append({"AttributeName": bare, "KeyType": kind or ("RANGE" if number else "HASH")})
    return elements


def types(**kinds: str) -> list[Body]:
    """AttributeDefinitions."""
    return [{"AttributeName": name, "AttributeType": kind} for name, kind in kinds.items()]


def index(name: str, *names: str, **more: Any) -> Body:
    """An index that projects everything, unless `more` says otherwise."""
    return {"IndexName": name, "KeySchema": key(*names), "Projection": {"ProjectionType": "ALL"}} | more


def units(read: int, write: int) -> Body:
    """Provisioned throughput."""
    return {"ReadCapacityUnits": read, "WriteCapacityUnits": write}


class Tables:
    """One engine's operations on one world."""

    def __init__(self, transition_seconds: float = 0.0, store: Store | None = None, **settings: Any) -> None:
        self.store = store if store is not None else MemoryStore()
        self.clock = ManualClock()
        self.settings = Settings(table_transition_seconds=transition_seconds, **settings)
        self._operations = load()
        self.open()

    def open(self) -> None:
        """Start an engine on the store, as after a restart."""
        self.engine = Engine(self.store, self.clock, seeded(1), self.settings)
        self.world = self.engine.world(ACCOUNT, REGION)

    def call(self, operation: str, **body: Any) -> Body:
        """One request."""
        return self._operations[operation].run(self.engine, self.world, body)[0]

    def create(self, name: str = "abc", **body: Any) -> Body:
        """A table with partition key p, on demand, unless `body` says otherwise."""
        defaults: Body = {"KeySchema": key("p"), "AttributeDefinitions": types(p="S")}
        if "ProvisionedThroughput" not in body:
            defaults["BillingMode"] = "PAY_PER_REQUEST"
        given = {member: value for member, value in (defaults | body).items() if value is not None}
        description: Body = self.call("CreateTable", TableName=name, **given)["TableDescription"]
        return description

    def describe(self, name: str = "abc") -> Body:
        description: Body = self.call("DescribeTable", TableName=name)["Table"]
        return description

    def update(self, name: str = "abc", **body: Any) -> Body:
        description: Body = self.call("UpdateTable", TableName=name, **body)["TableDescription"]
        return description

    def delete(self, name: str = "abc") -> Body:
        description: Body = self.call("DeleteTable", TableName=name)["TableDescription"]
        return description

    def global_index(self, name: str) -> Body:
        """The description of one global index."""
        indexes: list[Body] = self.describe()["GlobalSecondaryIndexes"]
        return next(each for each in indexes if each["IndexName"] == name)

    def refused(self, operation: str, **body: Any) -> tuple[str, str | None]:
        """The error's name and message of a request that must fail."""
        with pytest.raises(ServiceError) as raised:
            self.call(operation, **body)
        return type(raised.value).__name__, raised.value.message

    def refused_table(self, **body: Any) -> str | None:
        """The message of a CreateTable that must fail with a ValidationException."""
        defaults: Body = {"KeySchema": key("p"), "AttributeDefinitions": types(p="S")}
        if "ProvisionedThroughput" not in body and "BillingMode" not in body:
            defaults["BillingMode"] = "PAY_PER_REQUEST"
        name, message = self.refused("CreateTable", TableName="abc", **defaults | body)
        assert name == "ValidationException"
        assert "abc" not in self.call("ListTables")["TableNames"]
        return message

    def refused_update(self, **body: Any) -> tuple[str, str | None]:
        """The error of an UpdateTable that must fail, and change nothing."""
        before = self.describe()
        error = self.refused("UpdateTable", TableName="abc", **body)
        assert self.describe() == before
        return error

    def put(self, **item: Body) -> None:
        self.call("PutItem", TableName="abc", Item=item)
