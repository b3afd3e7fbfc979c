"""What both transactions share: reasons for a cancellation, the payload's limit, and tokens that make a repeat safe.

A token is kept for ten minutes after its transaction succeeded, in the same commit, so a repeat after a lost answer
(or a crash) writes nothing. A second family of keys, ordered by time, lets each new token sweep out a few old ones.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import Any

import orjson
import xxhash

from dynamometer.base import limits
from dynamometer.base.errors import (
    ConditionalCheckFailedException,
    IdempotentParameterMismatchException,
    ItemCollectionSizeLimitExceededException,
    ServiceError,
    ValidationException,
)
from dynamometer.capacity import units
from dynamometer.engine import keyspace
from dynamometer.engine.catalog import Table, World
from dynamometer.engine.codec import IndexKeyError, Item, explain_empty_keys
from dynamometer.engine.commit import Commit, Image
from dynamometer.engine.requests import Body

DISTINCT = "Transaction request cannot include multiple operations on one item"
_TOO_LARGE = "Transaction payload size cannot exceed 4MB. Payload Size: "
_SWEEP = 4
"""How many expired tokens each new one clears away."""


def cancelled(errors: list[ServiceError | None]) -> list[dict[str, Any]]:
    """CancellationReasons, one for each action in order; None for an action without an error."""
    return [_reason(error) for error in errors]


def _reason(error: ServiceError | None) -> dict[str, Any]:
    if error is None:
        return {"Code": "None"}
    if isinstance(error, ConditionalCheckFailedException):
        return {"Code": "ConditionalCheckFailed", "Message": error.message, **error.extra}
    if isinstance(error, ItemCollectionSizeLimitExceededException):
        return {"Code": "ItemCollectionSizeLimitExceeded", "Message": "Collection size exceeded."}
    return {"Code": "ValidationError", "Message": error.message}


def check_key_not_empty(table: Table, item: Item) -> None:
    """Raise for an empty key value, which refuses the whole request instead of cancelling it (measured)."""
    explain_empty_keys(table.key, item)


def check_index_keys_not_empty(table: Table, item: Item) -> None:
    """The same for the index keys of an item that is put."""
    for index in table.maintained:
        for attribute in index.schema.key.attributes:
            if item.get(attribute.name, {}).get(attribute.type) == "":
                raise IndexKeyError("empty", index.schema, attribute, attribute.type).on_put()


def check_consistency(tables: Iterable[Table]) -> None:
    """Raise for a global table with strong consistency, which has no transactions (developer guide; text assumed)."""
    for table in tables:
        replication = table.record.replication
        if replication is not None and replication.is_strong:
            raise ValidationException(
                f"Transactions are not supported by global tables with strong consistency: {table.name}"
            )


def check_payload_size(size_bytes: int) -> None:
    """Raise when a transaction is over 4 MB: its items, keys and values (what else the service counts is not public).

    The text, which repeats itself, was recorded from the service.
    """
    if size_bytes > limits.TRANSACTION_BYTES_MAX:
        raise ValidationException(f"{_TOO_LARGE}: {_TOO_LARGE}{size_bytes}")


class Tokens:
    """The ClientRequestToken of one request, if it has one."""

    def __init__(self, engine: Any, world: World, operation: str, body: Body) -> None:
        self._token = body.get("ClientRequestToken")
        if self._token is None:
            return
        self._engine = engine
        self._body = body
        self._key = keyspace.token_key(world.account, world.region, operation, self._token)
        same = {name: value for name, value in body.items() if name != "ReturnConsumedCapacity"}
        self._digest = xxhash.xxh3_128_hexdigest(orjson.dumps(same, option=orjson.OPT_SORT_KEYS))
        self._read_units: dict[str, int] = {}

    def replay(self) -> tuple[Body, int] | None:
        """The answer of a transaction that was done before; None for a new one.

        Raises IdempotentParameterMismatchException when the token came with other parameters.
        """
        if self._token is None:
            return None
        engine = self._engine
        value = engine.store.get(self._key)
        if value is None:
            return None
        record = orjson.loads(value)
        if record["expires"] <= engine.clock.now():
            return None
        if record["digest"] != self._digest:
            raise IdempotentParameterMismatchException()
        answer: Body = {}
        mode = self._body.get("ReturnConsumedCapacity", "NONE")
        if mode != "NONE":
            answer["ConsumedCapacity"] = [
                units.consumed(name, mode, float(amount), None, None, "Read")
                for name, amount in record["read_units"].items()
            ]
        return answer, engine.store.last_sequence

    def remember(self, name: str, before: Image | None, after: Image | None) -> None:
        """Note what reading this action's item will cost a replay: the larger image, doubled."""
        if self._token is None:
            return
        amount = units.replay_read_units(
            before.size if before is not None else None, after.size if after is not None else None
        )
        self._read_units[name] = self._read_units.get(name, 0) + amount

    def save(self, commit: Commit) -> None:
        """Keep the token in the transaction's own commit, and clear a few that have expired."""
        if self._token is None:
            return
        now = self._engine.clock.now()
        expires = now + limits.TOKEN_SECONDS
        record = {"digest": self._digest, "expires": expires, "read_units": self._read_units}
        self._read_units = {}  # a transaction that loses a race is decided again
        commit.transaction.put(self._key, orjson.dumps(record))
        commit.transaction.put(keyspace.token_expiry_key(expires, self._key), b"")
        start, end = keyspace.token_expiry_range(now)
        for expiry_key, _ in islice(commit.transaction.range(start, end, limit=_SWEEP), _SWEEP):
            token_key = keyspace.expired_token(expiry_key)
            commit.transaction.delete(expiry_key)
            value = commit.transaction.get(token_key)
            if token_key != self._key and value is not None and orjson.loads(value)["expires"] <= now:
                commit.transaction.delete(token_key)
