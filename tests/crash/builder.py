"""Tables and indexes that come and go while the others write: a change of one is as whole and as lasting as a write."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from tests.crash.server import Client, Gone, Refused

ITEMS, ACCOUNTS = "items", "accounts"
INDEX = "by-owner"
SCRATCH = "scratch"
LATE_INDEX = "made-late"
_BUSY = {"ResourceInUseException", "LimitExceededException", "ResourceNotFoundException", "ValidationException"}
"""How a change is refused while another one is under way, or when it has been made already."""


class Builder:
    """Makes and removes a table of its own, and an index on the table that everyone writes to."""

    def __init__(self, rng: random.Random) -> None:
        self.failure: BaseException | None = None
        self.requests = 0
        self.scratch: set[bool] = {False}
        """Whether the table may be there: one answer, or both after a request that was not answered."""
        self._rng = rng

    def run(self, client: Client) -> None:
        """Change things until the server is gone."""
        try:
            while True:
                action: Callable[[Client], None] = self._rng.choice([self._table, self._index, self._look])
                action(client)
                self.requests += 1
        except Gone:
            pass
        except BaseException as error:
            self.failure = error
        finally:
            client.close()

    def audit(self, client: Client) -> None:
        """The table is there or not, as was last said; an index that is ready shows what its table has."""
        there = SCRATCH in client.call("ListTables")["TableNames"]
        assert there in self.scratch, f"the table {SCRATCH} is {'' if there else 'not '}there"
        self.scratch = {there}
        if there:
            items = client.everything(SCRATCH)
            assert items in ([], [_ITEM]), items
        if self._indexes(client).get(LATE_INDEX) == "ACTIVE":
            late, other = client.everything(ITEMS, LATE_INDEX), client.everything(ITEMS, INDEX)
            missing = [item for item in other if item not in late]
            surplus = [item for item in late if item not in other]
            assert not missing and not surplus, f"{LATE_INDEX} lacks {missing} and has {surplus}"
            assert len(late) == len(other)

    def _table(self, client: Client) -> None:
        there = self.scratch == {True}
        self.scratch = {True, False}
        if there:
            self._ask(client, "DeleteTable", TableName=SCRATCH)
        else:
            self._ask(
                client,
                "CreateTable",
                TableName=SCRATCH,
                AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
                KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
                BillingMode="PAY_PER_REQUEST",
            )
            self._ask(client, "PutItem", TableName=SCRATCH, Item=_ITEM)
        self.scratch = {not there}

    def _index(self, client: Client) -> None:
        """Ask for the index, or for its end, whichever it is time for."""
        if LATE_INDEX in self._indexes(client):
            change: dict[str, Any] = {"Delete": {"IndexName": LATE_INDEX}}
        else:
            keys = [{"AttributeName": "owner", "KeyType": "HASH"}]
            change = {"Create": {"IndexName": LATE_INDEX, "KeySchema": keys, "Projection": {"ProjectionType": "ALL"}}}
        definition = [{"AttributeName": "owner", "AttributeType": "S"}]
        request = {"TableName": ITEMS, "AttributeDefinitions": definition, "GlobalSecondaryIndexUpdates": [change]}
        self._ask(client, "UpdateTable", **request)

    def _look(self, client: Client) -> None:
        """Read the index when it can be read."""
        if self._indexes(client).get(LATE_INDEX) == "ACTIVE":
            self._ask(client, "Scan", TableName=ITEMS, IndexName=LATE_INDEX)

    @staticmethod
    def _indexes(client: Client) -> dict[str, str]:
        table = client.call("DescribeTable", TableName=ITEMS)["Table"]
        return {each["IndexName"]: each["IndexStatus"] for each in table["GlobalSecondaryIndexes"]}

    @staticmethod
    def _ask(client: Client, operation: str, **body: Any) -> None:
        try:
            client.call(operation, **body)
        except Refused as refusal:
            assert refusal.name in _BUSY, refusal


_ITEM = {"id": {"S": "only"}}
