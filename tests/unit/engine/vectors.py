"""Tables with vector indexes, and searches in them."""

from __future__ import annotations

from typing import Any

from tests.unit.engine.tables import Body, Tables, types

ATTRIBUTE = "embedding"


def vector(*numbers: float | str) -> Body:
    """A vector as an item holds it."""
    return {"L": elements(*numbers)}


def elements(*numbers: float | str) -> list[Body]:
    """A vector as a search gives it."""
    return [{"N": str(number)} for number in numbers]


def vector_index(name: str = "vix", dimensions: int = 3, projection: str = "ALL", **more: Any) -> Body:
    return {
        "IndexName": name,
        "VectorAttribute": {"AttributeName": ATTRIBUTE},
        "Dimensions": dimensions,
        "DistanceFunction": "COSINE",
        "Projection": {"ProjectionType": projection},
    } | more


def search_schema(*names: str) -> list[Body]:
    """A SearchSchema: a name with a colon is the partition attribute."""
    return [
        {
            "AttributeName": name.rstrip(":"),
            "SearchSchemaElementType": "HASH" if name.endswith(":") else "INLINE_FILTER",
        }
        for name in names
    ]


def with_index(tables: Tables, **more: Any) -> None:
    """A table with one vector index."""
    tables.create(VectorIndexes=[vector_index(**more)])


def with_schema(tables: Tables, **more: Any) -> None:
    """A table with a vector index that has a search schema: partition attribute tenant, inline filter kind."""
    tables.create(
        AttributeDefinitions=types(p="S", tenant="S", kind="S"),
        VectorIndexes=[vector_index(SearchSchema=search_schema("tenant:", "kind"), **more)],
    )


def search(tables: Tables, *numbers: float | str, **more: Any) -> list[Body]:
    """The results of a search."""
    body = {"IndexName": "vix", "SearchVector": elements(*numbers), "TopK": 10} | more
    results: list[Body] = tables.call("SearchVectors", TableName="abc", **body)["SearchResults"]
    return results


def found(tables: Tables, *numbers: float | str, **more: Any) -> list[str]:
    """The partition keys of a search's results, in order."""
    return [result["Item"]["p"]["S"] for result in search(tables, *numbers, **more)]


def refused_search(tables: Tables, *numbers: float | str, **more: Any) -> str | None:
    """The message of a search that must fail with a ValidationException."""
    body = {"IndexName": "vix", "SearchVector": elements(*numbers), "TopK": 10} | more
    name, message = tables.refused("SearchVectors", TableName="abc", **body)
    assert name == "ValidationException"
    return message


def vector_of(tables: Tables, name: str = "vix") -> Body:
    """The description of one vector index."""
    indexes: list[Body] = tables.describe().get("VectorIndexes", [])
    return next(each for each in indexes if each["IndexName"] == name)
