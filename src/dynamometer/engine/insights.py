"""Contributor insights: the most accessed and the most throttled keys of a table or a global index.

The service keeps them as rules of CloudWatch, of which its own operations tell only the names; `report` gives what the
rules would show, from sketches in memory. They begin anew with every start of the engine. A table that has no insights
pays for one comparison of every access.

    rule   counts
    PKC    partition keys of accesses: reads and writes of items, queries; not scans
    SKC    partition and sort keys of reads and writes of items
    PKT    partition keys of throttled accesses
    SKT    partition and sort keys of those
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dynamometer.base.errors import ResourceNotFoundException, ValidationException
from dynamometer.engine.codec import Item
from dynamometer.engine.records import IndexRecord, Insights, TableRecord
from dynamometer.engine.sketch import Frequent, Sketch
from dynamometer.model.schema import KeySchema

if TYPE_CHECKING:
    from dynamometer.engine.catalog import World

Body = dict[str, Any]

ALL_KEYS = "ACCESSED_AND_THROTTLED_KEYS"
THROTTLED_KEYS = "THROTTLED_KEYS"
CONTRIBUTORS_MAX = 25
"""Of a report (developer guide: contributor insights)."""
_SKETCH_KEYS = 10 * CONTRIBUTORS_MAX

Keys = tuple[str, ...]
"""The values of a key's attributes, as in an AttributeValue."""


class Contributors:
    """The sketches of one table or index."""

    __slots__ = ("_counts_accesses", "_partition", "_rules", "_sort")

    def __init__(self, key: KeySchema, mode: str) -> None:
        self._partition = [(attribute.name, attribute.type) for attribute in key.partition]
        self._sort = [(attribute.name, attribute.type) for attribute in key.sort]
        self._counts_accesses = mode == ALL_KEYS
        self._rules: dict[str, Sketch[Keys]] = {
            kind: Sketch(_SKETCH_KEYS) for kind in rule_kinds(mode, bool(self._sort))
        }

    def accessed(self, item: Item) -> None:
        """An item, of which the key is enough, was read or written."""
        if self._counts_accesses:
            self._add("C", item)

    def throttled(self, item: Item) -> None:
        """A read or write of an item was throttled."""
        self._add("T", item)

    def _add(self, letter: str, item: Item) -> None:
        keys = tuple([str(item[name][kind]) for name, kind in self._partition])
        self._rules[f"PK{letter}"].add(keys)
        if self._sort:
            self._rules[f"SK{letter}"].add(keys + tuple([str(item[name][kind]) for name, kind in self._sort]))

    def queried(self, partition: list[Any]) -> None:
        """One item collection was queried."""
        if self._counts_accesses:
            self._rules["PKC"].add(tuple(map(str, partition)))

    def report(self) -> dict[str, list[Frequent[Keys]]]:
        """What each rule has counted, the most frequent keys first."""
        return {kind: sketch.top(CONTRIBUTORS_MAX) for kind, sketch in self._rules.items()}


def report(world: World, table: str, index: str | None = None) -> dict[str, list[Frequent[Keys]]]:
    """What the rules of a table or a global index have counted since they were there. Raises ResourceNotFoundException.

    Empty where there are no insights.
    """
    found: Any = world.catalog.find(world, table)
    if index is not None:
        subject(found.record, index)
        found = found.indexes[index]
    return {} if found.insights is None else found.insights.report()


def rule_kinds(mode: str, has_sort_key: bool) -> list[str]:
    """The rules that there are for a table or index in some mode."""
    letters = "CT" if mode == ALL_KEYS else "T"
    return [f"{key}{letter}" for key in (("PK", "SK") if has_sort_key else ("PK",)) for letter in letters]


def contributors(known: Contributors | None, insights: Insights | None, key: KeySchema) -> Contributors | None:
    """The sketches that a record asks for: those that there are, new ones, or none."""
    if insights is None or not insights.enabled:
        return None
    if known is not None and known._counts_accesses == (insights.mode == ALL_KEYS):
        return known
    return Contributors(key, insights.mode)


# --- States ------------------------------------------------------------------------------------------------------


def change(record: TableRecord, index: str, action: str, mode: str | None, now: float, until: float) -> None:
    """Switch insights on or off. What is already so stays as it is (measured)."""
    insights = record.insights.get(index)
    if action == "DISABLE":
        if insights is not None and insights.enabled:
            record.insights[index] = Insights(False, insights.mode, now, until, insights.rules_at)
        return
    mode = mode or ALL_KEYS
    if insights is not None and insights.enabled and insights.mode == mode:
        return
    rules_at = insights.rules_at if insights is not None and insights.enabled else int(now * 1000)
    record.insights[index] = Insights(True, mode, now, until, rules_at)


def status(insights: Insights | None, now: float) -> str:
    """ENABLING, ENABLED, DISABLING or DISABLED."""
    if insights is None:
        return "DISABLED"
    if insights.until is not None and now < insights.until:
        return "ENABLING" if insights.enabled else "DISABLING"
    return "ENABLED" if insights.enabled else "DISABLED"


def subject(record: TableRecord, index: str | None) -> IndexRecord | None:
    """The index that a request names. Raises ResourceNotFoundException for all but global secondary ones."""
    if index is None:
        return None
    found = record.index(index)
    if found is None or not found.is_secondary or found.status in ("CREATING", "DELETING"):
        raise ResourceNotFoundException(
            f"Requested resource not found: Index: {index} not found for table: {record.name}"
        )
    return found


def check_state(record: TableRecord) -> None:
    """Raise unless the table's insights can be changed."""
    if record.status in ("CREATING", "DELETING"):
        raise ValidationException(
            "Table or Index is not in a valid state to update Key Access Insights: TableStatus must be ACTIVE to "
            "enable ContributorInsights."
        )


def summary(record: TableRecord, index: str, now: float) -> Body:
    """The state of a table's or an index's insights, as a list of them has it."""
    insights = record.insights.get(index)
    described: Body = {"TableName": record.name}
    if index:
        described["IndexName"] = index
    described["ContributorInsightsStatus"] = status(insights, now)
    if insights is not None:
        described["ContributorInsightsMode"] = insights.mode
    return described


def description(record: TableRecord, index: IndexRecord | None, now: float) -> Body:
    """The state as DescribeContributorInsights gives it."""
    name = "" if index is None else index.name
    insights = record.insights.get(name)
    described = summary(record, name, now)
    if insights is None:
        return described
    described["LastUpdateDateTime"] = insights.changed_at
    if described["ContributorInsightsStatus"] == "ENABLED":
        has_sort_key = bool(record.sort if index is None else index.sort)
        resource = record.name if index is None else f"{record.name}-{index.name}"  # the index's: assumed
        described["ContributorInsightsRuleList"] = [
            f"DynamoDBContributorInsights-{kind}-{resource}-{insights.rules_at}"
            for kind in rule_kinds(insights.mode, has_sort_key)
        ]
    return described
