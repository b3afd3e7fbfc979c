"""Tables and items for the figures: made to an exact size, so that the arithmetic of the texts can be followed."""

from __future__ import annotations

from typing import Any


def make_table(client: Any, name: str, pk: str = "PK", sk: str | None = "SK", **indexes: dict[str, Any]) -> str:
    """A table with string keys. Each index: {"keys": (partition, sort), "projection": ..., "include": [...]}."""
    names = [pk, *([sk] if sk else [])]
    globals_ = []
    for index, options in indexes.items():
        keys = options["keys"]
        names += keys
        projection = {"ProjectionType": options.get("projection", "ALL")}
        if "include" in options:
            projection = {"ProjectionType": "INCLUDE", "NonKeyAttributes": options["include"]}
        globals_.append({"IndexName": index, "KeySchema": key_schema(*keys), "Projection": projection})
    client.create_table(
        TableName=name,
        BillingMode="PAY_PER_REQUEST",
        KeySchema=key_schema(pk, *([sk] if sk else [])),
        AttributeDefinitions=[{"AttributeName": each, "AttributeType": "S"} for each in dict.fromkeys(names)],
        **({"GlobalSecondaryIndexes": globals_} if globals_ else {}),
    )
    return name


def key_schema(*names: str) -> list[dict[str, str]]:
    return [{"AttributeName": name, "KeyType": kind} for name, kind in zip(names, ("HASH", "RANGE"), strict=False)]


def sized(item: dict[str, str], size_bytes: int) -> dict[str, str]:
    """The item with an attribute `pad` that brings it to this size. Only for ASCII texts: a byte a character."""
    used = sum(len(name) + len(value) for name, value in item.items())
    assert used + 3 <= size_bytes
    return item | {"pad": "x" * (size_bytes - used - 3)}


def load(table: Any, items: list[dict[str, Any]]) -> None:
    with table.batch_writer() as batch:
        for item in items:
            batch.put_item(Item=item)


def units(answer: dict[str, Any]) -> float:
    """The units of one answer."""
    return float(answer["ConsumedCapacity"]["CapacityUnits"])


def index_units(answer: dict[str, Any]) -> dict[str, float]:
    """The units of each global index that a write touched."""
    indexes = answer["ConsumedCapacity"].get("GlobalSecondaryIndexes", {})
    return {name: float(charge["CapacityUnits"]) for name, charge in indexes.items()}


def sort_keys(answer: dict[str, Any], name: str = "SK") -> list[str]:
    return [item[name] for item in answer["Items"]]
