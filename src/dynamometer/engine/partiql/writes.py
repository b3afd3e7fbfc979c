"""INSERT, UPDATE, DELETE and EXISTS as actions on one item.

INSERT does not replace, and UPDATE does not insert: both check for the item before anything else.
"""

from __future__ import annotations

from typing import Any

import orjson

from dynamometer.base.errors import (
    ConditionalCheckFailedException,
    DuplicateItemException,
    ValidationException,
)
from dynamometer.engine import actions
from dynamometer.engine.actions import Action
from dynamometer.engine.catalog import Table
from dynamometer.engine.codec import KEY_MISMATCH
from dynamometer.engine.commit import Image
from dynamometer.engine.partiql import keys
from dynamometer.engine.partiql.prepare import Parsed, Prepared
from dynamometer.engine.requests import (
    Body,
    check_index_types,
    check_item_size,
    check_not_key,
    item_key,
    lookup_key,
)
from dynamometer.expressions import Bound
from dynamometer.expressions.bind import Plan
from dynamometer.expressions.tree import Condition
from dynamometer.model import values
from dynamometer.partiql.tree import Delete, Insert

AttributeValue = dict[str, Any]

_TOO_DEEP = "Nesting Levels have exceeded supported limits"
EXISTS_NEEDS = "EXISTS() must contain a single item read with additional condition"


class InsertItem(actions.Put):
    """A new item."""

    __slots__ = ()

    @property
    def attempted_size(self) -> int:
        return self._after.size

    def decide(self, before: Image | None) -> Image:
        if before is not None:
            raise DuplicateItemException()
        return super().decide(before)


class UpdateItem(actions.Update):
    """An item that is there, changed."""

    __slots__ = ()

    def decide(self, before: Image | None) -> Image | None:
        if before is None:
            raise ConditionalCheckFailedException()
        try:
            return super().decide(before)
        except ValidationException as error:
            if error.message == values.NESTED_TOO_DEEP:
                raise ValidationException(_TOO_DEEP) from None
            raise


class DeleteItem(actions.Delete):
    """An item that is there, removed. Where none is, there is nothing that could fail a condition (measured)."""

    __slots__ = ()

    def decide(self, before: Image | None) -> None:
        if before is not None:
            super().decide(before)


def action_of(
    parsed: Parsed, prepared: Prepared, given: dict[str, AttributeValue], table: Table, request: Body, single: bool
) -> Action:
    """The action of a statement that is no SELECT.

    `single`: in the words of ExecuteStatement for a WHERE that names no item; a transaction has others.
    Raises ValidationException.
    """
    return_item = request.get("ReturnValuesOnConditionCheckFailure") == "ALL_OLD"
    if isinstance(parsed.node, Insert):
        item = {name: given[key] for name, key in prepared.item}
        size = values.normalize_item(item)
        check_item_size(size)
        return InsertItem(table, item_key(table, item), item, size, None, return_item)
    key, rest, contradicted = keys.one_item(prepared.conjuncts, table.key, given)
    if len(key) < table.key_count:
        raise ValidationException(keys.NO_KEY if single else KEY_MISMATCH)
    if contradicted is not None and not parsed.exists:
        raise ValidationException(
            f"Multiple conditions on same key {contradicted}. Only single item Update/Insert/Delete are supported"
            if single
            else KEY_MISMATCH
        )
    storage_key = lookup_key(table, key)
    bound = _bound(prepared, rest, given)
    if parsed.exists:
        return actions.Check(table, storage_key, key, bound, return_item)
    if isinstance(parsed.node, Delete):
        return DeleteItem(table, storage_key, key, bound, return_item)
    assert prepared.update is not None
    check_not_key(table, prepared.update.targets)
    check_index_types(table, prepared.update, given)
    return UpdateItem(table, storage_key, key, bound, return_item)


def _bound(prepared: Prepared, rest: tuple[Condition, ...], given: dict[str, AttributeValue]) -> Bound:
    plan = Plan()
    plan.condition = prepared.residual(rest)
    plan.update = prepared.update
    return Bound(plan, given)


def check_exists(prepared: Prepared, given: dict[str, AttributeValue], table: Table) -> None:
    """Raise unless the SELECT of an EXISTS names one item and has a condition beside."""
    key, rest, _ = keys.one_item(prepared.conjuncts, table.key, given)
    if len(key) < table.key_count or not rest:
        raise ValidationException(EXISTS_NEEDS)


def returned(prepared: Prepared, before: Image | None, after: Image | None) -> Any:
    """What RETURNING asks for, as an item; None when there is nothing of it."""
    if prepared.returning is None:
        return None
    which, state, _ = prepared.returning.split()
    image = before if state == "OLD" else after
    if image is None:
        return None
    if which == "ALL":
        return orjson.Fragment(image.json)
    assert prepared.update is not None
    return prepared.update.updated(image.item) or None


def attempted_size(action: Action) -> int:
    """The size of the item that an action would have written, if that is known without the old one."""
    return action.attempted_size if isinstance(action, InsertItem) else 0
