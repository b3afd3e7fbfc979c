"""VectorIndexUpdates: vector indexes to create and to delete. None can be changed."""

from __future__ import annotations

from typing import Any

from dynamometer.base.errors import LimitExceededException, ResourceNotFoundException, ValidationException
from dynamometer.engine import schemas
from dynamometer.engine.records import TableRecord
from dynamometer.engine.schemas import invalid
from dynamometer.engine.vectors import definitions

Body = dict[str, Any]

VERBS = ("Create", "Delete")


class VectorUpdates:
    """The vector index updates of one request; making them checks all that can be told without the table.

    The texts are those of global indexes with the other word in them: assumed where the service was not asked.
    """

    def __init__(self, body: Body) -> None:
        self.actions = [self._action(update) for update in body.get("VectorIndexUpdates") or ()]
        self.creates = [action["IndexName"] for verb, action in self.actions if verb == "Create"]
        self.deletes = [action["IndexName"] for verb, action in self.actions if verb == "Delete"]
        if body.get("VectorIndexUpdates") == []:
            raise invalid("List of VectorIndexUpdates is empty")

    def _action(self, update: Body) -> tuple[str, Body]:
        verbs = [verb for verb in VERBS if verb in update]
        if not verbs:
            raise invalid("One of VectorIndexUpdate.Create, VectorIndexUpdate.Delete must not be null")
        if len(verbs) > 1:
            raise invalid("Only one vector index action is allowed per VectorIndexUpdate object")
        return verbs[0], update[verbs[0]]

    def apply(self, record: TableRecord, types: dict[str, str], mode: str, until: float) -> None:
        """Make all updates on a table's record. `types`: the request's own AttributeDefinitions."""
        for verb, action in self.actions:
            if verb == "Create":
                _create(record, action, types, mode, until)
            else:
                _delete(record, action["IndexName"], until)


def _create(record: TableRecord, action: Body, types: dict[str, str], mode: str, until: float) -> None:
    if record.index(action["IndexName"]) is not None:
        raise ValidationException("Attempting to create an index which already exists")
    definitions.check_mode(mode)
    index = definitions.vector_index(action, types)
    if sum(each.vector is not None for each in record.indexes) >= definitions.VECTOR_INDEXES_MAX:
        raise LimitExceededException(
            "Subscriber limit exceeded: Number of vector indexes exceeds per-table limit of "
            f"{definitions.VECTOR_INDEXES_MAX}"
        )
    index.number, record.next_index = record.next_index, record.next_index + 1
    index.status, index.until, index.backfilling = "CREATING", until, True
    record.indexes.append(index)
    schemas.check_projected(record.indexes)
    added = {name: types[name] for name in definitions.schema_names(action) if name not in record.attributes}
    definitions.check_attributes(record.indexes, record.attributes | types)
    record.attributes |= added


def _delete(record: TableRecord, name: str, until: float) -> None:
    index = record.index(name)
    if index is None:
        raise ResourceNotFoundException(f"Requested resource not found: Index {name} for table {record.name}")
    if index.vector is None:
        raise ValidationException(f"Cannot delete an index that is not a VectorIndex: {name}")
    index.status, index.until, index.backfilling = "DELETING", until, False
