"""ExecuteTransaction: up to 100 PartiQL statements about distinct items, all reads or all writes, all or none."""

from __future__ import annotations

from typing import Any

import orjson

from dynamometer.base.errors import (
    ConditionalCheckFailedException,
    DuplicateItemException,
    ItemCollectionSizeLimitExceededException,
    ResourceNotFoundException,
    ServiceError,
    TransactionCanceledException,
    ValidationException,
)
from dynamometer.capacity import units
from dynamometer.engine import stored
from dynamometer.engine.actions import Action, Check
from dynamometer.engine.catalog import Table, World
from dynamometer.engine.commit import Commit, Image
from dynamometer.engine.engine import Answer, Engine
from dynamometer.engine.partiql import keys, writes
from dynamometer.engine.partiql.literals import check_parameters
from dynamometer.engine.partiql.prepare import Parsed, Prepared, Target, prepare
from dynamometer.engine.partiql.reads import Query
from dynamometer.engine.requests import Body, WriteTotals, lookup_key
from dynamometer.engine.transactions import DISTINCT, Tokens, cancelled, check_consistency, check_payload_size

_MIXED = "ExecuteTransaction API does not support both read and write operations in the same request."
_NEEDS_KEY = "Select statements within ExecuteTransaction must specify the primary key in the where clause."
_RETURNING = "RETURNING clause is not supported in ExecuteTransaction."
_ON_INDEX = "Reads on indices are not supported within transactions."


class Member:
    """One statement. `failure` cancels the transaction; other errors refuse it and are raised by `prepare`."""

    __slots__ = ("_parameters", "action", "failure", "key", "parsed", "prepared", "request", "table", "table_name")

    def __init__(self, request: Body) -> None:
        self.request = request
        self._parameters: list[dict[str, Any]] = request.get("Parameters", [])
        check_parameters(self._parameters)
        self.failure: ServiceError | None = None
        self.action: Action | None = None
        self.table: Table | None = None
        self.table_name = ""
        self.key: bytes | None = None
        self.prepared: Prepared | None = None

    def parse(self) -> None:
        self.parsed = Parsed(self.request["Statement"])

    def prepare(self, world: World) -> None:
        """Everything that can be told without an item. Raises ValidationException."""
        parsed = self.parsed
        target = Target(world, parsed.node, parsed.text)
        self.table_name = target.table_name
        if target.table is None:
            # told as a reason of the cancellation, whatever else is wrong with the statement (measured)
            self.failure = ResourceNotFoundException("Requested resource not found")
            return
        self.table = table = target.table
        self.prepared, values = prepare(parsed, self._parameters)
        if self.prepared.returning is not None:
            raise ValidationException(_RETURNING)
        if target.index_name is not None:
            raise ValidationException(_ON_INDEX)
        if parsed.exists:
            writes.check_exists(self.prepared, values, table)
        if parsed.is_read:
            self._prepare_read(target, values, table)
            return
        try:
            self.action = writes.action_of(parsed, self.prepared, values, table, self.request, single=False)
            self.key = self.action.key
        except ValidationException as error:
            self.failure = error

    def _prepare_read(self, target: Target, values: dict[str, Any], table: Table) -> None:
        assert self.prepared is not None
        key = keys.key_only(self.prepared.conjuncts, table.key, values)
        if key is None:
            Query(target, self.prepared, values, True)
            raise ValidationException(_NEEDS_KEY)
        try:
            self.key = lookup_key(table, key)
        except ValidationException as error:
            self.failure = error


def parse(world: World, body: Body) -> list[Member]:
    """The request's checks in the service's order. Raises ValidationException or TransactionCanceledException."""
    members = [Member(request) for request in body["TransactStatements"]]
    check_payload_size(sum(len(orjson.dumps(request.get("Parameters", []))) for request in body["TransactStatements"]))
    for number, member in enumerate(members):
        with _named(number):
            member.parse()
    if len({member.parsed.is_read for member in members}) > 1:
        raise ValidationException(_MIXED)
    for number, member in enumerate(members):
        with _named(number):
            member.prepare(world)
    if any(member.failure is not None for member in members):
        raise _cancelled([member.failure for member in members])
    check_consistency(member.table for member in members if member.table is not None)
    if len({member.key for member in members}) < len(members):
        raise ValidationException(DISTINCT)
    return members


