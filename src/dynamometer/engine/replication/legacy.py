"""Global tables of version 2017.11.29: tables that were made one by one, in each region, are joined while empty.

What differs from the newer version: nothing is copied when a replica is added, settings are each table's own (but for
those of UpdateGlobalTableSettings), and a table that is taken out stays. The attributes `aws:rep:...` that the service
adds to items of this version are not added here. Texts are assumed where no source is named.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dynamometer.base.errors import (
    GlobalTableAlreadyExistsException,
    GlobalTableNotFoundException,
    IndexNotFoundException,
    ReplicaAlreadyExistsException,
    ReplicaNotFoundException,
    ResourceInUseException,
    TableNotFoundException,
    ValidationException,
)
from dynamometer.engine import keyspace, options, records, scaling, throughput
from dynamometer.engine.catalog import Table, World
from dynamometer.engine.index_updates import IN_USE
from dynamometer.engine.records import ON_DEMAND, IndexRecord, Member, TableRecord
from dynamometer.engine.replication import groups
from dynamometer.engine.replication.groups import BOTH_IMAGES, EVENTUAL, LEGACY
from dynamometer.storage.interface import Transaction

if TYPE_CHECKING:
    from dynamometer.engine.engine import Engine

Body = dict[str, Any]
Replica = tuple[World, Table]


def find(engine: Engine, world: World, name: str) -> Replica:
    """A replica of the global table, the one of the request's region if there is one. Raises GlobalTableNotFound."""
    own = world.tables.get(name)
    if own is not None and _is_legacy(own):
        return world, own
    for other in engine.catalog.worlds():
        table = other.tables.get(name)
        if other.account == world.account and table is not None and _is_legacy(table):
            return other, table
    raise GlobalTableNotFoundException(f"Global table not found: Global table with name: '{name}' does not exist.")


def _is_legacy(table: Table) -> bool:
    replication = table.record.replication
    return replication is not None and replication.version == LEGACY and table.record.status != "DELETING"


def replicas(engine: Engine, world: World, name: str) -> list[Replica]:
    """All replicas of a global table, in the order in which they joined. Raises GlobalTableNotFoundException."""
    _, table = find(engine, world, name)
    replication = table.record.replication
    assert replication is not None, "it is a replica"
    found = []
    for member in replication.members:
        other = engine.world(world.account, member.region)
        if name in other.tables:
            found.append((other, other.tables[name]))
    return found


def listed(engine: Engine, world: World) -> dict[str, TableRecord]:
    """The account's global tables of this version by name; each record has all members."""
    found: dict[str, TableRecord] = {}
    for other in engine.catalog.worlds():
        if other.account == world.account:
            found |= {name: table.record for name, table in other.tables.items() if _is_legacy(table)}
    return dict(sorted(found.items()))


# --- Members ------------------------------------------------------------------------------------------------------


def create(engine: Engine, world: World, name: str, regions: list[str]) -> TableRecord:
    """Join the tables of the regions. Raises the service's errors."""
    if len(set(regions)) < len(regions):
        raise ValidationException("A Region may be named only once in the ReplicationGroup")
    if not regions:
        raise ValidationException("The ReplicationGroup must have at least one Region")
    if name in listed(engine, world):
        raise GlobalTableAlreadyExistsException(f"Global table with name: '{name}' already exists.")
    tables = [_candidate(engine, world, name, region) for region in regions]
    for _, table in tables:
        _check_joinable(engine, table, tables[0][1].record)
    now = round(engine.clock.now(), 3)
    replication = groups.founded(tables[0][1].record, LEGACY, EVENTUAL, now)
    replication.members = [Member(region, "ACTIVE") for region in regions]
    _join(engine, tables, replication)
    return tables[0][1].record


def _candidate(engine: Engine, world: World, name: str, region: str) -> Replica:
    other = engine.world(world.account, region)
    table = other.tables.get(name)
    if region in engine.replication.peers or table is None or engine.catalog.settle(other, table) is None:
        raise TableNotFoundException(f"Table not found: Table with name: '{name}' in region: '{region}' not found")
    return other, table


def _check_joinable(engine: Engine, table: Table, first: TableRecord) -> None:
    """Raise for a table that may not be part of it (service model: CreateGlobalTable)."""
    record = table.record
    where = f"Table: {record.name} Region: {record.region}"
    if record.replication is not None:
        raise ValidationException(f"The table is part of another global table. {where}")
    if record.status != "ACTIVE":
        raise ValidationException(f"The table is not ACTIVE. {where}")
    if record.stream is None or not record.stream.enabled or record.stream.view_type != BOTH_IMAGES:
        raise ValidationException(f"The table must have a stream with {BOTH_IMAGES}. {where}")
    if engine.store.counters(table.counters_key, 2)[0]:
        raise ValidationException(f"The table must be empty. {where}")
    if _shape(record) != _shape(first):
        raise ValidationException(f"The tables must have the same keys and indexes. {where}")
    if (record.billing_mode, record.throughput.write) != (first.billing_mode, first.throughput.write):
        raise ValidationException(f"The tables must have the same write capacity. {where}")


