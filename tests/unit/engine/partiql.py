"""A table, and statements on it, for the PartiQL tests."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from botocore.exceptions import ClientError

import dynamometer

NAMES = ("pk", "sk", "g", "l")


class Statements:
    """A client and the shortest ways to say what a statement should do."""

    def __init__(self, client: Any) -> None:
        self.client = client

    def put(self, pk: str, sk: str = "1", **attributes: Any) -> None:
        self.client.put_item(TableName="tbl", Item={"pk": {"S": pk}, "sk": {"S": sk}, **attributes})

    def get(self, pk: str, sk: str = "1") -> Any:
        return self.client.get_item(TableName="tbl", Key={"pk": {"S": pk}, "sk": {"S": sk}}).get("Item")

    def run(self, statement: str, *parameters: Any, **members: Any) -> Any:
        if parameters:
            members["Parameters"] = list(parameters)
        return self.client.execute_statement(Statement=statement, **members)

    def items(self, statement: str, *parameters: Any, **members: Any) -> Any:
        return self.run(statement, *parameters, **members)["Items"]

    def sort_keys(self, where: str, *parameters: Any) -> list[str]:
        return [item["sk"]["S"] for item in self.items(f'SELECT * FROM "tbl" WHERE {where}', *parameters)]

    def refusal(self, statement: str, *parameters: Any, **members: Any) -> str:
        """The text of a ValidationException."""
        return self.error("ValidationException", statement, *parameters, **members)

    def error(self, code: str, statement: str, *parameters: Any, **members: Any) -> str:
        with pytest.raises(ClientError) as caught:
            self.run(statement, *parameters, **members)
        assert caught.value.response["Error"]["Code"] == code
        return str(caught.value.response["Error"]["Message"])

    def batch(self, *statements: str, **members: Any) -> Any:
        return self.client.batch_execute_statement(Statements=[{"Statement": each} for each in statements], **members)

    def transact(self, *statements: str, **members: Any) -> Any:
        return self.client.execute_transaction(
            TransactStatements=[{"Statement": each} for each in statements], **members
        )

    def transact_error(self, *statements: str) -> Any:
        """The error of a transaction: its whole response."""
        with pytest.raises(ClientError) as caught:
            self.transact(*statements)
        return caught.value.response


def _index(name: str, partition: str, sort: str | None, projection: dict[str, Any]) -> dict[str, Any]:
    keys = [{"AttributeName": partition, "KeyType": "HASH"}]
    if sort is not None:
        keys.append({"AttributeName": sort, "KeyType": "RANGE"})
    return {"IndexName": name, "KeySchema": keys, "Projection": projection}


@pytest.fixture
def ql() -> Iterator[Statements]:
    """The table `tbl`: pk, sk, two global indexes on g and two local ones on l."""
    with dynamometer.local() as db:
        client = db.client("dynamodb")
        include = {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["shown"]}
        client.create_table(
            TableName="tbl",
            BillingMode="PAY_PER_REQUEST",
            KeySchema=[
                {"AttributeName": "pk", "KeyType": "HASH"},
                {"AttributeName": "sk", "KeyType": "RANGE"},
            ],
            AttributeDefinitions=[{"AttributeName": name, "AttributeType": "S"} for name in NAMES],
            GlobalSecondaryIndexes=[
                _index("gsi-all", "g", None, {"ProjectionType": "ALL"}),
                _index("gsi-inc", "g", None, include),
            ],
            LocalSecondaryIndexes=[
                _index("lsi-all", "pk", "l", {"ProjectionType": "ALL"}),
                _index("lsi-keys", "pk", "l", {"ProjectionType": "KEYS_ONLY"}),
            ],
        )
        client.describe_table(TableName="tbl")
        yield Statements(client)