class _named:  # noqa: N801 (it reads as a verb)
    """Puts the statement's number before the text of what is wrong with it."""

    def __init__(self, number: int) -> None:
        self._number = number

    def __enter__(self) -> None:
        return None

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        if isinstance(error, ValidationException):
            raise ValidationException(
                f"Validation failed in TransactStatements[{self._number}]: {error.message}"
            ) from None


def _cancelled(errors: list[ServiceError | None]) -> TransactionCanceledException:
    reasons = cancelled(errors)
    for reason, error in zip(reasons, errors, strict=True):
        if isinstance(error, DuplicateItemException):
            reason["Code"] = "DuplicateItem"
        elif isinstance(error, ResourceNotFoundException):
            reason["Code"] = "ResourceNotFound"
    return TransactionCanceledException(reasons)


def run(engine: Engine, world: World, body: Body) -> Answer:
    tokens = Tokens(engine, world, "ExecuteTransaction", body)
    replay = tokens.replay()
    if replay is not None:
        answer, sequence = replay
        return {"Responses": [], **answer}, sequence
    members = parse(world, body)
    if members[0].parsed.is_read:
        return _read(engine, members, body)

    def decide(commit: Commit) -> Body:
        totals = WriteTotals(body, transactional=True)
        actions = [member.action for member in members if member.action is not None]
        befores = commit.read_all([action.key for action in actions])
        afters = _decide_all(actions, befores)
        for number, (member, action, before, after) in enumerate(zip(members, actions, befores, afters, strict=True)):
            try:
                if isinstance(action, Check):
                    charge = commit.checked(before)
                else:
                    charge = commit.change(action.table, action.key, before, after, action.entries)
            except ItemCollectionSizeLimitExceededException as error:
                raise _cancelled([error if place == number else None for place in range(len(actions))]) from None
            totals.add(member.table_name, action, charge)
            tokens.remember(member.table_name, before, after)
        tokens.save(commit)
        return {"Responses": [], **totals.answer()}

    return engine.transact(decide)


def _decide_all(actions: list[Action], befores: list[Image | None]) -> list[Image | None]:
    """Every item after, or TransactionCanceledException with a reason for each statement."""
    reasons: list[ServiceError | None] = []
    afters = []
    for number, (action, before) in enumerate(zip(actions, befores, strict=True)):
        try:
            afters.append(action.decide(before))
            reasons.append(None)
        except (ConditionalCheckFailedException, DuplicateItemException) as error:
            reasons.append(error)
        except ValidationException as error:
            raise _cancelled([error if place == number else None for place in range(len(actions))]) from None
    if any(reasons):
        raise _cancelled(reasons)
    return afters


def _read(engine: Engine, members: list[Member], body: Body) -> Answer:
    used: dict[str, units.Consumption] = {}
    responses: list[Body] = []
    sequence = size_bytes = 0
    found = engine.store.multi_get([member.key for member in members if member.key is not None])
    for member, value in zip(members, found, strict=True):
        assert member.table is not None and member.prepared is not None
        size = stored.size_of(value) if value is not None else 0
        size_bytes += size
        used.setdefault(member.table_name, units.Consumption()).add(units.transact_read_units(size))
        sequence = max(sequence, member.table.last_sequence)
        responses.append(_response(value, member.prepared))
    check_payload_size(size_bytes)
    answer: Body = {"Responses": responses}
    capacities = units.consumed_list(body.get("ReturnConsumedCapacity"), used, "Read")
    if capacities is not None:
        answer["ConsumedCapacity"] = capacities
    return answer, sequence


def _response(value: bytes | None, prepared: Prepared) -> Body:
    if value is None:
        return {}
    if prepared.columns is None:
        return {"Item": orjson.Fragment(value[stored.BODY :])}
    return {"Item": prepared.columns.project(stored.decode(value))}
