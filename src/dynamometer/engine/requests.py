"""What the data operations share: finding the table, turning keys and items into storage keys, and what goes back."""

from __future__ import annotations

from typing import Any

import orjson

from dynamometer.base import limits
from dynamometer.base.errors import ValidationException
from dynamometer.capacity import units
from dynamometer.engine.actions import Action
from dynamometer.engine.catalog import Table, World, find_table
from dynamometer.engine.codec import (
    UNUSUAL,
    IndexKeyError,
    Item,
    check_key_shape,
    explain_item_key,
    explain_lookup_key,
)
from dynamometer.engine.commit import Charge
from dynamometer.expressions import CompiledUpdate, check_scalar_keys
from dynamometer.expressions.tree import Action as UpdateAction
from dynamometer.expressions.tree import Arithmetic, Call, Remove, Value
from dynamometer.model import values

Body = dict[str, Any]

DUPLICATES = "Provided list of item keys contains duplicates"
"""What both batches, of items and of statements, say of a key that they have twice."""


def table_of(world: World, body: Body) -> Table:
    """The table that a request names, by name or ARN. Raises ResourceNotFoundException."""
    table = world.tables.get(body["TableName"])
    if table is not None and table.status == "ACTIVE":
        return table
    return find_table(world, body["TableName"])


def table_named(world: World, name: str) -> Table:
    """The same for a request that names several tables."""
    return table_of(world, {"TableName": name})


def item_key(table: Table, item: Item) -> bytes:
    """The storage key of a whole, normalised item. Raises ValidationException."""
    try:
        key = table.encode_key(item)
    except UNUSUAL:
        explain_item_key(table.key, item)
        raise
    if table.insights is not None:
        table.insights.accessed(item)
    return key


def lookup_key(table: Table, key: Item) -> bytes:
    """The storage key of a normalised Key: the key attributes and nothing else. Raises ValidationException."""
    try:
        if len(key) == table.key_count:
            storage_key = table.encode_key(key)
            if table.insights is not None:
                table.insights.accessed(key)
            return storage_key
    except UNUSUAL:
        pass
    explain_lookup_key(table.key, key)
    raise AssertionError("an unusual key has an explanation")


def batch_item_key(table: Table, item: Item) -> bytes:
    """As `item_key`, in the words of BatchWriteItem, which calls every mismatch one of the schema."""
    try:
        key = table.encode_key(item)
    except UNUSUAL:
        check_key_shape(table.key, {name: item[name] for name in table.key.names if name in item})
        explain_item_key(table.key, item)
        raise
    if table.insights is not None:
        table.insights.accessed(item)
    return key


def check_item_size(size_bytes: int) -> None:
    """Raise when a whole item is over 400 KB."""
    if size_bytes > limits.ITEM_BYTES_MAX:
        raise ValidationException("Item size has exceeded the maximum allowed size")


def check_not_key(table: Table, targets: frozenset[str]) -> None:
    """Raise when an update would change a key attribute."""
    for name in table.key.names:
        if name in targets:
            raise ValidationException(
                f"One or more parameter values were invalid: Cannot update attribute {name}. "
                "This attribute is part of the key"
            )


def check_key_paths(table: Table, nested: frozenset[str]) -> None:
    """Raise when a path goes into a key attribute of the table or of one of its indexes, which can only be scalars."""
    if not nested:
        return
    check_scalar_keys(nested, table.key.names)
    for index in table.maintained:
        if index.schema.vector is None:
            check_scalar_keys(nested, index.schema.key.names, "IndexKey")


def check_index_types(table: Table, update: CompiledUpdate, given: dict[str, Item]) -> None:
    """Raise when an update gives an index's key attribute a value of another type, as the request alone tells.

    The service tells this before it looks at the item, in PutItem's words (measured); a type that only results from
    the item is told later, in words of its own.
    """
    if table.index_keys.isdisjoint(update.targets):
        return
    for action in update.tree.actions:
        kind = _given_type(action, given)
        if kind is None or len(action.path.elements) > 1:
            continue
        name = action.path.elements[0]
        for index in table.maintained:
            if index.schema.vector is not None:
                continue
            for attribute in index.schema.key.attributes:
                if attribute.name == name and attribute.type != kind:
                    raise IndexKeyError("type", index.schema, attribute, kind).on_put()


