"""Index updates: indexes to create, to delete, and to give other throughput. Those of vector indexes are apart."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dynamometer.base.errors import (
    LimitExceededException,
    ResourceInUseException,
    ResourceNotFoundException,
    ValidationException,
)
from dynamometer.engine import schemas, throughput
from dynamometer.engine.records import ON_DEMAND, IndexRecord, TableRecord
from dynamometer.engine.schemas import invalid
from dynamometer.engine.vectors import definitions
from dynamometer.engine.vectors.updates import VectorUpdates

Body = dict[str, Any]

IN_USE = "Attempt to change a resource which is still in use: "
ACTIONS = ("Update", "Create", "Delete")
ONE_AT_A_TIME = "Subscriber limit exceeded: Only 1 online index can be created or deleted simultaneously per table"
_NO_CEILING = "cannot be specified when the table BillingMode is PROVISIONED"
_MISSING = "Both ReadCapacityUnits and WriteCapacityUnits must be specified for index: {}"
_UNWANTED = (
    "Neither ReadCapacityUnits nor WriteCapacityUnits can be specified for index: {} when BillingMode is "
    "PAY_PER_REQUEST"
)


class IndexUpdates:
    """The index updates of one request; making them checks all that can be told without the table."""

    def __init__(self, body: Body, region: str) -> None:
        self._region = region
        self._types = schemas.definitions_of(body)
        self._vectors = VectorUpdates(body)
        self._actions: list[tuple[str, Body]] = []
        for update in body.get("GlobalSecondaryIndexUpdates") or ():
            self._actions.append(self._action(update))
        self.creates = [action["IndexName"] for verb, action in self._actions if verb == "Create"]
        self.deletes = [action["IndexName"] for verb, action in self._actions if verb == "Delete"]
        self.creates += self._vectors.creates
        self.deletes += self._vectors.deletes
        self.provisioned = {
            action["IndexName"]
            for verb, action in self._actions
            if verb != "Delete" and "ProvisionedThroughput" in action
        }

    def _action(self, update: Body) -> tuple[str, Body]:
        verbs = [verb for verb in ACTIONS if verb in update]
        if not verbs:
            raise invalid(
                "One of GlobalSecondaryIndexUpdate.Update, GlobalSecondaryIndexUpdate.Create, "
                "GlobalSecondaryIndexUpdate.Delete must not be null"
            )
        if len(verbs) > 1:
            raise invalid("Only one global secondary index action is allowed per GlobalSecondaryIndexUpdate object")
        action = update[verbs[0]]
        name = action["IndexName"]
        if any(name == other["IndexName"] for _, other in self._actions):
            raise invalid(f"Only one global secondary index update per index is allowed simultaneously. Index: {name}")
        if verbs[0] == "Update" and action.get("WarmThroughput") == {}:
            raise invalid(
                "WarmThroughput must have at least one of ReadUnitsPerSecond or WriteUnitsPerSecond specified for "
                f"index: {name}"
            )
        if "ProvisionedThroughput" in action:
            throughput.check_units(action["ProvisionedThroughput"], self._region, name)
        return verbs[0], action

    def check_state(self, record: TableRecord) -> None:
        """Raise while an index that is meant, or another one, is on the way."""
        for verb, action in [*self._actions, *self._vectors.actions]:
            index = record.index(action["IndexName"])
            if index is None or not index.is_global:
                continue
            where = f"Table: {record.name} Index: {index.name}"
            if index.status == "DELETING":
                raise ResourceInUseException(f"{IN_USE}Index is being deleted. {where}")
            if index.status == "UPDATING" and verb != "Create":
                raise ResourceInUseException(f"{IN_USE}Index is being updated. {where}")
            if index.status == "CREATING" and index.until is not None:
                if verb == "Delete":
                    raise ResourceInUseException(
                        f"{IN_USE}Index creation is in resource allocation phase. Retry deletion during backfilling "
                        f"phase or when the index is active. {where}"
                    )
                if verb == "Update":
                    raise ResourceInUseException(f"{IN_USE}Index is being created but is not backfilling yet. {where}")
        on_the_way = {index.name for index in record.indexes if index.status in ("CREATING", "DELETING")}
        wanted = {*self.creates, *self.deletes}
        if len(wanted) > 1 or (wanted and on_the_way - set(self.deletes)):
            raise LimitExceededException(ONE_AT_A_TIME)

    def apply(self, record: TableRecord, mode: str, now: float, until: float) -> None:
        """Make all updates on a table's record. `mode`: the billing mode that the table will have."""
        steps: dict[str, Callable[[TableRecord, Body, str, float, float], None]] = {
            "Create": self._create,
            "Delete": self._delete,
            "Update": self._update,
        }
        for verb, action in self._actions:
            steps[verb](record, action, mode, now, until)
        self._vectors.apply(record, self._types, mode, until)
        definitions.check_attributes(record.indexes, record.attributes)

    def _create(self, record: TableRecord, action: Body, mode: str, now: float, until: float) -> None:
        name = action["IndexName"]
        if record.index(name) is not None:
            raise ValidationException("Attempting to create an index which already exists")
        if not self._types:
            raise invalid(f"AttributeDefinitions is not specified for index: {name}")
        names = schemas.names_of(action["KeySchema"])
        schemas.check_global_key(action, self._types)
        self._check_not_redefined(record, action["KeySchema"])
        index = schemas.global_index(action)
        index.throughput = throughput.of_new_index(action, mode, self._region, _MISSING, _UNWANTED)
        throughput.check_on_demand(action.get("OnDemandThroughput"), mode, 1, _NO_CEILING, name)
        index.on_demand = dict(action.get("OnDemandThroughput") or {})
        index.warm = throughput.warm_of_new(action.get("WarmThroughput"), mode, index.throughput, name)
        if sum(each.is_secondary for each in record.indexes) >= schemas.GLOBAL_INDEXES_MAX:
            raise LimitExceededException(
                "Subscriber limit exceeded: Number of global secondary indexes exceeds per-table limit of "
                f"{schemas.GLOBAL_INDEXES_MAX}"
            )
        index.number, record.next_index = record.next_index, record.next_index + 1
        index.status, index.until, index.backfilling = "CREATING", until, True
        record.indexes.append(index)
        schemas.check_projected(record.indexes)
        record.attributes |= {each: self._types[each] for each in names if each not in record.attributes}

    def _check_not_redefined(self, record: TableRecord, key_schema: list[Body]) -> None:
        """An attribute that is a key already has its type; defining it otherwise is refused where it is to be a key."""
        for element in key_schema:
            name = element["AttributeName"]
            old, new = record.attributes.get(name), self._types[name]
            if old is not None and old != new:
                kind = "HASH" if any(name in key for key in self._partitions(record)) else "RANGE"
                raise invalid(
                    "Attributes cannot be redefined. Please check that your attribute has the same type as previously "
                    f"defined. Existing schema: Schema:[SchemaElement: key{{{name}:{old}:{kind}}}] "
                    f"New schema: Schema:[SchemaElement: key{{{name}:{new}:{element['KeyType']}}}]"
                )

    def _partitions(self, record: TableRecord) -> list[list[str]]:
        return [record.partition, *(index.partition for index in record.indexes)]

    def _delete(self, record: TableRecord, action: Body, mode: str, now: float, until: float) -> None:
        index = self._global(record, action["IndexName"], "delete")
        index.status, index.until, index.backfilling = "DELETING", until, False

    def _update(self, record: TableRecord, action: Body, mode: str, now: float, until: float) -> None:
        index = self._global(record, action["IndexName"], "update")
        units, ceiling, warm = (
            action.get(member) for member in ("ProvisionedThroughput", "OnDemandThroughput", "WarmThroughput")
        )
        if mode == ON_DEMAND and (units is not None or (not ceiling and not warm)):
            raise invalid(
                f"The only Updates for index: {index.name} when TableThroughputMode is PAY_PER_REQUEST can be to "
                "OnDemandThroughput, WarmThroughput"
            )
        throughput.check_on_demand(ceiling, mode, -1, _NO_CEILING, index.name)
        if units is None and not ceiling and not warm:
            raise invalid(f"ProvisionedThroughput must be specified for index: {index.name}")
        if units is not None:
            if record.billing_mode == ON_DEMAND:
                index.throughput.next_read = units["ReadCapacityUnits"]
                index.throughput.next_write = units["WriteCapacityUnits"]
                index.warm.raise_to(units["ReadCapacityUnits"], units["WriteCapacityUnits"])
            else:
                throughput.change(index.throughput, index.warm, units, now, index.name)
        if ceiling:
            index.on_demand = throughput.merged_on_demand(index.on_demand, ceiling)[1]
        if warm:
            throughput.change_warm(index.warm, warm, index.name)
        index.until = until
        if units is not None or ceiling:
            index.status = "UPDATING" if index.status == "ACTIVE" else index.status

    def _global(self, record: TableRecord, name: str, verb: str) -> IndexRecord:
        index = record.index(name)
        if index is None:
            raise ResourceNotFoundException(f"Requested resource not found: Index {name} for table {record.name}")
        if not index.is_secondary:
            raise ValidationException(f"Cannot {verb} an index that is not a GlobalSecondaryIndex: {name}")
        return index
