"""BatchExecuteStatement: up to 25 PartiQL statements, all reads or all writes, each on its own.

A statement's error is its own member of the answer. Only what concerns the batch as a whole refuses it: reads beside
writes, and two statements about one item.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import orjson

from dynamometer.base.errors import (
    ConditionalCheckFailedException,
    DuplicateItemException,
    ItemCollectionSizeLimitExceededException,
    ResourceNotFoundException,
    ServiceError,
    TransactionConflictException,
    ValidationException,
)
from dynamometer.capacity import units
from dynamometer.engine import stored
from dynamometer.engine.actions import Action
from dynamometer.engine.catalog import Table, World
from dynamometer.engine.commit import Charge, Commit, Image
from dynamometer.engine.engine import Answer, Engine
from dynamometer.engine.operations.execute_statement import EXISTS_ELSEWHERE
from dynamometer.engine.partiql import keys, writes
from dynamometer.engine.partiql.literals import check_parameters
from dynamometer.engine.partiql.prepare import Parsed, Prepared, Target, prepare
from dynamometer.engine.partiql.reads import Query
from dynamometer.engine.requests import DUPLICATES, Body, lookup_key

_MIXED = "Read and write requests together in the same batch is not supported."
_NEEDS_KEY = "Select statements within BatchExecuteStatement must specify the primary key in the where clause."
_CODES: dict[type[ServiceError], str] = {
    ConditionalCheckFailedException: "ConditionalCheckFailed",
    DuplicateItemException: "DuplicateItem",
    ItemCollectionSizeLimitExceededException: "ItemCollectionSizeLimitExceeded",
    ResourceNotFoundException: "ResourceNotFound",
    TransactionConflictException: "TransactionConflict",
    ValidationException: "ValidationError",
}


class Member:
    """One statement of the batch, as far as it got before anything ran."""

    __slots__ = ("action", "consistent", "error", "key", "parsed", "prepared", "table", "table_name")

    def __init__(self, world: World, request: Body) -> None:
        self.parsed: Parsed | None = None
        self.prepared: Prepared | None = None
        self.table: Table | None = None
        self.table_name = ""
        self.action: Action | None = None
        self.key: bytes | None = None
        self.error: ServiceError | None = None
        self.consistent: bool = request.get("ConsistentRead", False)
        try:
            self._prepare(world, request)
        except ServiceError as error:
            self.error = error

    def _prepare(self, world: World, request: Body) -> None:
        parameters = request.get("Parameters", [])
        check_parameters(parameters)
        text = request["Statement"]
        self.parsed = parsed = Parsed(text)
        if parsed.exists:
            raise ValidationException(EXISTS_ELSEWHERE)
        target = Target(world, parsed.node, text)
        self.prepared, values = prepare(parsed, parameters)
        self.table = table = target.require()
        self.table_name = target.table_name
        if not parsed.is_read:
            # the option is accepted, and no item returned (measured)
            self.action = writes.action_of(parsed, self.prepared, values, table, {}, single=True)
            self.key = self.action.key
            return
        if target.index_name is not None:
            raise ValidationException(_NEEDS_KEY)
        Query(target, self.prepared, values, self.consistent)
        key = keys.key_only(self.prepared.conjuncts, table.key, values)
        if key is None:
            raise ValidationException(_NEEDS_KEY)
        self.key = lookup_key(table, key)

    def read(self, value: bytes | None) -> Body:
        """The answer's member for the item found."""
        answer: Body = {"TableName": self.table_name}
        assert self.prepared is not None
        if value is not None:
            columns = self.prepared.columns
            answer["Item"] = (
                orjson.Fragment(value[stored.BODY :]) if columns is None else columns.project(stored.decode(value))
            )
        return answer

    def failed(self, error: ServiceError, ran: bool) -> Body:
        """The answer's member for an error. One that only running the statement could show names the table."""
        answer: Body = {"Error": {"Code": _CODES.get(type(error), "InternalServerError"), "Message": error.message}}
        if ran:
            answer["TableName"] = self.table_name
        return answer


class _Failure(Exception):
    """A statement that ran and failed, with what it is charged."""

    def __init__(self, error: ServiceError, units_charged: int) -> None:
        super().__init__()
        self.error = error
        self.units_charged = units_charged


def _check_together(members: list[Member]) -> None:
    """Raise for what concerns the whole batch."""
    kinds = {member.parsed.is_read for member in members if member.parsed is not None}
    if len(kinds) > 1:
        raise ValidationException(_MIXED)
    known = [member.key for member in members if member.key is not None]
    if len(set(known)) < len(known):
        raise ValidationException(DUPLICATES)


def run(engine: Engine, world: World, body: Body) -> Answer:
    members = [Member(world, request) for request in body["Statements"]]
    _check_together(members)
    responses: list[Body] = []
    used: dict[str, units.Consumption] = {}
    failed_units: dict[str, int] = {}
    sequence = 0
    for member in members:
        if member.error is not None:
            responses.append(member.failed(member.error, ran=False))
            continue
        assert member.table is not None and member.key is not None
        if member.action is None:
            value = engine.store.get(member.key)
            size = stored.size_of(value) if value is not None else 0
            _used(used, member).add(units.read_units(size, member.consistent))
            responses.append(member.read(value))
            sequence = max(sequence, member.table.last_sequence)
            continue
        try:
            (answer, charge), written = engine.transact(partial(_write, member))
        except _Failure as failure:
            responses.append(member.failed(failure.error, ran=True))
            failed_units[member.table_name] = failed_units.get(member.table_name, 0) + failure.units_charged
            sequence = max(sequence, member.table.last_sequence)
            continue
        _used(used, member).add(charge.table_units, charge.global_units, charge.local_units)
        responses.append(answer)
        sequence = max(sequence, written)
    for name, amount in failed_units.items():
        if name in used:
            # measured: beside a success, a failed write is in the total and on no arm
            used[name].unassigned_units += amount
    result: Body = {"Responses": responses}
    capacities = units.consumed_list(body.get("ReturnConsumedCapacity"), used)
    if capacities:
        result["ConsumedCapacity"] = capacities
    return result, sequence


def _used(used: dict[str, units.Consumption], member: Member) -> units.Consumption:
    return used.setdefault(member.table_name, units.Consumption())


def _write(member: Member, commit: Commit) -> tuple[Body, Charge]:
    """One write. Raises _Failure."""
    action, table, prepared = member.action, member.table, member.prepared
    assert action is not None and table is not None and prepared is not None
    before = commit.read(action.key)
    try:
        after = action.decide(before)
        charge = commit.change(table, action.key, before, after, action.entries)
    except (ConditionalCheckFailedException, DuplicateItemException) as error:
        raise _Failure(error, _attempted_units(action, before)) from None
    except (ValidationException, ItemCollectionSizeLimitExceededException) as error:
        raise _Failure(error, 0) from None
    answer: Body = {"TableName": member.table_name}
    item: Any = writes.returned(prepared, before, after)
    if item is not None:
        answer["Item"] = item
    return answer, charge


def _attempted_units(action: Action, before: Image | None) -> int:
    stored_size = before.size if before is not None else 0
    return units.write_units(max(stored_size, writes.attempted_size(action)))
