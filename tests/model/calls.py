"""From the model's terms to requests, and from answers back: what is sent, and what is expected."""

from __future__ import annotations

from typing import Any

from tests.model.reference.answers import Refused
from tests.model.reference.conditions import Condition
from tests.model.reference.paths import Names
from tests.model.reference.tables import Table, Units
from tests.model.reference.updates import text as update_text
from tests.model.reference.values import Item, assert_canonical, read_item, write_item
from tests.model.reference.writes import Check, Erase, Put, Update, Write

Body = dict[str, Any]
THROUGHPUT = {"ReadCapacityUnits": 100, "WriteCapacityUnits": 100}


def create_table(table: Table) -> Body:
    """The CreateTable request of a table: provisioned so low that it has one partition, and scans one."""
    kinds = dict(pair for key in [table.key, *(index.key for index in table.indexes)] for pair in key)
    body: Body = {
        "TableName": table.name,
        "ProvisionedThroughput": THROUGHPUT,
        "AttributeDefinitions": [{"AttributeName": name, "AttributeType": kind} for name, kind in kinds.items()],
        "KeySchema": key_schema(table.key),
    }
    for index in table.indexes:
        projection: Body = {"ProjectionType": index.projection}
        if index.included:
            projection["NonKeyAttributes"] = list(index.included)
        member = "GlobalSecondaryIndexes" if index.is_global else "LocalSecondaryIndexes"
        entry = {"IndexName": index.name, "KeySchema": key_schema(index.key), "Projection": projection}
        if index.is_global:
            entry["ProvisionedThroughput"] = THROUGHPUT
        body.setdefault(member, []).append(entry)
    return body


def key_schema(key: tuple[tuple[str, str], ...]) -> list[Body]:
    return [{"AttributeName": name, "KeyType": kind} for (name, _), kind in zip(key, ("HASH", "RANGE"), strict=False)]


def write_request(write: Write) -> Body:
    """The members of one write, as PutItem and its kin and the transaction's actions share them."""
    names = Names()
    body: Body = {"TableName": write.table.name}
    if isinstance(write, Put):
        body["Item"] = write_item(write.item)
    else:
        body["Key"] = write_item(write.key)
    if isinstance(write, Update) and write.actions:
        body["UpdateExpression"] = update_text(write.actions, names)
    if write.condition is not None:
        body["ConditionExpression"] = write.condition.text(names)
    if write.show_failed:
        body["ReturnValuesOnConditionCheckFailure"] = "ALL_OLD"
    return body | names.members()


def action_name(write: Write) -> str:
    return {Put: "Put", Update: "Update", Erase: "Delete", Check: "ConditionCheck"}[type(write)]


def filter_members(condition: Condition | None, names: Names) -> Body:
    return {} if condition is None else {"FilterExpression": condition.text(names)}


def capacity(table: Table, units: Units, mode: str, member: str = "") -> Body:
    """A ConsumedCapacity; `member` is the name that transactions repeat their units under."""

    def level(amount: float) -> Body:
        return {"CapacityUnits": amount} | ({member: amount} if member else {})

    body = {"TableName": table.name} | level(units.total)
    if mode == "INDEXES":
        body["Table"] = level(units.table)
        for index in table.indexes:
            if index.name in units.indexes:
                kind = "GlobalSecondaryIndexes" if index.is_global else "LocalSecondaryIndexes"
                body.setdefault(kind, {})[index.name] = level(units.indexes[index.name])
    return body


def capacities(units: dict[str, tuple[Table, Units]], mode: str, member: str = "") -> list[Body] | None:
    """The list form, in the order of the tables' names."""
    if mode == "NONE":
        return None
    return [capacity(table, charge, mode, member) for _, (table, charge) in sorted(units.items())]


def by_name(entries: list[Body] | None) -> list[Body] | None:
    """A list of ConsumedCapacity in the order of the tables' names: the service's own order is open."""
    return None if entries is None else sorted(entries, key=lambda entry: str(entry["TableName"]))


def metrics(keys: list[Item]) -> list[Body]:
    """ItemCollectionMetrics of small collections, each named once."""
    found: list[Body] = []
    for key in keys:
        entry = {"ItemCollectionKey": {"pk": key["pk"]}, "SizeEstimateRangeGB": [0.0, 1.0]}
        if entry not in found:
            found.append(entry)
    return found


def read_metrics(entry: Body) -> Body:
    return entry | {"ItemCollectionKey": read_item(entry["ItemCollectionKey"])}


def read_checked(wire: Body | None) -> Item | None:
    """An item of an answer."""
    if wire is None:
        return None
    assert_canonical(wire)
    return read_item(wire)


def assert_refused(status: int, body: Body, refusal: Refused, call: object = None) -> None:
    """An answer is this refusal. `call` is shown when it is not."""
    assert status == 400, (status, body, call)
    code = body["__type"].rpartition("#")[2]
    message = body.get("message", body.get("Message"))
    assert code == refusal.code, (body, refusal.texts, call)
    assert message in refusal.texts, (message, refusal.texts, call)