def _given_type(action: UpdateAction, given: dict[str, Item]) -> str | None:
    """The type of what an action writes; None where it depends on the item."""
    if type(action) is Remove:
        return None
    value = action.value
    if type(value) is Value:
        return next(iter(given[value.key]))
    if type(value) is Arithmetic:
        return "N"
    return "L" if type(value) is Call and value.function == "list_append" else None


def normalise_key(key: Item) -> None:
    """Check and normalise the values of a Key, in place."""
    values.normalize_item(key)


def write_capacity(body: Body, charge: Charge) -> dict[str, Any] | None:
    """The ConsumedCapacity of a single write, or None when it was not asked for."""
    mode = body.get("ReturnConsumedCapacity", "NONE")
    if mode == "NONE":
        return None
    return units.consumed(
        body["TableName"],
        mode,
        charge.table_units,
        charge.global_units,
        charge.local_units,
        vector_bytes=charge.vector_bytes,
    )


def read_capacity(body: Body, amount: float, index: Any = None, base_amount: float = 0.0) -> dict[str, Any] | None:
    """The ConsumedCapacity of a read: of the table, or of an index with what the table added."""
    mode = body.get("ReturnConsumedCapacity", "NONE")
    if mode == "NONE":
        return None
    if index is None:
        return units.consumed(body["TableName"], mode, amount)
    arms = {index.schema.name: amount}
    if index.schema.is_global:
        return units.consumed(body["TableName"], mode, base_amount, arms)
    return units.consumed(body["TableName"], mode, base_amount, None, arms)


def collection_metrics(table: Table, key_item: Item, collection_bytes: int) -> dict[str, Any]:
    """ItemCollectionMetrics: the collection's key and its size between two whole gigabytes."""
    partition = table.key.partition[0].name
    lower = collection_bytes // limits.GIB
    return {
        "ItemCollectionKey": {partition: key_item[partition]},
        "SizeEstimateRangeGB": [float(lower), float(lower + 1)],
    }


def write_answer(body: Body, table: Table, key_item: Item, charge: Charge) -> Body:
    """What every single write may return beside its Attributes."""
    answer: Body = {}
    if "ReturnConsumedCapacity" in body:
        capacity = write_capacity(body, charge)
        if capacity is not None:
            answer["ConsumedCapacity"] = capacity
    if body.get("ReturnItemCollectionMetrics") == "SIZE" and charge.collection_bytes is not None:
        answer["ItemCollectionMetrics"] = collection_metrics(table, key_item, charge.collection_bytes)
    return answer


class WriteTotals:
    """Capacity and collection metrics of a request with several writes, table by table."""

    def __init__(self, body: Body, transactional: bool) -> None:
        self._mode = body.get("ReturnConsumedCapacity", "NONE")
        self._wants_metrics = body.get("ReturnItemCollectionMetrics") == "SIZE"
        self._transactional = transactional
        self._used: dict[str, units.Consumption] = {}
        self._metrics: dict[str, dict[bytes, Body]] = {}

    def add(self, name: str, action: Action, charge: Charge) -> None:
        """Count one write of the table that the request calls `name`."""
        if self._mode != "NONE":
            # measured on the service: a transaction doubles the table's units, not those of its indexes
            factor = units.TRANSACTION_FACTOR if self._transactional else 1
            used = self._used.setdefault(name, units.Consumption())
            used.add(factor * charge.table_units, charge.global_units, charge.local_units, charge.vector_bytes)
        if self._wants_metrics and charge.collection_bytes is not None:
            metrics = collection_metrics(action.table, action.key_item, charge.collection_bytes)
            partition = orjson.dumps(metrics["ItemCollectionKey"])
            self._metrics.setdefault(name, {})[partition] = metrics

    def answer(self) -> Body:
        """The members that were asked for."""
        answer: Body = {}
        if self._mode != "NONE":
            answer["ConsumedCapacity"] = units.consumed_list(
                self._mode, self._used, "Write" if self._transactional else None
            )
        if self._metrics:
            answer["ItemCollectionMetrics"] = {name: list(rows.values()) for name, rows in self._metrics.items()}
        return answer
