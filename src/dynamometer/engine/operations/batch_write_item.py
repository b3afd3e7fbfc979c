"""BatchWriteItem: up to 25 puts and deletes, of any tables, each on its own.

They are committed together here, which no client can tell from 25 commits that happened to succeed.
"""

from __future__ import annotations

from dynamometer.base import limits
from dynamometer.base.errors import ItemCollectionSizeLimitExceededException, ValidationException
from dynamometer.engine.actions import Action, Delete, Put
from dynamometer.engine.catalog import World
from dynamometer.engine.commit import Commit
from dynamometer.engine.engine import Answer, Engine
from dynamometer.engine.requests import (
    DUPLICATES,
    Body,
    WriteTotals,
    batch_item_key,
    check_item_size,
    lookup_key,
    normalise_key,
    table_named,
)
from dynamometer.model import values

ONE_REQUEST = (
    "Supplied AttributeValue has more than one datatypes set, must contain exactly one of the supported datatypes"
)


def parse(world: World, body: Body) -> list[tuple[str, Body, Action]]:
    """The request's checks in the service's order: (table as named, request, action)."""
    blocks: Body = body["RequestItems"]
    if not blocks:
        raise ValidationException("The requestItems parameter is required for BatchWriteItem")
    if sum(map(len, blocks.values())) > limits.BATCH_WRITE_REQUESTS_MAX:
        raise ValidationException("Too many items requested for the BatchWriteItem call")
    sizes = [_check_request(request) for block in blocks.values() for request in block]
    actions: list[tuple[str, Body, Action]] = []
    next_size = iter(sizes)
    seen = set()  # of all blocks: two of them may be one table, by its name and by its ARN
    for name, block in blocks.items():
        table = table_named(world, name)
        for request in block:
            size = next(next_size)
            put = request.get("PutRequest")
            action: Action
            if put is not None:
                item = put["Item"]
                action = Put(table, batch_item_key(table, item), item, size)
            else:
                key = request["DeleteRequest"]["Key"]
                action = Delete(table, lookup_key(table, key), key, None, False)
            if action.key in seen:
                raise ValidationException(DUPLICATES)
            seen.add(action.key)
            actions.append((name, request, action))
    return actions


def _check_request(request: Body) -> int:
    """Normalise one request's values; the item's size in bytes."""
    if len(request) != 1:
        raise ValidationException(ONE_REQUEST)
    put = request.get("PutRequest")
    if put is None:
        normalise_key(request["DeleteRequest"]["Key"])
        return 0
    size = values.normalize_item(put["Item"])
    check_item_size(size)
    return size


def run(engine: Engine, world: World, body: Body) -> Answer:
    actions = parse(world, body)

    def decide(commit: Commit) -> Body:
        totals = WriteTotals(body, transactional=False)
        unprocessed: Body = {}
        befores = commit.read_all([action.key for _, _, action in actions])
        for (name, request, action), before in zip(actions, befores, strict=True):
            after = action.decide(before)
            try:
                charge = commit.change(action.table, action.key, before, after, action.entries)
            except ItemCollectionSizeLimitExceededException:
                if len(actions) == 1:
                    raise
                unprocessed.setdefault(name, []).append(request)
                continue
            totals.add(name, action, charge)
        return {"UnprocessedItems": unprocessed, **totals.answer()}

    return engine.transact(decide)
