"""Writes and point reads of the model. Each returns what the service would say, or raises why it refuses."""

from __future__ import annotations

from dataclasses import dataclass

from .answers import Cancelled, ConditionFailed, Refused, Unknown
from .conditions import Condition
from .paths import Path, project
from .tables import ITEM_BYTES_MAX, NO_MATCH, Table, Units, kilobytes, position, read_blocks, size_of
from .updates import Action, Delete, Remove, apply, literals
from .values import Item

TOO_LARGE = "Item size has exceeded the maximum allowed size"
DUPLICATES = "Provided list of item keys contains duplicates"
SAME_ITEM = "Transaction request cannot include multiple operations on one item"


@dataclass(frozen=True)
class Put:
    table: Table
    item: Item
    condition: Condition | None = None
    show_failed: bool = False


@dataclass(frozen=True)
class Update:
    table: Table
    key: Item
    actions: list[Action]
    condition: Condition | None = None
    show_failed: bool = False


@dataclass(frozen=True)
class Erase:
    table: Table
    key: Item
    condition: Condition | None = None
    show_failed: bool = False


@dataclass(frozen=True)
class Check:
    table: Table
    key: Item
    condition: Condition
    show_failed: bool = False


Write = Put | Update | Erase | Check


@dataclass
class Outcome:
    """A write that was decided: the item before and after. A condition check writes nothing."""

    table: Table
    key: Item
    before: Item | None
    after: Item | None
    units: Units
    writes: bool = True

    def commit(self) -> None:
        self.table.replace(self.key, self.after)


def decide(write: Write, factor: int = 1) -> Outcome:
    """What a write does; nothing is changed yet."""
    table = write.table
    texts = _faults(write)
    if texts:
        raise Refused(*texts)
    key = table.key_of(write.item) if isinstance(write, Put) else write.key
    before = table.find(key)
    held = write.condition is None or write.condition.holds(before)
    after = _after(write, before, key, held)
    if not held:
        raise ConditionFailed(before if write.show_failed else None)
    return Outcome(table, key, before, after, _units(write, before, after, factor), not isinstance(write, Check))


def _after(write: Write, before: Item | None, key: Item, held: bool) -> Item | None:
    if isinstance(write, Put):
        return write.item
    if isinstance(write, Check):
        return before
    if isinstance(write, Erase):
        return None
    kinds = {type(action) for action in write.actions}
    if before is None and Delete in kinds and kinds <= {Delete, Remove}:
        raise Unknown
    try:
        after = apply(write.actions, before, key)
        if after is not None:
            write.table.check_update(after)
    except Refused as refusal:
        if not held:  # which of the two is told depends on whether the item is needed to see the mistake
            raise Unknown from refusal
        raise
    return after


def _units(write: Write, before: Item | None, after: Item | None, factor: int) -> Units:
    if isinstance(write, Check):
        return Units(factor * kilobytes(size_of(before)))
    return write.table.write_units(before, after, factor)


def returned(outcome: Outcome, wanted: str, actions: list[Action]) -> Item | None:
    """The Attributes of an answer; None where the member is left out."""
    paths: list[Path] = [action.path for action in actions]
    before, after = outcome.before or {}, outcome.after or {}
    attributes: Item = {
        "NONE": {},
        "ALL_OLD": before,
        "ALL_NEW": after,
        "UPDATED_OLD": project(before, paths),
        "UPDATED_NEW": project(after, paths),
    }[wanted]
    return attributes or None


def batch(writes: list[Put | Erase]) -> list[Outcome]:
    """BatchWriteItem: each alone, but a fault in one refuses them all."""
    texts = [text for write in writes for text in _batch_faults(write)]
    if has_twins(writes):
        texts.append(DUPLICATES)
    if texts:
        raise Refused(*texts)
    outcomes = [decide(write) for write in writes]
    for outcome in outcomes:
        outcome.commit()
    return outcomes


def _batch_faults(write: Put | Erase) -> list[str]:
    if isinstance(write, Erase):
        return write.table.key_faults(write.key)
    schema, empty = write.table.check_item_keys(write.item)
    texts = [text if "Index Key" in text else NO_MATCH for text in schema] + empty
    return [*texts, TOO_LARGE] if write.table.stored_size(write.item) > ITEM_BYTES_MAX else texts


def transact(writes: list[Write]) -> list[Outcome]:
    """TransactWriteItems: all or nothing, and a reason for each that failed."""
    whole, single = [], []
    for write in writes:
        for text in _faults(write):
            (whole if "cannot contain an empty" in text or text == TOO_LARGE else single).append(text)
    if has_twins(writes):
        whole.append(SAME_ITEM)
    if whole and single:  # which of them is met first is not told
        raise Unknown
    if whole:
        raise Refused(*whole)
    outcomes: list[Outcome] = []
    reasons: list[Refused | None] = []
    for write in writes:
        try:
            outcomes.append(decide(write, factor=2))
            reasons.append(None)
        except Refused as refusal:
            reasons.append(refusal)
    if any(reasons):
        raise Cancelled(_first_mistake(writes, reasons))
    for outcome in outcomes:
        outcome.commit()
    return outcomes


def _first_mistake(writes: list[Write], reasons: list[Refused | None]) -> list[Refused | None]:
    """Evaluation stops at the first mistake, and the other actions show no reason; conditions are all reported.

    Which of several mistakes is the first is told only where all can be seen without an item.
    """
    failed = [reason for reason in reasons if reason]
    mistakes = [reason for reason in failed if not isinstance(reason, ConditionFailed)]
    if not mistakes:
        return reasons
    early = [reason for write, reason in zip(writes, reasons, strict=True) if reason and _faults(write)]
    if len(failed) > 1 and len(early) < len(failed):
        raise Unknown
    return [reason if reason is mistakes[0] else None for reason in reasons]


def _faults(write: Write) -> list[str]:
    """Mistakes that can be told without an item: of the key first, then of what an index would hold."""
    table = write.table
    if isinstance(write, Put):
        schema, empty = table.check_item_keys(write.item)
        return [*schema, *empty, TOO_LARGE] if table.stored_size(write.item) > ITEM_BYTES_MAX else [*schema, *empty]
    faults = table.key_faults(write.key)
    if not faults and isinstance(write, Update):
        faults = table.index_type_faults(literals(write.actions))
    return faults


def has_twins(writes: list[Put | Erase] | list[Write]) -> bool:
    """Whether two of the writes name one item. Broken keys are told apart elsewhere."""
    places = []
    for write in writes:
        key = write.item if isinstance(write, Put) else write.key
        if all(name in key for name, _ in write.table.key):
            places.append((write.table.name, position(write.table.key_of(key))))
    return len(set(places)) < len(places)


def replay_units(outcome: Outcome) -> float:
    """A repeated token reads what the first call wrote: twice the 4 KB blocks of the larger image."""
    return 2.0 * read_blocks(max(size_of(outcome.before), size_of(outcome.after)))


def get_units(item: Item | None, consistent: bool) -> float:
    return read_blocks(size_of(item)) * (1.0 if consistent else 0.5)


def is_good_key(table: Table, key: Item) -> bool:
    """Whether a lookup by this key is accepted."""
    return not table.key_faults(key)
