"""The other half of the state machine: queries and scans, page by page to the end."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import rule

from tests.model import generators as g
from tests.model.calls import Body, capacity, filter_members, read_checked
from tests.model.machine import CAPACITY_MODES, DataPlane
from tests.model.reference import reads as r
from tests.model.reference.answers import Refused
from tests.model.reference.paths import Names
from tests.model.reference.tables import Index, Position, Table, position
from tests.model.reference.values import Item, Value, order, read_item, write


class Reading(DataPlane):
    """Writes, point reads, queries and scans."""

    @rule(data=st.data(), forward=st.booleans(), limit=st.none() | st.integers(1, 4), filtered=st.booleans())
    def query(self, data: Any, forward: bool, limit: int | None, filtered: bool) -> None:
        table = self.table(data)
        index = data.draw(st.sampled_from([None, *table.indexes]), label="index")
        partition, condition = self.key_condition(data, table, index)
        places = self.query_order(table, index, partition, condition)
        read = self.draw_read(data, table, index, limit, filtered and self.filter_paths(table, index, True))
        names = Names()
        body = self.read_members(read, names) | {
            "KeyConditionExpression": key_condition_text(table, index, partition, condition, names),
            "ScanIndexForward": forward,
        }
        mode = data.draw(CAPACITY_MODES)
        self.read_pages("Query", read, body | names.members(), places if forward else places[::-1], mode)

    @rule(data=st.data(), limit=st.none() | st.integers(1, 4), filtered=st.booleans())
    def scan(self, data: Any, limit: int | None, filtered: bool) -> None:
        table = self.table(data)
        index = data.draw(st.sampled_from([None, *table.indexes]), label="index")
        order = self.scan_order(table, index)
        read = self.draw_read(data, table, index, limit, filtered and self.filter_paths(table, index, False))
        names = Names()
        body = self.read_members(read, names)
        self.read_pages("Scan", read, body | names.members(), order, data.draw(CAPACITY_MODES))

    @rule(data=st.data(), total=st.integers(1, 5), limit=st.none() | st.integers(1, 3))
    def scan_in_segments(self, data: Any, total: int, limit: int | None) -> None:
        """The segments hold every entry once, each in the order of the whole scan, and tear no collection apart."""
        table = self.table(data)
        index = data.draw(st.sampled_from([None, *table.indexes]), label="index")
        order = self.scan_order(table, index)
        owners: dict[object, int] = {}
        seen: list[Position] = []
        for segment in range(total):
            body: Body = {"Segment": segment, "TotalSegments": total} | ({"Limit": limit} if limit else {})
            places = self.collect("Scan", table, index, body)
            assert places == [place for place in order if place in set(places)]
            seen += places
            key = index.key if index else table.key
            for place in places:
                entry = table.items[place]
                assert owners.setdefault(r.partition_of(key, entry), segment) == segment
        assert sorted(map(repr, seen)) == sorted(map(repr, order))

    # --- what is asked ---

    def key_condition(self, data: Any, table: Table, index: Index | None) -> tuple[Value, r.SortCondition | None]:
        """A partition that is often there, and sometimes a condition on the sort key."""
        key = index.key if index else table.key
        known = [entry[key[0][0]] for entry in table.entries(index).values()]
        partition = data.draw(st.sampled_from(known or g.KEY_VALUES[key[0][1]]), label="partition")
        if len(key) == 1 or data.draw(st.booleans()):
            return partition, None
        kind = key[1][1]
        signs = ["=", "<", "<=", ">", ">=", "BETWEEN"] + (["begins_with"] if kind != "N" else [])
        sign = data.draw(st.sampled_from(signs))
        values = [data.draw(st.sampled_from(g.KEY_VALUES[kind])) for _ in range(2 if sign == "BETWEEN" else 1)]
        return partition, r.SortCondition(sign, tuple(sorted(values, key=order)))

    def filter_paths(self, table: Table, index: Index | None, is_query: bool) -> list[tuple[str | int, ...]]:
        """What a filter may name: attributes the index holds; in a query not the keys it goes by."""
        key = {name for name, _ in (index.key if index else table.key)} if is_query else set()
        paths = [*g.LEAF_PATHS, ("pk",), ("sk",), ("gn",)]
        return [path for path in paths if table.projects(index, str(path[0])) and path[0] not in key]

    def draw_read(self, data: Any, table: Table, index: Index | None, limit: int | None, paths: Any) -> r.Read:
        condition = data.draw(g.conditions(st.sampled_from(paths)), label="filter") if paths else None
        consistent = data.draw(st.booleans()) and (index is None or not index.is_global)
        reaches = index is not None and not index.is_global and index.projection != "ALL"
        whole = reaches and condition is None and data.draw(st.booleans())
        projection = None
        if not whole and data.draw(st.integers(0, 3)) == 0:
            allowed = [path for path in g.LEAF_PATHS if table.projects(index, str(path[0]))]
            projection = data.draw(g.projections_of(allowed)) if allowed else None
        return r.Read(table, index, limit, condition, projection, whole, consistent)

    def read_members(self, read: r.Read, names: Names) -> Body:
        body: Body = {"TableName": read.table.name, "ConsistentRead": read.consistent}
        body |= filter_members(read.filter, names)
        if read.index is not None:
            body["IndexName"] = read.index.name
        if read.limit is not None:
            body["Limit"] = read.limit
        if read.whole:
            body["Select"] = "ALL_ATTRIBUTES"
        if read.paths is not None:
            body["ProjectionExpression"] = ", ".join(map(names.path, read.paths))
        return body

    # --- what is answered ---

    def read_pages(self, operation: str, read: r.Read, body: Body, order: list[Position], mode: str) -> None:
        """Follow the pages to the end, each as predicted; then once more for the counts alone."""
        body = body | {"ReturnConsumedCapacity": mode}
        for page in r.pages(read, order):
            answer = self.succeed(operation, body)
            assert [read_checked(item) for item in answer["Items"]] == page.items
            self.assert_page(answer, read, page, mode)
            if not read.whole and read.paths is None:
                counted = self.succeed(operation, body | {"Select": "COUNT"})
                assert "Items" not in counted
                self.assert_page(counted, read, page, mode)
            body["ExclusiveStartKey"] = answer.get("LastEvaluatedKey")
            if operation == "Query" and read.index is None and len(read.table.key) == 1 and page.last_key:
                self.refuse(operation, body, Refused("The query can return at most one row and cannot be restarted"))
                break

    def assert_page(self, answer: Body, read: r.Read, page: r.Page, mode: str) -> None:
        last = answer.get("LastEvaluatedKey")
        assert (None if last is None else read_item(last)) == page.last_key
        assert (answer["Count"], answer["ScannedCount"]) == (len(page.items), page.scanned)
        expected = None if mode == "NONE" else capacity(read.table, page.units, mode)
        assert answer.get("ConsumedCapacity") == expected, (answer.get("ConsumedCapacity"), expected)

    def collect(self, operation: str, table: Table, index: Index | None, body: Body) -> list[Position]:
        """The primary keys of a complete read."""
        body = body | {"TableName": table.name} | ({"IndexName": index.name} if index else {})
        found: list[Position] = []
        while True:
            answer = self.succeed(operation, body)
            entries = [read_item(item) for item in answer["Items"]]
            for entry in entries:
                place = position(table.key_of(entry))
                assert entry == table.entry(index, table.items.get(place)), "not what the index should hold"
                found.append(place)
            if "LastEvaluatedKey" not in answer:
                return found
            body["ExclusiveStartKey"] = answer["LastEvaluatedKey"]

    def scan_order(self, table: Table, index: Index | None) -> list[Position]:
        """The order in which the service keeps its entries, which is its own affair, checked."""
        order = self.collect("Scan", table, index, {})
        r.assert_order(table, index, order)
        return order

    def query_order(
        self, table: Table, index: Index | None, partition: Value, condition: r.SortCondition | None
    ) -> list[Position]:
        """The same for the entries of a key condition: only ties in an index are open."""
        names = Names()
        body: Body = {"KeyConditionExpression": key_condition_text(table, index, partition, condition, names)}
        order = self.collect("Query", table, index, body | names.members())
        assert set(order) == r.matching(table, index, partition, condition)
        assert len(set(order)) == len(order)
        key = index.key if index else table.key
        marks = [r.sort_order(key, entry_of(table, index, place)) for place in order]
        assert marks == sorted(marks)
        return order


def entry_of(table: Table, index: Index | None, place: Position) -> Item:
    entry = table.entry(index, table.items[place])
    assert entry is not None
    return entry


def key_condition_text(
    table: Table, index: Index | None, partition: Value, condition: r.SortCondition | None, names: Names
) -> str:
    key = index.key if index else table.key
    text = f"{names.name(key[0][0])} = {names.value(write(partition))}"
    if condition is None:
        return text
    name, values = names.name(key[1][0]), [names.value(write(value)) for value in condition.values]
    if condition.sign == "begins_with":
        return f"{text} AND begins_with({name}, {values[0]})"
    if condition.sign == "BETWEEN":
        return f"{text} AND {name} BETWEEN {values[0]} AND {values[1]}"
    return f"{text} AND {name} {condition.sign} {values[0]}"
