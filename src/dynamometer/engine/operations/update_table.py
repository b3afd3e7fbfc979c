"""UpdateTable: one change of a table at a time. What may be combined, and what may happen while something else does,
are lists of rules that were measured on the service."""

from __future__ import annotations

from typing import Any

from dynamometer.base.errors import ResourceInUseException, ValidationException
from dynamometer.engine import describe, options, records, throughput
from dynamometer.engine.catalog import Table, World
from dynamometer.engine.engine import Engine
from dynamometer.engine.index_updates import IN_USE, IndexUpdates
from dynamometer.engine.records import ON_DEMAND, ON_DEMAND_READ, ON_DEMAND_WRITE, PROVISIONED, Throughput
from dynamometer.engine.replication import updates as replication
from dynamometer.engine.schemas import invalid
from dynamometer.engine.vectors import definitions

Body = dict[str, Any]

CHANGES = (
    "ProvisionedThroughput",
    "BillingMode",
    "StreamSpecification",
    "GlobalSecondaryIndexUpdates",
    "VectorIndexUpdates",
    "SSESpecification",
    "DeletionProtectionEnabled",
    "OnDemandThroughput",
    "WarmThroughput",
    "TableClass",
)
NOTHING = (
    "At least one of ProvisionedThroughput, BillingMode, UpdateStreamEnabled, GlobalSecondaryIndexUpdates, "
    "SSESpecification, ReplicaUpdates, MultiAccountReplicaReady, ReplicaTransitRoleArn, MultiRegionConsistency, "
    "DeletionProtectionEnabled, OnDemandThroughput, WarmThroughput or TableClass is required"
)
ALONE = {
    "SSESpecification": "Server-Side Encryption modification must be the only operation in the request",
    "TableClass": "TableClass modification must be the only operation in the request",
    "DeletionProtectionEnabled": "DeletionProtection modification must be the only operation in the request",
    "WarmThroughput": "WarmThroughput must be the only operation in the request",
}
"""Changes that go with no other, in the order in which they are checked."""
_NO_CEILING = "cannot be specified when the table BillingMode is PROVISIONED"


def run(engine: Engine, world: World, body: Body) -> Body:
    if replication.is_meant(body):
        return replication.run(engine, world, body)
    wanted = _wanted(body)
    updates = IndexUpdates(body, world.region)
    _check_combination(body, wanted, updates)
    if "ProvisionedThroughput" in body:
        throughput.check_units(body["ProvisionedThroughput"], world.region)
    table = engine.catalog.find(world, body["TableName"])
    change = _Change(engine, world, table, body)
    change.check_state(wanted, updates)
    change.apply(wanted, updates)
    return {"TableDescription": change.finish(wanted, updates)}


def _wanted(body: Body) -> set[str]:
    """The changes that a request has. Raises ValidationException for none."""
    wanted = {member for member in CHANGES if member in body}
    for member in ("WarmThroughput", "OnDemandThroughput", "GlobalSecondaryIndexUpdates"):
        if member in wanted and not body[member]:
            wanted.discard(member)
    if not wanted:
        raise ValidationException(NOTHING)
    if body.get("GlobalSecondaryIndexUpdates") == []:
        raise invalid("List of GlobalSecondaryIndexUpdates is empty")
    return wanted


def _check_combination(body: Body, wanted: set[str], updates: IndexUpdates) -> None:
    for member, text in ALONE.items():
        if member in wanted and len(wanted) > 1:
            if member == "WarmThroughput" and updates.creates:
                text = "Create global secondary index cannot be specified when updating WarmThroughput"
            raise invalid(text)
    if "OnDemandThroughput" in wanted and not wanted <= {"OnDemandThroughput", "BillingMode"}:
        raise invalid("OnDemandThroughput can only be combined with BillingMode in an UpdateTable request")
    if "ProvisionedThroughput" in wanted:
        if "StreamSpecification" in wanted:
            raise invalid("You cannot modify stream status while updating table IOPS")
        if updates.creates or updates.deletes:
            raise invalid("You cannot create or delete index while updating table IOPS")
        if body.get("BillingMode") == ON_DEMAND:
            raise ValidationException(throughput.NOT_ON_DEMAND)
    if "StreamSpecification" in wanted and (updates.creates or updates.deletes):
        raise invalid("You cannot create or delete index while changing stream status")
    options.check_class(body)


