"""Writers whose outcomes are known, and the auditor that compares them with what a restarted server has.

Every writer owns some items, so it knows what they must be: the last acknowledged state, or that of the one request
that was unanswered when the server died. What writers share is checked by sums: transfers between accounts leave a
record each, and the balances must be those that the records give; a total only ever grows, and is never less than
anyone was told.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Thread
from typing import Any

from tests.crash.builder import ACCOUNTS, INDEX, ITEMS, Builder
from tests.crash.server import Client, Gone, Refused

LOCAL_INDEX = "by-version"
OWN_ITEMS = 12
OWNERS = 5
ACCOUNT_COUNT = 6
OPENING_BALANCE = 1000

State = dict[str, Any] | None
"""An item as it is kept, or None where there is none."""
Group = dict[str, State]
"""Items that one request changes together or not at all, by name."""


def create_plain_table(client: Client, name: str) -> None:
    """A table whose items have an `id`."""
    client.call(
        "CreateTable",
        TableName=name,
        AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
        KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
        BillingMode="PAY_PER_REQUEST",
    )


def create_tables(client: Client) -> None:
    """The tables and the accounts, before anything is killed."""
    string = [{"AttributeName": name, "AttributeType": "S"} for name in ("writer", "name", "owner")]
    number = {"AttributeName": "version", "AttributeType": "N"}
    keys = [{"AttributeName": "writer", "KeyType": "HASH"}, {"AttributeName": "name", "KeyType": "RANGE"}]
    by_owner = [{"AttributeName": "owner", "KeyType": "HASH"}, {"AttributeName": "version", "KeyType": "RANGE"}]
    by_version = [{"AttributeName": "writer", "KeyType": "HASH"}, {"AttributeName": "version", "KeyType": "RANGE"}]
    everything = {"ProjectionType": "ALL"}
    client.call(
        "CreateTable",
        TableName=ITEMS,
        AttributeDefinitions=[*string, number],
        KeySchema=keys,
        BillingMode="PAY_PER_REQUEST",
        GlobalSecondaryIndexes=[{"IndexName": INDEX, "KeySchema": by_owner, "Projection": everything}],
        LocalSecondaryIndexes=[{"IndexName": LOCAL_INDEX, "KeySchema": by_version, "Projection": everything}],
    )
    create_plain_table(client, ACCOUNTS)
    for number_ in range(ACCOUNT_COUNT):
        account = {"id": {"S": f"account-{number_}"}, "balance": {"N": str(OPENING_BALANCE)}}
        client.call("PutItem", TableName=ACCOUNTS, Item=account)


def key_of(item: dict[str, Any]) -> dict[str, Any]:
    return {"writer": item["writer"], "name": item["name"]}


@dataclass
class Ledger:
    """What one writer was told, and what it asked for without an answer."""

    acknowledged: set[str] = field(default_factory=set)
    unanswered: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    hits_acknowledged: int = 0
    hits_unanswered: int = 0
    hits_read: int = 0


class Writer:
    """One connection that writes at random until the server is gone."""

    def __init__(self, name: str, rng: random.Random) -> None:
        self.name = name
        self.requests = 0
        self.items: dict[str, State] = {f"item-{number}": None for number in range(OWN_ITEMS)}
        self.pending: list[Group] = []
        self.ledger = Ledger()
        self.failure: BaseException | None = None
        self._rng = rng
        self._version = 0
        self._actions: list[Callable[[Client], None]] = [
            *[self._put, self._update, self._delete, self._batch],
            *[self._transact, self._transfer, self._transfer, self._hit, self._hit],
        ]

    def run(self, client: Client) -> None:
        """Write until the server is gone; what else goes wrong is kept in `failure`."""
        try:
            self._repeat_transfers(client)
            while True:
                self._rng.choice(self._actions)(client)
                self.requests += 1
        except Gone:
            pass
        except BaseException as error:
            self.failure = error
        finally:
            client.close()

    # Items of its own

    def _new(self, name: str) -> dict[str, Any]:
        self._version += 1
        item = {
            "writer": {"S": self.name},
            "name": {"S": name},
            "version": {"N": str(self._version)},
            "text": {"S": "x" * self._rng.randrange(300)},
        }
        if self._rng.random() < 0.8:
            item["owner"] = {"S": f"owner-{self._rng.randrange(OWNERS)}"}
        return item

    def _ask(self, client: Client, groups: list[Group], operation: str, **body: Any) -> None:
        """Send a write. Until it is answered, each group may have been applied or not."""
        self.pending = groups
        answer = client.call(operation, **body)
        assert not answer.get("UnprocessedItems")
        for group in groups:
            self.items.update(group)
        self.pending = []

    def _some(self, count: int) -> list[str]:
        return self._rng.sample(list(self.items), count)

    def _put(self, client: Client) -> None:
        (name,) = self._some(1)
        item = self._new(name)
        self._ask(client, [{name: item}], "PutItem", TableName=ITEMS, Item=item)

    def _update(self, client: Client) -> None:
        """Move an item to another owner, on the condition that it is what the writer knows it to be."""
        (name,) = self._some(1)
        old = self.items[name]
        if old is None:
            return
        self._version += 1
        owner = {"S": f"owner-{self._rng.randrange(OWNERS)}"}
        new = old | {"version": {"N": str(self._version)}, "owner": owner}
        self._ask(
            client,
            [{name: new}],
            "UpdateItem",
            TableName=ITEMS,
            Key=key_of(old),
            UpdateExpression="SET version = :new, #owner = :owner",
            ConditionExpression="version = :old",
            ExpressionAttributeNames={"#owner": "owner"},
            ExpressionAttributeValues={":new": new["version"], ":old": old["version"], ":owner": owner},
        )

    def _delete(self, client: Client) -> None:
        (name,) = self._some(1)
        key = {"writer": {"S": self.name}, "name": {"S": name}}
        self._ask(client, [{name: None}], "DeleteItem", TableName=ITEMS, Key=key)

    def _batch(self, client: Client) -> None:
        """Several items, each for itself."""
        groups: list[Group] = []
        requests: list[dict[str, Any]] = []
        for name in self._some(self._rng.randint(2, 6)):
            item = self._new(name)
            if self._rng.random() < 0.7:
                groups.append({name: item})
                requests.append({"PutRequest": {"Item": item}})
            else:
                groups.append({name: None})
                requests.append({"DeleteRequest": {"Key": key_of(item)}})
        self._ask(client, groups, "BatchWriteItem", RequestItems={ITEMS: requests})

    def _transact(self, client: Client) -> None:
        """Several items, all or none."""
        group: Group = {}
        actions: list[dict[str, Any]] = []
        for name in self._some(self._rng.randint(2, 4)):
            item = self._new(name)
            if self._rng.random() < 0.7:
                group[name] = item
                actions.append({"Put": {"TableName": ITEMS, "Item": item}})
            else:
                group[name] = None
                actions.append({"Delete": {"TableName": ITEMS, "Key": key_of(item)}})
        self._ask(client, [group], "TransactWriteItems", TransactItems=actions)

    # What all writers share

    def _transfer(self, client: Client) -> None:
        """Move an amount between two accounts and leave a record of it."""
        source, target = self._rng.sample(range(ACCOUNT_COUNT), 2)
        amount = {"N": str(self._rng.randint(1, 50))}
        self._version += 1
        name = f"transfer-{self.name}-{self._version}"
        record = {"id": {"S": name}, "from": {"N": str(source)}, "to": {"N": str(target)}, "amount": amount}
        actions = [
            _change(source, "SET balance = balance - :amount", amount, "balance >= :amount"),
            _change(target, "SET balance = balance + :amount", amount, "attribute_exists(id)"),
            {"Put": {"TableName": ACCOUNTS, "Item": record, "ConditionExpression": "attribute_not_exists(id)"}},
        ]
        self.ledger.unanswered[name] = actions
        try:
            client.call("TransactWriteItems", ClientRequestToken=name, TransactItems=actions)
        except Refused as refusal:
            assert refusal.name == "TransactionCanceledException", refusal
        else:
            self.ledger.acknowledged.add(name)
        del self.ledger.unanswered[name]

    def _repeat_transfers(self, client: Client) -> None:
        """Ask again, with the same token, for what was not answered: what was applied is not applied twice."""
        for name, actions in list(self.ledger.unanswered.items()):
            try:
                client.call("TransactWriteItems", ClientRequestToken=name, TransactItems=actions)
            except Refused as refusal:
                assert refusal.name == "TransactionCanceledException", refusal
                assert name not in self.ledger.acknowledged, f"{name} was applied and is refused when repeated"
            else:
                self.ledger.acknowledged.add(name)
            del self.ledger.unanswered[name]

    def _hit(self, client: Client) -> None:
        self.ledger.hits_unanswered = 1
        client.call(
            "UpdateItem",
            TableName=ACCOUNTS,
            Key={"id": {"S": "hits"}},
            UpdateExpression="ADD hits :one",
            ExpressionAttributeValues={":one": {"N": "1"}},
        )
        self.ledger.hits_unanswered = 0
        self.ledger.hits_acknowledged += 1


class Reader(Writer):
    """Reads the total over and over: one that was read must not be taken back, whoever's write it shows."""

    def __init__(self, name: str, rng: random.Random) -> None:
        super().__init__(name, rng)
        self._actions = [self._read_hits]

    def _read_hits(self, client: Client) -> None:
        answer = client.call("GetItem", TableName=ACCOUNTS, Key={"id": {"S": "hits"}}, ConsistentRead=True)
        if "Item" in answer:
            self.ledger.hits_read = max(self.ledger.hits_read, int(answer["Item"]["hits"]["N"]))