def _shape(record: TableRecord) -> Any:
    indexes = sorted((index.name, index.partition, index.sort) for index in record.indexes)
    names = {name for _, partition, sort in indexes for name in (*partition, *sort)}
    types = {name: record.attributes[name] for name in (*record.partition, *record.sort, *names)}
    return record.partition, record.sort, indexes, types


def _join(engine: Engine, tables: list[Replica], replication: Any) -> None:
    """Give all tables the same list of members, in one commit."""
    replication.revision = engine.log.next_sequence()
    since = engine.log.following()
    for member in replication.members:
        member.since = member.since or {each.region: since for each in replication.members}
    changed = []
    for world, table in tables:
        record = records.copy(table.record)
        record.replication = records.copy_replication(replication)
        changed.append((world, table, record))

    def stage(transaction: Transaction) -> None:
        for _, _, record in changed:
            key = keyspace.catalog_key(record.account, record.region, record.name)
            transaction.put(key, records.dumps(record))

    for world, table, record in changed:
        engine.catalog.save(world, table, record, stage)
        engine.replication.begin_replica(table)


def update(engine: Engine, world: World, name: str, updates: list[Body]) -> TableRecord:
    """Add and remove replicas. Raises the service's errors."""
    home, table = find(engine, world, name)
    for each in updates:
        if len(each) != 1:
            raise ValidationException("Exactly one action must be specified in each replica update")
        verb, action = next(iter(each.items()))
        replication = table.record.replication
        assert replication is not None, "it is a replica"
        region = action["RegionName"]
        member = replication.member(region)
        if verb == "Create":
            if member is not None:
                raise ReplicaAlreadyExistsException(f"Replica already exists in region: '{region}'")
            joining = _candidate(engine, world, name, region)
            _check_joinable(engine, joining[1], table.record)
            _add(engine, world, table, joining)
        else:
            if member is None:
                raise ReplicaNotFoundException(f"Replica not found in region: '{region}'")
            leaving = engine.world(world.account, region)
            engine.replication.leave(leaving, leaving.tables[name])
            if leaving is home:
                rest = replication.others(region)
                if not rest:
                    return table.record
                home = engine.world(world.account, rest[0].region)
                table = home.tables[name]
    return table.record


def _add(engine: Engine, world: World, table: Table, joining: Replica) -> None:
    replication = records.copy_replication(table.record.replication)
    since = engine.log.following()
    every = [*replication.members, Member(joining[0].region)]
    replication.members.append(Member(joining[0].region, "ACTIVE", since={member.region: since for member in every}))
    _join(engine, [*replicas(engine, world, table.name), joining], replication)


# --- Settings -----------------------------------------------------------------------------------------------------


def settings(engine: Engine, world: World, name: str) -> list[Body]:
    """ReplicaSettings, region by region. Raises GlobalTableNotFoundException."""
    return [_settings(table.record) for _, table in replicas(engine, world, name)]


def _settings(record: TableRecord) -> Body:
    description: Body = {
        "RegionName": record.region,
        "ReplicaStatus": record.status,
        "ReplicaBillingModeSummary": {"BillingMode": record.billing_mode},
        "ReplicaProvisionedReadCapacityUnits": record.throughput.read,
        "ReplicaProvisionedReadCapacityAutoScalingSettings": scaling.settings(record, scaling.READ),
        "ReplicaProvisionedWriteCapacityUnits": record.throughput.write,
        "ReplicaProvisionedWriteCapacityAutoScalingSettings": scaling.settings(record, scaling.WRITE),
    }
    if record.on_demand_since is not None and record.billing_mode == ON_DEMAND:
        description["ReplicaBillingModeSummary"]["LastUpdateToPayPerRequestDateTime"] = record.on_demand_since
    indexes = [
        {
            "IndexName": index.name,
            "IndexStatus": index.status,
            "ProvisionedReadCapacityUnits": index.throughput.read,
            "ProvisionedReadCapacityAutoScalingSettings": scaling.settings(record, scaling.READ, index.name),
            "ProvisionedWriteCapacityUnits": index.throughput.write,
            "ProvisionedWriteCapacityAutoScalingSettings": scaling.settings(record, scaling.WRITE, index.name),
        }
        for index in record.indexes
        if index.is_secondary
    ]
    if indexes:
        description["ReplicaGlobalSecondaryIndexSettings"] = indexes
    if record.table_class is not None:
        description["ReplicaTableClassSummary"] = {"TableClass": record.table_class}
    return description


