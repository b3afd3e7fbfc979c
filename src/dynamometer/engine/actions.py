"""The four things a write can do to one item: put it, update it, delete it, or only check it.

An action is parsed once and may be decided several times: `decide` computes the item after from the item before and
changes nothing. PutItem and its siblings hold one action, a batch many, a transaction many that happen together.
"""

from __future__ import annotations

from dynamometer.base import limits
from dynamometer.base.errors import ConditionalCheckFailedException, ValidationException
from dynamometer.engine import stored
from dynamometer.engine.catalog import Table
from dynamometer.engine.codec import Entry, IndexKeyError, Item
from dynamometer.engine.commit import Charge, Commit, Image, entries_of
from dynamometer.expressions import Bound
from dynamometer.model import values

ITEM_TOO_LARGE = "Item size has exceeded the maximum allowed size"
UPDATE_TOO_LARGE = "Item size to update has exceeded the maximum allowed size"


class Action:
    """One item of one table, and what to do with it. `key` is the storage key, `key_item` the key's attributes."""

    __slots__ = ("bound", "entries", "key", "key_item", "return_item_on_failure", "table")

    def __init__(self, table: Table, key: bytes, key_item: Item, bound: Bound | None, return_item: bool) -> None:
        self.table = table
        self.key = key
        self.key_item = key_item
        self.bound = bound
        self.return_item_on_failure = return_item
        self.entries: list[Entry | None] | None = None

    def check(self, before: Image | None) -> None:
        """Raise ConditionalCheckFailedException unless the condition holds for the item before."""
        bound = self.bound
        if bound is None or bound.condition is None:
            return
        item = before.item if before is not None else None
        if not bound.condition.test(item, bound.values):
            raise ConditionalCheckFailedException(item if self.return_item_on_failure else None)

    def decide(self, before: Image | None) -> Image | None:
        """The item after. Raises ConditionalCheckFailedException or ValidationException."""
        raise NotImplementedError

    def stage(self, commit: Commit) -> tuple[Image | None, Image | None, Charge]:
        """Decide and stage the change, all that a single write does; the item before and after, and what that costs."""
        before = commit.read(self.key)
        after = self.decide(before)
        return before, after, commit.change(self.table, self.key, before, after, self.entries)


def _check_local_size(table: Table, after: Image, entries: list[Entry | None], message: str) -> None:
    """An item and its entries in local indexes share the 400 KB (developer guide, "Constraints"; text assumed)."""
    size = after.size
    for index, entry in zip(table.maintained, entries, strict=True):
        if entry is not None and not index.schema.is_global:
            size += entry.size
    if size > limits.ITEM_BYTES_MAX:
        raise ValidationException(message)


class Put(Action):
    """The whole item, new or instead of the old one."""

    __slots__ = ("_after",)

    def __init__(
        self, table: Table, key: bytes, item: Item, size: int, bound: Bound | None = None, return_item: bool = False
    ) -> None:
        super().__init__(table, key, item, bound, return_item)
        self._after = Image(stored.encode(item, size), item, size)
        if table.maintained:
            try:
                self.entries = entries_of(table, key, self._after)
            except IndexKeyError as error:
                raise error.on_put() from None
            if table.has_local:
                _check_local_size(table, self._after, self.entries, ITEM_TOO_LARGE)

    def decide(self, before: Image | None) -> Image:
        if self.bound is not None:
            self.check(before)
        return self._after


class Update(Action):
    """The old item, or its bare key, with an update applied."""

    __slots__ = ("upserted",)

    def decide(self, before: Image | None) -> Image | None:
        self.check(before)
        self.entries = None
        update = self.bound.update if self.bound is not None else None
        if before is None:
            if update is not None and update.removes_only:
                # measured on the service: REMOVE alone on a missing item creates nothing
                return None
            item: Item = dict(self.key_item)
        else:
            item = before.item
        if update is not None and self.bound is not None:
            item = update.apply(item, self.bound.values, before is not None)
        elif before is not None:
            return before
        if before is not None and update is not None:
            size = values.changed_size(before.size, before.item, item, update.targets)
        else:
            size = values.item_size(item)
        if size > limits.ITEM_BYTES_MAX:
            raise ValidationException(UPDATE_TOO_LARGE)
        after = Image(stored.encode(item, size), item, size)
        if self.table.maintained:
            try:
                self.entries = entries_of(self.table, self.key, after)
            except IndexKeyError:
                self.entries = self._entries_after(before, after)
            if self.table.has_local:
                _check_local_size(self.table, after, self.entries, UPDATE_TOO_LARGE)
        return after

    def _entries_after(self, before: Image | None, after: Image) -> list[Entry | None]:
        """The entries where one can't be made. Raises what the service says, unless a vector index has left the item
        out before, for a value that was there before the index, and the update leaves that as it is (measured)."""
        entries: list[Entry | None] = []
        for index in self.table.maintained:
            try:
                entries.append(index.codec.entry(after.item, self.key, after.value, after.size))
            except IndexKeyError as error:
                name = error.attribute.name
                if index.schema.vector is None or before is None or before.item.get(name) != after.item.get(name):
                    raise error.on_update() from None
                entries.append(None)
        return entries


class Delete(Action):
    """No item any more."""

    __slots__ = ()

    def decide(self, before: Image | None) -> None:
        self.check(before)


class Check(Action):
    """Nothing changes; the condition must hold."""

    __slots__ = ()

    def decide(self, before: Image | None) -> Image | None:
        self.check(before)
        return before
