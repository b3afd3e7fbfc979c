"""TransactWriteItems: up to 100 writes and checks of distinct items, all or none."""

from __future__ import annotations

from typing import Any

from dynamometer.base.errors import (
    ConditionalCheckFailedException,
    ItemCollectionSizeLimitExceededException,
    ServiceError,
    TransactionCanceledException,
    ValidationException,
)
from dynamometer.engine.actions import Action, Check, Delete, Put, Update
from dynamometer.engine.catalog import Table, World
from dynamometer.engine.commit import Commit
from dynamometer.engine.engine import Answer, Engine
from dynamometer.engine.requests import (
    Body,
    WriteTotals,
    check_item_size,
    check_not_key,
    item_key,
    lookup_key,
    table_of,
)
from dynamometer.engine.transactions import (
    DISTINCT,
    Tokens,
    cancelled,
    check_consistency,
    check_index_keys_not_empty,
    check_key_not_empty,
    check_payload_size,
)
from dynamometer.expressions import Bound, bind, check_mixing
from dynamometer.model import values

_ONE_ACTION = "Invalid Request: TransactWriteRequest should contain Delete or Put or Update request"
_KINDS = {
    "Put": ("ConditionExpression",),
    "Delete": ("ConditionExpression",),
    "ConditionCheck": ("ConditionExpression",),
    "Update": ("UpdateExpression", "ConditionExpression"),
}


class _Parsed:
    """One element of the request after the checks that need no table."""

    __slots__ = ("bound", "failure", "payload_bytes", "request", "size", "verb")

    def __init__(self, element: Body) -> None:
        if len(element) != 1:
            raise ValidationException(_ONE_ACTION)
        self.verb, self.request = next(iter(element.items()))
        kinds = _KINDS[self.verb]
        check_mixing(self.request, kinds, with_legacy=False)
        self.size = values.normalize_item(self.request["Item" if self.verb == "Put" else "Key"])
        if self.verb == "Put":
            check_item_size(self.size)
        self.payload_bytes = self.size
        self.bound: Bound | None = None
        self.failure: ValidationException | None = None
        try:
            self.bound = bind(self.request, kinds, with_legacy=False)
            self.payload_bytes += sum(map(values.value_size, self.bound.values.values()))
        except ValidationException as error:
            if error.message != values.NESTED_TOO_DEEP:
                raise
            self.failure = error  # a value that is nested too deep cancels where it would be stored (measured)

    def action(self, table: Table) -> Action:
        """The action on its table. Raises ValidationException, which cancels the transaction."""
        if self.failure is not None:
            raise self.failure
        request = self.request
        return_item = request.get("ReturnValuesOnConditionCheckFailure") == "ALL_OLD"
        if self.verb == "Put":
            item = request["Item"]
            return Put(table, item_key(table, item), item, self.size, self.bound, return_item)
        key = lookup_key(table, request["Key"])
        if self.verb == "Update":
            assert self.bound is not None and self.bound.update is not None, "UpdateExpression is a required member"
            check_not_key(table, self.bound.update.targets)
            return Update(table, key, request["Key"], self.bound, return_item)
        kind = Delete if self.verb == "Delete" else Check
        return kind(table, key, request["Key"], self.bound, return_item)


def parse(world: World, body: Body) -> list[tuple[Body, Action]]:
    """The request's checks in the service's order. Raises ValidationException or TransactionCanceledException."""
    parsed = [_Parsed(element) for element in body["TransactItems"]]
    check_payload_size(sum(one.payload_bytes for one in parsed))
    tables = [table_of(world, one.request) for one in parsed]
    check_consistency(tables)
    actions: list[tuple[Body, Action]] = []
    for number, (one, table) in enumerate(zip(parsed, tables, strict=True)):
        check_key_not_empty(table, one.request["Item" if one.verb == "Put" else "Key"])
        if one.verb == "Put":
            check_index_keys_not_empty(table, one.request["Item"])
        try:
            actions.append((one.request, one.action(table)))
        except ValidationException as error:
            # evaluation stops at the first validation error: it alone is told (measured on the service)
            raise TransactionCanceledException(cancelled(_only(number, error, len(parsed)))) from None
    if len({action.key for _, action in actions}) < len(actions):
        raise ValidationException(DISTINCT)
    return actions


def _only(number: int, error: ServiceError, count: int) -> list[ServiceError | None]:
    return [error if position == number else None for position in range(count)]


def run(engine: Engine, world: World, body: Body) -> Answer:
    tokens = Tokens(engine, world, "TransactWriteItems", body)
    replay = tokens.replay()
    if replay is not None:
        return replay
    actions = parse(world, body)

    def decide(commit: Commit) -> Body:
        totals = WriteTotals(body, transactional=True)
        befores = commit.read_all([action.key for _, action in actions])
        afters = _decide_all(actions, befores)
        for number, ((request, action), before, after) in enumerate(zip(actions, befores, afters, strict=True)):
            try:
                if isinstance(action, Check):
                    charge = commit.checked(before)
                else:
                    charge = commit.change(action.table, action.key, before, after, action.entries)
            except ItemCollectionSizeLimitExceededException as error:
                raise TransactionCanceledException(cancelled(_only(number, error, len(actions)))) from None
            totals.add(request["TableName"], action, charge)
            tokens.remember(request["TableName"], before, after)
        tokens.save(commit)
        return totals.answer()

    return engine.transact(decide)


def _decide_all(actions: list[tuple[Body, Action]], befores: list[Any]) -> list[Any]:
    """Every item after, or TransactionCanceledException with a reason for each action."""
    reasons: list[ServiceError | None] = []
    afters = []
    for number, ((_, action), before) in enumerate(zip(actions, befores, strict=True)):
        try:
            afters.append(action.decide(before))
            reasons.append(None)
        except ConditionalCheckFailedException as error:
            reasons.append(error)
        except ValidationException as error:
            raise TransactionCanceledException(cancelled(_only(number, error, len(actions)))) from None
    if any(reasons):
        raise TransactionCanceledException(cancelled(reasons))
    return afters