class _Change:
    """One change, made on a copy of the table's record."""

    def __init__(self, engine: Engine, world: World, table: Table, body: Body) -> None:
        self.engine = engine
        self.world = world
        self.table = table
        self.body = body
        self.record = records.copy(table.record)
        self.now = round(engine.clock.now(), 3)
        self.shown: Body = {}
        """What the answer shows other than the record does."""

    def check_state(self, wanted: set[str], updates: IndexUpdates) -> None:
        """Raise ResourceInUseException while something is on the way that forbids the change."""
        record, name = self.record, self.record.name
        if record.status in ("CREATING", "DELETING"):
            state = "created" if record.status == "CREATING" else "deleted"
            raise ResourceInUseException(f"{IN_USE}Table is being {state}: {name}")
        units = wanted & {"ProvisionedThroughput", "BillingMode"}
        busy = [index for index in record.indexes if index.until is not None and index.status != "UPDATING"]
        for status, verb in (("CREATING", "created"), ("DELETING", "deleted")):
            indexes = [index.name for index in busy if index.status == status]
            if indexes and (units or "StreamSpecification" in wanted):
                what = "table IOPS" if units else "stream status"
                raise ResourceInUseException(
                    f"{IN_USE}Can't change {what} when an index is being {verb}. Table: {name} "
                    f"Indexes: [{', '.join(indexes)}]"
                )
        updates.check_state(record)
        if record.status == "UPDATING" and not wanted <= {"DeletionProtectionEnabled", "WarmThroughput"}:
            if units:
                raise ResourceInUseException(f"{IN_USE}Table IOPS are currently being updated. Table: {name}")
            raise ResourceInUseException(f"{IN_USE}Table is being updated: {name}")

    def apply(self, wanted: set[str], updates: IndexUpdates) -> None:
        """Make the change on the record. Raises what the service says of one that can't be."""
        record, body = self.record, self.body
        switches_to = body.get("BillingMode", record.billing_mode)
        self._check_billing(switches_to, updates)
        ceiling = body.get("OnDemandThroughput")
        throughput.check_on_demand(ceiling, switches_to, -1, _NO_CEILING)
        updates.apply(record, switches_to, self.now, self.engine.catalog.until())
        self._change_billing(switches_to)
        if ceiling:
            self.shown["OnDemandThroughput"], record.on_demand = throughput.merged_on_demand(record.on_demand, ceiling)
        if "WarmThroughput" in wanted:
            throughput.change_warm(record.warm, body["WarmThroughput"])
        if "StreamSpecification" in body:
            labels = self.engine.streams.labels(self.world, record.name)
            options.change_stream(record, body["StreamSpecification"], self.now, labels)
        if "SSESpecification" in body:
            options.change_encryption(record, body["SSESpecification"])
        if "DeletionProtectionEnabled" in body:
            record.deletion_protection = body["DeletionProtectionEnabled"]
        if body.get("TableClass", record.table_class or options.TABLE_CLASSES[0]) != (
            record.table_class or options.TABLE_CLASSES[0]
        ):
            record.table_class, record.table_class_at = body["TableClass"], self.now

    def _check_billing(self, switches_to: str, updates: IndexUpdates) -> None:
        record, units = self.record, self.body.get("ProvisionedThroughput")
        if switches_to == ON_DEMAND and units is not None:
            raise ValidationException(throughput.NOT_ON_DEMAND)
        if self.body.get("BillingMode") == PROVISIONED and units is None:
            raise invalid("ProvisionedThroughput must be specified when BillingMode is PROVISIONED")
        if switches_to == PROVISIONED and record.billing_mode == ON_DEMAND:
            if any(index.vector is not None for index in record.indexes):
                definitions.check_mode(switches_to)
            for index in record.indexes:
                if index.is_global and index.name not in updates.provisioned and index.name not in updates.deletes:
                    raise invalid(f"ProvisionedThroughput must be specified for index: {index.name}")

    def _change_billing(self, switches_to: str) -> None:
        record, units = self.record, self.body.get("ProvisionedThroughput")
        if switches_to == record.billing_mode:
            if units is not None:
                throughput.change(record.throughput, record.warm, units, self.now)
            return
        record.billing_mode = switches_to
        if switches_to == ON_DEMAND:
            record.on_demand_since = self.now
            parts: list[Any] = [record, *(index for index in record.indexes if index.is_global)]
            for part in parts:
                _empty(part.throughput)
                part.warm.raise_to(ON_DEMAND_READ, ON_DEMAND_WRITE)
            return
        assert units is not None, "checked before"
        record.throughput.next_read = units["ReadCapacityUnits"]
        record.throughput.next_write = units["WriteCapacityUnits"]
        record.warm.raise_to(units["ReadCapacityUnits"], units["WriteCapacityUnits"])
        record.on_demand = {}
        for index in record.indexes:
            index.on_demand = {}

    def finish(self, wanted: set[str], updates: IndexUpdates) -> Body:
        """Commit the record and describe it."""
        record, catalog, world = self.record, self.engine.catalog, self.world
        if _takes_time(wanted, updates):
            record.status, record.until = "UPDATING", catalog.until()
        elif record.warm.is_changing:
            record.until = catalog.until()
        replication.check_shared(record, wanted)
        replication.save(self.engine, world, self.table, record, self.body)
        if updates.creates:
            for name in updates.creates:
                catalog.start_backfill(world, self.table, self.table.indexes[name])
        description = describe.table(self.engine.store, self.now, self.table)
        return description | self.shown


def _takes_time(wanted: set[str], updates: IndexUpdates) -> bool:
    """Whether the whole table is UPDATING meanwhile, and not only a part of it."""
    if wanted & {"ProvisionedThroughput", "BillingMode", "StreamSpecification", "TableClass"}:
        return True
    return bool(updates.creates or updates.deletes)


def _empty(units: Throughput) -> None:
    units.read = units.write = 0
    units.next_read = units.next_write = None