def update_settings(engine: Engine, world: World, body: Body) -> None:
    """Change settings of all replicas, and of some. Raises the service's errors."""
    tables = replicas(engine, world, body["GlobalTableName"])
    regions = {other.region for other, _ in tables}
    own = {raw["RegionName"]: raw for raw in body.get("ReplicaSettingsUpdate") or ()}
    for region in own:
        if region not in regions:
            raise ReplicaNotFoundException(f"Replica not found in region: '{region}'")
    changed = []
    for other, table in tables:
        if table.record.status != "ACTIVE":
            raise ResourceInUseException(f"{IN_USE}Table is being updated: {table.name}")
        record = records.copy(table.record)
        _Change(engine, record, body, own.get(other.region, {})).make()
        if record != table.record:
            record.status, record.until = "UPDATING", engine.catalog.until()
            changed.append((other, table, record))
    for other, table, record in changed:
        engine.catalog.save(other, table, record)


class _Change:
    """New settings of one replica."""

    def __init__(self, engine: Engine, record: TableRecord, body: Body, own: Body) -> None:
        self._now = round(engine.clock.now(), 3)
        self._record = record
        self._body = body
        self._own = own

    def make(self) -> None:
        record, body, own = self._record, self._body, self._own
        self._change_mode(body.get("GlobalTableBillingMode", record.billing_mode))
        self._change_units(
            record,
            own.get("ReplicaProvisionedReadCapacityUnits"),
            body.get("GlobalTableProvisionedWriteCapacityUnits"),
        )
        self._scale(scaling.WRITE, "", body.get("GlobalTableProvisionedWriteCapacityAutoScalingSettingsUpdate"))
        self._scale(scaling.READ, "", own.get("ReplicaProvisionedReadCapacityAutoScalingSettingsUpdate"))
        for raw in body.get("GlobalTableGlobalSecondaryIndexSettingsUpdate") or ():
            index = self._index(raw["IndexName"])
            self._change_units(index, None, raw.get("ProvisionedWriteCapacityUnits"))
            self._scale(scaling.WRITE, index.name, raw.get("ProvisionedWriteCapacityAutoScalingSettingsUpdate"))
        for raw in own.get("ReplicaGlobalSecondaryIndexSettingsUpdate") or ():
            index = self._index(raw["IndexName"])
            self._change_units(index, raw.get("ProvisionedReadCapacityUnits"), None)
            self._scale(scaling.READ, index.name, raw.get("ProvisionedReadCapacityAutoScalingSettingsUpdate"))
        if "ReplicaTableClass" in own:
            options.check_class({"TableClass": own["ReplicaTableClass"]})
            record.table_class, record.table_class_at = own["ReplicaTableClass"], self._now

    def _index(self, name: str) -> IndexRecord:
        index = self._record.index(name)
        if index is None or not index.is_secondary:
            raise IndexNotFoundException(f"Index not found: {name}")
        return index

    def _change_mode(self, mode: str) -> None:
        record = self._record
        if mode == record.billing_mode:
            return
        record.billing_mode = mode
        parts = [record.throughput, *(index.throughput for index in record.indexes if index.is_secondary)]
        if mode == ON_DEMAND:
            record.on_demand_since = self._now
            for part in parts:
                part.read = part.write = 0
            return
        if "GlobalTableProvisionedWriteCapacityUnits" not in self._body:
            raise ValidationException("GlobalTableProvisionedWriteCapacityUnits is needed with BillingMode PROVISIONED")
        for part in parts:
            part.read = part.write = 1

    def _change_units(self, part: TableRecord | IndexRecord, read: int | None, write: int | None) -> None:
        old = part.throughput
        units = {
            "ReadCapacityUnits": old.read if read is None else read,
            "WriteCapacityUnits": old.write if write is None else write,
        }
        if (units["ReadCapacityUnits"], units["WriteCapacityUnits"]) == (old.read, old.write):
            return
        if self._record.billing_mode == ON_DEMAND:
            raise ValidationException(throughput.NOT_ON_DEMAND)
        throughput.check_units(units, self._record.region)
        throughput.change(old, part.warm, units, self._now)

    def _scale(self, kind: str, index: str, update: Body | None) -> None:
        if update is not None:
            scaling.set_one(self._record, kind, index, update)
