"""SELECT: a page over the reads that its WHERE was taken apart into, or over a scan.

A page ends at the Limit, counted before the filter, or at 1 MB. Its NextToken holds the place and a digest of what was
asked: it goes on only with the same statement and parameters.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from binascii import Error as Base64Error
from typing import Any

import orjson
import xxhash

from dynamometer.base import limits
from dynamometer.base.errors import ValidationException
from dynamometer.capacity import units
from dynamometer.engine import reading, stored
from dynamometer.engine.catalog import Index, Table
from dynamometer.engine.keyspace import successor
from dynamometer.engine.partiql.keys import KeyPlan, Planner, Read, unprojected_filters
from dynamometer.engine.partiql.prepare import Prepared, Target
from dynamometer.engine.partitions import partitions_of
from dynamometer.engine.requests import Body, read_capacity
from dynamometer.expressions.tree import Condition
from dynamometer.partiql.tree import Name
from dynamometer.storage.interface import View

AttributeValue = dict[str, Any]

_PAGE_UNITS = limits.PAGE_BYTES // units.READ_UNIT_BYTES
_INVALID_TOKEN = "Invalid NextToken"
_WRONG_TOKEN = "NextToken does not match request"


class Query:
    """A SELECT on its table: what to read and what to make of it."""

    def __init__(self, target: Target, prepared: Prepared, values: dict[str, AttributeValue], consistent: bool) -> None:
        self.table = target.require()
        self.index = _index(target, consistent)
        self._prepared = prepared
        self._values = values
        self._consistent = consistent
        self.whole_items = _check_columns(self.index, prepared)
        schema = self.table.key if self.index is None else self.index.schema.key
        self._prefix = self.table.prefix if self.index is None else self.index.prefix
        self.plan: KeyPlan | None = None
        tree = prepared.condition.tree if prepared.condition is not None else None
        if tree is not None:
            self.plan = Planner(schema, self._prefix, values, self.index is None).plan(tree)
        self._check_filters()
        self.reverse = False
        if prepared.order:
            self._order(tree, schema.names)
        self.reads = self._reads()

    def _reads(self) -> list[Read]:
        if self.plan is None:
            return [Read(b"", self._prefix, successor(self._prefix), False, [], False)]
        return self.plan.reads

    def _check_filters(self) -> None:
        index = self.index
        if index is None or self.plan is None or index.schema.projected is None:
            return
        missing = unprojected_filters(self.plan.filters, index.schema.projected)
        if missing:
            raise ValidationException(
                f"One or more parameter values were invalid: Secondary index {index.schema.name} does not project one "
                f"or more filter attributes: [{', '.join(missing)}]"
            )

    def _order(self, tree: Condition | None, names: tuple[str, ...]) -> None:
        """Put the reads into the order of ORDER BY. Without a sort key in it, sort keys descend (measured)."""
        if tree is None:
            raise ValidationException("Must have WHERE clause in the statement when using ORDER BY clause.")
        directions: dict[str, bool] = {}
        for term in self._prepared.order:
            by = term.by
            name = ".".join(str(step) for step in by.steps) if isinstance(by, Name) else ""
            if name not in names:
                raise ValidationException(f"Attribute {name} in ORDER BY clause must be part of the primary key")
            directions.setdefault(name, term.descending)
        if self.plan is None:
            raise ValidationException(
                "Must have at least one non-optional hash key condition in WHERE clause when using ORDER BY clause."
            )
        if self.plan.partitions > 1 and names[0] not in directions:
            raise ValidationException(
                "Must have hash key in ORDER BY clause when more than one hash key condition specified in WHERE clause."
            )
        self.reverse = directions.get(names[1], True) if len(names) > 1 else False
        reads = self.plan.reads
        if self.reverse:
            reads.sort(key=lambda read: read.start, reverse=True)
        reads.sort(key=lambda read: read.partition, reverse=directions.get(names[0], False))

    def request(self, read: Read, limit: int, position: bytes) -> reading.PageRequest:
        """The page request of one read, behind `position` if that is not empty."""
        start, end = read.start, read.end
        if position:
            if not start <= position < end:
                raise ValidationException(_INVALID_TOKEN)
            start, end = (start, position) if self.reverse else (position + b"\x00", end)
        exact = self.plan is not None and self.plan.exact
        return reading.PageRequest(
            table=self.table,
            index=self.index,
            start=start,
            end=end,
            reverse=self.reverse,
            limit=0 if read.whole_key else limit,
            consistent=self._consistent,
            filter=None if exact else self._prepared.condition,
            values=self._values,
            projection=self._prepared.columns,
            count_only=False,
            whole_items=self.whole_items,
            partitions=0 if self.plan is not None else partitions_of(self.table.record),
        )

    def page(self, view: View, body: Body, table_name: str, digest: str) -> Body:
        """The answer with one page of items. `body` has Limit, NextToken and ReturnConsumedCapacity."""
        limit = body.get("Limit", 0)
        number, position = _open_token(body.get("NextToken"), digest, len(self.reads))
        items: list[bytes] = []
        scanned, index_units, base_units = 0, 0.0, 0.0
        answer: Body = {}
        while number < len(self.reads):
            page = reading.read_page(view, self.request(self.reads[number], limit and limit - scanned, position))
            items += page.items
            scanned += page.scanned
            index_units += page.index_units
            base_units += page.base_units
            position = b""
            if page.last is not None:
                answer["NextToken"] = _seal_token(digest, number, page.last[0])
                answer["LastEvaluatedKey"] = reading.last_evaluated_key(
                    self.table, self.index, stored.decode(page.last[1])
                )
                break
            number += 1
            if number < len(self.reads) and (
                (limit and scanned >= limit) or index_units * (1 if self._consistent else 2) >= _PAGE_UNITS
            ):
                answer["NextToken"] = _seal_token(digest, number, b"")
                break
        if not self.reads:
            index_units = units.read_units(0, self._consistent)
        answer["Items"] = orjson.Fragment(b"[" + b",".join(items) + b"]")
        capacity = read_capacity({**body, "TableName": table_name}, index_units, self.index, base_units)
        if capacity is not None:
            answer["ConsumedCapacity"] = capacity
        return answer


def _index(target: Target, consistent: bool) -> Index | None:
    if target.index_name is None:
        return None
    index = target.index
    if index is None:
        raise ValidationException("The table does not have the specified index")
    if index.schema.is_global:
        if consistent:
            raise ValidationException("Strongly consistent read is not supported on Global Secondary Indexes")
        if index.backfilling:
            raise ValidationException(f"Cannot read from backfilling global secondary index: {target.index_name}")
    return index


def _check_columns(index: Index | None, prepared: Prepared) -> bool:
    """Whether whole items have to be fetched for the columns. Raises when a global index can't give one."""
    if index is None or index.schema.projected is None or prepared.columns is None:
        return False
    missing = [name for name in prepared.columns.attributes if name not in index.schema.projected]
    if not missing:
        return False
    if not index.schema.is_global:
        return True
    raise ValidationException(
        f"One or more parameter values were invalid: Global secondary index {index.schema.name} does not project "
        f"[{', '.join(missing)}]"
    )


def digest_of(table: Table | None, statement: str, parameters: list[AttributeValue]) -> str:
    """What a token is bound to."""
    number = table.number if table is not None else 0
    return xxhash.xxh3_64_hexdigest(orjson.dumps([number, statement, parameters]))


def _seal_token(digest: str, number: int, position: bytes) -> str:
    return b64encode(orjson.dumps([digest, number, b64encode(position).decode()])).decode()


def _open_token(token: str | None, digest: str, reads: int) -> tuple[int, bytes]:
    """The read to go on with and the key to go on behind."""
    if token is None:
        return 0, b""
    try:
        bound, number, position = orjson.loads(b64decode(token, validate=True))
        key = b64decode(position, validate=True)
    except (ValueError, TypeError, Base64Error):
        raise ValidationException(_INVALID_TOKEN) from None
    if bound != digest:
        raise ValidationException(_WRONG_TOKEN)
    if type(number) is not int or not 0 <= number < reads:
        raise ValidationException(_INVALID_TOKEN)
    return number, key


def check_token(token: str | None, digest: str) -> None:
    """Raise for the token of a statement that has no pages."""
    _open_token(token, digest, 1)
