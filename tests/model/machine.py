"""The state machine: every step makes one call, asks the model what the answer should be, and compares all of it."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any, ClassVar, Protocol

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from tests.model import generators as g
from tests.model.calls import (
    Body,
    action_name,
    assert_refused,
    by_name,
    capacities,
    capacity,
    create_table,
    metrics,
    read_checked,
    read_metrics,
    write_request,
)
from tests.model.reference import writes as w
from tests.model.reference.answers import Cancelled, ConditionFailed, Refused, Unknown
from tests.model.reference.paths import Names, Path, project
from tests.model.reference.tables import Table, Units
from tests.model.reference.values import Item, read_item, write_item

CAPACITY_MODES = st.sampled_from(["INDEXES", "INDEXES", "TOTAL", "NONE"])
_serial = itertools.count(1)


class Driver(Protocol):
    """A way to reach an engine."""

    def call(self, operation: str, body: Body) -> tuple[int, Body]: ...


class DataPlane(RuleBasedStateMachine):
    """Writes and point reads; `Reading` adds queries and scans."""

    connect: ClassVar[Callable[[], Driver]]

    @initialize(data=st.data())
    def start(self, data: Any) -> None:
        self.driver = type(self).connect()
        self.last_transaction: tuple[Body, dict[str, tuple[Table, Units]]] | None = None
        self.tables = [data.draw(g.tables(f"model-{next(_serial)}"), label="table") for _ in range(2)]
        for table in self.tables:
            self.succeed("CreateTable", create_table(table))
            self.fill(table, data.draw(st.integers(0, 30)), data.draw(st.integers(0, 999)), data)

    def fill(self, table: Table, count: int, seed: int, data: Any) -> None:
        items = g.fill(table, count, seed, huge=data.draw(st.integers(0, 9)) == 9)
        for first in range(0, len(items), 25):
            chosen = items[first : first + 25]
            requests = [{"PutRequest": {"Item": write_item(item)}} for item in chosen]
            w.batch([w.Put(table, item) for item in chosen])
            answer = self.succeed("BatchWriteItem", {"RequestItems": {table.name: requests}})
            assert answer["UnprocessedItems"] == {}

    def teardown(self) -> None:
        for table in getattr(self, "tables", []):
            self.succeed("DeleteTable", {"TableName": table.name})

    def succeed(self, operation: str, body: Body) -> Body:
        status, answer = self.driver.call(operation, body)
        assert status == 200, (operation, body, answer)
        return answer

    def refuse(self, operation: str, body: Body, refusal: Refused) -> None:
        status, answer = self.driver.call(operation, body)
        assert_refused(status, answer, refusal, (operation, body))
        if isinstance(refusal, ConditionFailed):
            assert read_checked(answer.get("Item")) == refusal.item

    def table(self, data: Any) -> Table:
        table: Table = data.draw(st.sampled_from(self.tables), label="table")
        return table

    # --- one write ---

    @rule(data=st.data())
    def put(self, data: Any) -> None:
        table = self.table(data)
        write = w.Put(table, data.draw(g.items(table)), data.draw(g.write_conditions(table)), data.draw(st.booleans()))
        self.write_one("PutItem", write, data, data.draw(st.sampled_from(["NONE", "ALL_OLD"])))

    @rule(data=st.data())
    def delete(self, data: Any) -> None:
        table = self.table(data)
        condition, shown = data.draw(g.write_conditions(table)), data.draw(st.booleans())
        write = w.Erase(table, data.draw(g.keys(table)), condition, shown)
        self.write_one("DeleteItem", write, data, data.draw(st.sampled_from(["NONE", "ALL_OLD"])))

    @rule(data=st.data())
    def update(self, data: Any) -> None:
        table = self.table(data)
        condition, shown = data.draw(g.write_conditions(table)), data.draw(st.booleans())
        write = w.Update(table, data.draw(g.keys(table)), data.draw(g.actions()), condition, shown)
        wanted = st.sampled_from(["NONE", "ALL_OLD", "ALL_NEW", "UPDATED_OLD", "UPDATED_NEW"])
        self.write_one("UpdateItem", write, data, data.draw(wanted))

    def write_one(self, operation: str, write: w.Write, data: Any, wanted: str) -> None:
        mode, sized = data.draw(CAPACITY_MODES), data.draw(st.booleans())
        body = write_request(write) | {"ReturnValues": wanted, "ReturnConsumedCapacity": mode}
        if sized:
            body["ReturnItemCollectionMetrics"] = "SIZE"
        try:
            outcome = w.decide(write)
        except Unknown:
            return
        except Refused as refusal:
            self.refuse(operation, body, refusal)
            return
        outcome.commit()
        answer = self.succeed(operation, body)
        actions = write.actions if isinstance(write, w.Update) else []
        assert read_checked(answer.get("Attributes")) == w.returned(outcome, wanted, actions)
        expected = None if mode == "NONE" else capacity(write.table, outcome.units, mode)
        assert answer.get("ConsumedCapacity") == expected, (answer.get("ConsumedCapacity"), expected)
        if sized and write.table.has_local_index:
            assert [read_metrics(answer["ItemCollectionMetrics"])] == metrics([outcome.key])
        else:
            assert "ItemCollectionMetrics" not in answer

    @rule(operation=st.sampled_from(["PutItem", "GetItem", "Query", "Scan", "key attribute"]))
    def refused_outright(self, operation: str) -> None:
        """Refusals that need no item."""
        if operation == "key attribute":
            self.update_a_key_attribute(self.tables[0])
            return
        body: Body = {"TableName": "no-such-table"}
        if operation == "PutItem":
            body["Item"] = {"pk": {"S": "a"}}
        elif operation == "GetItem":
            body["Key"] = {"pk": {"S": "a"}}
        elif operation == "Query":
            body |= {"KeyConditionExpression": "pk = :v", "ExpressionAttributeValues": {":v": {"S": "a"}}}
        self.refuse(operation, body, Refused("Requested resource not found", code="ResourceNotFoundException"))

    def update_a_key_attribute(self, table: Table) -> None:
        body = {
            "TableName": table.name,
            "Key": write_item({key: g.KEY_VALUES[kind][0] for key, kind in table.key}),
            "UpdateExpression": "SET pk = :v",
            "ExpressionAttributeValues": {":v": {"S": "a"}},
        }
        text = "Cannot update attribute pk. This attribute is part of the key"
        self.refuse("UpdateItem", body, Refused(f"One or more parameter values were invalid: {text}"))

    # --- point reads ---

    @rule(data=st.data(), consistent=st.booleans(), paths=st.none() | g.projections)
    def get(self, data: Any, consistent: bool, paths: list[Path] | None) -> None:
        table, mode = self.table(data), data.draw(CAPACITY_MODES)
        key = data.draw(g.keys(table))
        names = Names()
        body = {
            "TableName": table.name,
            "Key": write_item(key),
            "ConsistentRead": consistent,
            "ReturnConsumedCapacity": mode,
        }
        if paths is not None:
            body["ProjectionExpression"] = ", ".join(map(names.path, paths))
        body |= names.members()
        try:
            table.check_key(key)
        except Refused as refusal:
            self.refuse("GetItem", body, refusal)
            return
        answer, item = self.succeed("GetItem", body), table.find(key)
        expected = item if item is None or paths is None else project(item, paths)
        assert read_checked(answer.get("Item")) == expected
        units = Units(w.get_units(item, consistent))
        assert answer.get("ConsumedCapacity") == (None if mode == "NONE" else capacity(table, units, mode))

    @rule(data=st.data(), consistent=st.booleans())
    def batch_get(self, data: Any, consistent: bool) -> None:
        mode, units, expected = data.draw(CAPACITY_MODES), {}, {}
        requests: Body = {}
        for table in self.tables:
            keys = [key for key in data.draw(st.lists(g.keys(table), max_size=4)) if w.is_good_key(table, key)]
            keys = list({w.position(key): key for key in keys}.values())
            if keys:
                requests[table.name] = {"Keys": [write_item(key) for key in keys], "ConsistentRead": consistent}
                charge = Units(sum(w.get_units(table.find(key), consistent) for key in keys))
                units[table.name] = (table, charge)
                expected[table.name] = [item for item in map(table.find, keys) if item is not None]
        if not requests:
            return
        answer = self.succeed("BatchGetItem", {"RequestItems": requests, "ReturnConsumedCapacity": mode})
        assert answer["UnprocessedKeys"] == {}
        assert set(answer["Responses"]) == set(expected)
        for name, items in answer["Responses"].items():
            found = [read_item(item) for item in items]
            assert len(found) == len(expected[name])
            assert all(item in found for item in expected[name])
        assert by_name(answer.get("ConsumedCapacity")) == capacities(units, mode)

    @rule(data=st.data())
    def transact_get(self, data: Any) -> None:
        mode, units, expected, gets = data.draw(CAPACITY_MODES), {}, [], []
        places = set()
        for _ in range(data.draw(st.integers(1, 4))):
            table = self.table(data)
            key = data.draw(g.keys(table))
            if not w.is_good_key(table, key) or (table.name, w.position(key)) in places:
                continue
            places.add((table.name, w.position(key)))
            gets.append({"Get": {"TableName": table.name, "Key": write_item(key)}})
            item = table.find(key)
            expected.append(item)
            units.setdefault(table.name, (table, Units()))[1].add(Units(2 * w.get_units(item, True)))
        if not gets:
            return
        answer = self.succeed("TransactGetItems", {"TransactItems": gets, "ReturnConsumedCapacity": mode})
        assert [read_checked(entry.get("Item")) for entry in answer["Responses"]] == expected
        assert by_name(answer.get("ConsumedCapacity")) == capacities(units, mode, "ReadCapacityUnits")

    # --- several writes ---

    @rule(data=st.data())
    def batch_write(self, data: Any) -> None:
        mode, sized = data.draw(CAPACITY_MODES), data.draw(st.booleans())
        writes: list[w.Put | w.Erase] = []
        for _ in range(data.draw(st.integers(1, 5))):
            table = self.table(data)
            put = data.draw(st.booleans())
            writes.append(w.Put(table, data.draw(g.items(table))) if put else w.Erase(table, data.draw(g.keys(table))))
        requests: Body = {}
        for write in writes:
            member = (
                {"PutRequest": {"Item": write_item(write.item)}}
                if isinstance(write, w.Put)
                else {"DeleteRequest": {"Key": write_item(write.key)}}
            )
            requests.setdefault(write.table.name, []).append(member)
        body: Body = {"RequestItems": requests, "ReturnConsumedCapacity": mode}
        if sized:
            body["ReturnItemCollectionMetrics"] = "SIZE"
        try:
            outcomes = w.batch(writes)
        except Unknown:
            return
        except Refused as refusal:
            self.refuse("BatchWriteItem", body, refusal)
            return
        answer = self.succeed("BatchWriteItem", body)
        assert answer["UnprocessedItems"] == {}
        assert by_name(answer.get("ConsumedCapacity")) == capacities(sum_units(outcomes), mode)
        self.assert_metrics(answer, outcomes if sized else [])

    @rule(data=st.data())
    def transact_write(self, data: Any) -> None:
        mode, sized = data.draw(CAPACITY_MODES), data.draw(st.booleans())
        writes = [self.transact_action(data) for _ in range(data.draw(st.integers(1, 4)))]
        body: Body = {
            "TransactItems": [{action_name(write): write_request(write)} for write in writes],
            "ReturnConsumedCapacity": mode,
            "ClientRequestToken": f"token-{next(_serial)}",
        }
        if sized:
            body["ReturnItemCollectionMetrics"] = "SIZE"
        try:
            outcomes = w.transact(writes)
        except Unknown:
            return
        except Refused as refusal:
            self.refuse("TransactWriteItems", body, refusal)
            return
        except Cancelled as cancelled:
            self.assert_cancelled(body, cancelled.reasons)
            return
        answer = self.succeed("TransactWriteItems", body)
        units = capacities(sum_units(outcomes), mode, "WriteCapacityUnits")
        assert by_name(answer.get("ConsumedCapacity")) == units
        self.assert_metrics(answer, [outcome for outcome in outcomes if outcome.writes] if sized else [])
        reads: dict[str, tuple[Table, Units]] = {}
        for outcome in outcomes:
            charge = reads.setdefault(outcome.table.name, (outcome.table, Units()))[1]
            charge.add(Units(w.replay_units(outcome)))
        self.last_transaction = body, reads

    def transact_action(self, data: Any) -> w.Write:
        table = self.table(data)
        shown, condition = data.draw(st.booleans()), data.draw(g.write_conditions(table))
        match data.draw(st.sampled_from(["put", "put", "update", "delete", "check"])):
            case "put":
                return w.Put(table, data.draw(g.items(table)), condition, shown)
            case "update":
                actions = data.draw(g.actions().filter(bool))
                return w.Update(table, data.draw(g.keys(table)), actions, condition, shown)
            case "delete":
                return w.Erase(table, data.draw(g.keys(table)), condition, shown)
        return w.Check(table, data.draw(g.keys(table)), condition or data.draw(g.conditions()), shown)

    def assert_cancelled(self, body: Body, reasons: list[Refused | None]) -> None:
        status, answer = self.driver.call("TransactWriteItems", body)
        assert status == 400, answer
        assert answer["__type"].endswith("#TransactionCanceledException"), answer
        codes = []
        for reason, expected in zip(answer["CancellationReasons"], reasons, strict=True):
            codes.append(reason["Code"])
            if expected is None:
                assert reason == {"Code": "None"}, (reason, reasons)
            elif isinstance(expected, ConditionFailed):
                assert reason["Code"] == "ConditionalCheckFailed", reason
                assert reason["Message"] == expected.texts[0]
                assert read_checked(reason.get("Item")) == expected.item
            else:
                assert reason["Code"] == "ValidationError", (reason, expected.texts)
                assert reason["Message"] in expected.texts
        text = "Transaction cancelled, please refer cancellation reasons for specific reasons"
        assert answer["Message"] == f"{text} [{', '.join(codes)}]"

    @rule(changed=st.booleans(), mode=CAPACITY_MODES)
    def repeat_the_last_token(self, changed: bool, mode: str) -> None:
        """The same token once more writes nothing; with another request it is refused."""
        if self.last_transaction is None:
            return
        body, reads = self.last_transaction
        body = body | {"ReturnConsumedCapacity": mode}
        if changed:
            body["TransactItems"] = [
                *body["TransactItems"],
                {"Put": {"TableName": "other", "Item": {"pk": {"S": "?"}}}},
            ]
            status, answer = self.driver.call("TransactWriteItems", body)
            assert status == 400
            assert answer["__type"].endswith("#IdempotentParameterMismatchException"), answer
        else:
            answer = self.succeed("TransactWriteItems", body)
            assert by_name(answer.get("ConsumedCapacity")) == capacities(reads, mode, "ReadCapacityUnits")

    def assert_metrics(self, answer: Body, outcomes: list[w.Outcome]) -> None:
        """ItemCollectionMetrics of several writes: only tables with a local index have any."""
        expected: dict[str, list[Item]] = {}
        for outcome in outcomes:
            if outcome.table.has_local_index:
                expected.setdefault(outcome.table.name, []).append(outcome.key)
        found = answer.get("ItemCollectionMetrics") or {}
        assert set(found) == set(expected)
        for name, entries in found.items():
            entries, wanted = [read_metrics(entry) for entry in entries], metrics(expected[name])
            assert all(entry in wanted for entry in entries)
            assert all(entry in entries for entry in wanted)


def sum_units(outcomes: list[w.Outcome]) -> dict[str, tuple[Table, Units]]:
    """The charge of several writes by table."""
    units: dict[str, tuple[Table, Units]] = {}
    for outcome in outcomes:
        units.setdefault(outcome.table.name, (outcome.table, Units()))[1].add(outcome.units)
    return units