def _change(account: int, expression: str, amount: dict[str, str], condition: str) -> dict[str, Any]:
    return {
        "Update": {
            "TableName": ACCOUNTS,
            "Key": {"id": {"S": f"account-{account}"}},
            "UpdateExpression": expression,
            "ConditionExpression": condition,
            "ExpressionAttributeValues": {":amount": amount},
        }
    }


class Workload:
    """Writers side by side, and what must be true of their data whenever a server starts."""

    def __init__(self, writers: int, rng: random.Random) -> None:
        self.writers = [Writer(f"writer-{number}", random.Random(rng.random())) for number in range(writers)]
        self.writers.append(Reader("reader", random.Random(rng.random())))
        self._builder = Builder(random.Random(rng.random()))
        self.unanswered_applied, self.unanswered_lost = 0, 0
        self._threads: list[Thread] = []
        self._hits_least = 0

    def start(self, url: str) -> None:
        everyone = [*self.writers, self._builder]
        self._threads = [Thread(target=each.run, args=(Client(url),)) for each in everyone]
        for thread in self._threads:
            thread.start()

    def join(self) -> int:
        """Wait until all writers have noticed that the server is gone; how many requests were answered."""
        for thread in self._threads:
            thread.join(30)
            assert not thread.is_alive()
        for each in [*self.writers, self._builder]:
            if each.failure is not None:
                raise each.failure
        answered = sum(writer.requests for writer in self.writers)
        for writer in self.writers:
            writer.requests = 0
        return answered

    def audit(self, client: Client) -> None:
        """Compare, and take what was found for what is known from now on."""
        items = client.everything(ITEMS)
        self._audit_items(items)
        self._audit_indexes(client, items)
        self._audit_accounts(client.everything(ACCOUNTS))
        self._builder.audit(client)

    def _audit_items(self, items: list[dict[str, Any]]) -> None:
        found = {(item["writer"]["S"], item["name"]["S"]): item for item in items}
        assert len(found) == len(items), "an item is there twice"
        for writer in self.writers:
            actual = {name: found.pop((writer.name, name), None) for name in writer.items}
            for group in writer.pending:
                if all(actual[name] == state for name, state in group.items()):
                    writer.items.update(group)
                    self.unanswered_applied += 1
                else:
                    self.unanswered_lost += 1
            assert actual == writer.items, f"{writer.name}: {_difference(writer.items, actual)}, {writer.pending=}"
            writer.pending = []
        assert not found, f"items that nobody wrote: {found}"

    @staticmethod
    def _audit_indexes(client: Client, items: list[dict[str, Any]]) -> None:
        for index, expected in ((INDEX, [item for item in items if "owner" in item]), (LOCAL_INDEX, items)):
            entries = client.everything(ITEMS, index)
            assert sorted(entries, key=repr) == sorted(expected, key=repr), f"{index} and its table differ"
        counted = client.call("DescribeTable", TableName=ITEMS)["Table"]["ItemCount"]
        assert counted == len(items), f"the table has {len(items)} items and counts {counted}"

    def _audit_accounts(self, items: list[dict[str, Any]]) -> None:
        found = {item["id"]["S"]: item for item in items}
        records = {name: item for name, item in found.items() if name.startswith("transfer-")}
        acknowledged = set().union(*[writer.ledger.acknowledged for writer in self.writers])
        unanswered = set().union(*[writer.ledger.unanswered for writer in self.writers])
        assert records.keys() >= acknowledged, f"lost transfers: {acknowledged - records.keys()}"
        assert records.keys() <= acknowledged | unanswered, f"unknown transfers: {records.keys() - acknowledged}"
        balances = Counter(dict.fromkeys(range(ACCOUNT_COUNT), OPENING_BALANCE))
        for record in records.values():
            balances[int(record["from"]["N"])] -= int(record["amount"]["N"])
            balances[int(record["to"]["N"])] += int(record["amount"]["N"])
        kept = {number: int(found[f"account-{number}"]["balance"]["N"]) for number in range(ACCOUNT_COUNT)}
        assert kept == dict(balances), f"balances {kept}, their records say {dict(balances)}"
        self._audit_hits(int(found["hits"]["hits"]["N"]) if "hits" in found else 0)
        for writer in self.writers:
            ledger = writer.ledger
            done = (ledger.acknowledged | ledger.unanswered.keys()) & records.keys()
            writer.ledger = Ledger(acknowledged=done, unanswered=ledger.unanswered)

    def _audit_hits(self, hits: int) -> None:
        ledgers = [writer.ledger for writer in self.writers]
        least = self._hits_least + sum(ledger.hits_acknowledged for ledger in ledgers)
        most = least + sum(ledger.hits_unanswered for ledger in ledgers)
        assert least <= hits <= most, f"{hits} hits, expected from {least} to {most}"
        read = max(ledger.hits_read for ledger in ledgers)
        assert hits >= read, f"{hits} hits, and somebody had read {read}"
        self._hits_least = hits


def _difference(expected: dict[str, State], actual: dict[str, State]) -> str:
    names = [name for name in expected if expected[name] != actual[name]]
    return "; ".join(f"{name} is {actual[name]}, expected {expected[name]}" for name in names)
