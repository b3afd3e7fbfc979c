"""UpdateTable, the part of global tables: replicas that come, change, go or leave.

What may be asked is the developer guide's; most texts of refusals are not public and are assumed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dynamometer.base.errors import ResourceInUseException, ValidationException
from dynamometer.engine import describe, options, records
from dynamometer.engine.catalog import Table, World
from dynamometer.engine.index_updates import IN_USE
from dynamometer.engine.records import ON_DEMAND, Member, Replication, Stream, TableRecord
from dynamometer.engine.replication import groups, positions
from dynamometer.engine.replication.groups import BOTH_IMAGES, CURRENT, EVENTUAL, LEGACY, STRONG
from dynamometer.engine.schemas import invalid

if TYPE_CHECKING:
    from dynamometer.engine.engine import Engine

Body = dict[str, Any]

MEMBERS = (
    "ReplicaUpdates",
    "MultiRegionConsistency",
    "GlobalTableWitnessUpdates",
    "GlobalTableSettingsReplicationMode",
    "DisassociationProtectionEnabled",
)
VERBS = ("Create", "Update", "Delete", "Disassociate")
SOURCE_SECONDS = 24 * 3600
STRONG_REGIONS = frozenset(
    {
        *("us-east-1", "us-east-2", "us-west-2", "ca-central-1"),
        *("eu-west-1", "eu-west-2", "eu-west-3", "eu-central-1", "eu-north-1", "eu-south-2"),
        *("ap-northeast-1", "ap-northeast-2", "ap-northeast-3", "ap-south-1", "ap-southeast-1"),
    }
)
"""Where writes may be strongly consistent (developer guide: multi-Region strong consistency)."""
LOCAL_REGION = (
    "Cannot add, delete, or update the local region through ReplicaUpdates. "
    "Use CreateTable, DeleteTable, or UpdateTable as required."
)
NOT_FOUND = "Replica specified in the Replica Update or Replica Delete action of the request was not found."
STRONG_NUMBER = (
    "A global table with strong consistency has exactly three Regions: three replicas, or two replicas and a witness"
)


def is_meant(body: Body) -> bool:
    """Whether the request changes a global table as such."""
    return any(member in body for member in MEMBERS)


def run(engine: Engine, world: World, body: Body) -> Body:
    """Make the change; the table's description."""
    others = set(body) - {*MEMBERS, "TableName", "AttributeDefinitions"}
    wanted = {member for member in MEMBERS if member in body}
    if others or (
        len(wanted) > 1 and wanted & {"DisassociationProtectionEnabled", "GlobalTableSettingsReplicationMode"}
    ):
        raise invalid("Replica updates must be the only operation in the request")
    table = engine.catalog.find(world, body["TableName"])
    update = _Update(engine, world, table, body)
    update.check_state()
    if "DisassociationProtectionEnabled" in body:
        update.protect(body["DisassociationProtectionEnabled"])
    elif "GlobalTableSettingsReplicationMode" in body:
        update.set_mode(body["GlobalTableSettingsReplicationMode"])
    else:
        update.replicas()
    shown = describe.table(engine.store, engine.clock.now(), table)
    engine.catalog.settle(world, table)
    return {"TableDescription": shown}


class _Update:
    """One change, made on a copy of the table's record."""

    def __init__(self, engine: Engine, world: World, table: Table, body: Body) -> None:
        self.engine = engine
        self.world = world
        self.table = table
        self.body = body
        self.record = records.copy(table.record)
        self.now = round(engine.clock.now(), 3)

    def check_state(self) -> None:
        record = self.record
        if record.status != "ACTIVE" and not self._gives_up():
            raise ResourceInUseException(f"{IN_USE}Table is being {_DOING[record.status]}: {record.name}")
        if any(index.status != "ACTIVE" for index in record.indexes):
            raise ResourceInUseException(f"{IN_USE}Table has indexes that are being changed: {record.name}")
        replication = record.replication
        busy = [] if replication is None else [each.status for each in replication.members if each.status in _DOING]
        if busy and not self._gives_up():
            raise ResourceInUseException(f"{IN_USE}Replicas are being changed. Table: {record.name}")

    def _gives_up(self) -> bool:
        """Whether the request only deletes replicas that are still being made, which would otherwise go on for as long
        as their region can't be reached (assumed)."""
        replication = self.record.replication
        updates = self.body.get("ReplicaUpdates") or ()
        if replication is None or not updates or self.record.status != "UPDATING":
            return False
        members = [replication.member(each.get("Delete", {}).get("RegionName", "")) for each in updates]
        return all(member is not None and member.status == "CREATING" for member in members)

    def protect(self, is_protected: bool) -> None:
        replication = self.record.replication
        if replication is None or replication.version != CURRENT or replication.is_strong:
            raise invalid(
                "DisassociationProtectionEnabled can only be set for a replica of a global table with eventual "
                "consistency"
            )
        replication.is_protected = is_protected
        self.engine.catalog.save(self.world, self.table, self.record)

    def set_mode(self, mode: str) -> None:
        if mode == "ENABLED_WITH_OVERRIDES" or self.record.replication is not None:
            raise invalid(
                "GlobalTableSettingsReplicationMode can only be ENABLED or DISABLED, and only on a regional table"
            )
        self.record.settings_mode = mode
        self.engine.catalog.save(self.world, self.table, self.record)

    def replicas(self) -> None:
        actions = [self._action(update) for update in self.body.get("ReplicaUpdates") or ()]
        witnesses = [_one(update, ("Create", "Delete")) for update in self.body.get("GlobalTableWitnessUpdates") or ()]
        verbs = {verb for verb, _ in actions}
        if "ReplicaUpdates" in self.body and not actions:
            raise invalid("List of ReplicaUpdates is empty")
        if not actions:
            raise invalid(
                "MultiRegionConsistency and GlobalTableWitnessUpdates need ReplicaUpdates in the same request"
            )
        if len(verbs) > 1:
            raise invalid("Only one kind of replica update is allowed in a request")
        regions = [action["RegionName"] for _, action in actions]
        if len(set(regions)) < len(regions):
            raise invalid("A Region may be named only once in ReplicaUpdates")
        if self.record.replication is not None and self.record.replication.version == LEGACY:
            raise invalid("The table is part of a global table of version 2017.11.29: use UpdateGlobalTable")
        verb = actions[0][0]
        if verb != "Create" and "MultiRegionConsistency" in self.body:
            raise invalid("MultiRegionConsistency can only be specified with Create actions")
        if verb == "Disassociate":
            self._disassociate(actions[0][1])
            return
        if self.world.region in regions:
            raise ValidationException(LOCAL_REGION)
        steps = {"Create": self._create, "Delete": self._delete, "Update": self._change}
        steps[verb]([action for _, action in actions], witnesses)

    def _action(self, update: Body) -> tuple[str, Body]:
        return _one(update, VERBS)

    # New replicas.

    def _create(self, actions: list[Body], witnesses: list[tuple[str, Body]]) -> None:
        record, replication = self.record, self.record.replication
        consistency = self.body.get("MultiRegionConsistency", EVENTUAL)
        if replication is not None:
            if replication.is_strong:
                raise invalid("Replicas cannot be added to a global table with strong consistency")
            if consistency == STRONG:
                raise invalid("The consistency of a global table cannot be changed")
            for action in actions:
                if replication.member(action["RegionName"]) is not None:
                    raise ValidationException(
                        f"Failed to create a the new replica of table with name: '{record.name}' because one or more "
                        "replicas already existed as tables."
                    )
        self._check_regions(actions)
        if consistency == STRONG:
            self._check_strong(actions, witnesses)
        elif len(actions) > 1 or witnesses:
            raise invalid("Only one replica can be created or deleted in a request")
        else:
            self._check_eventual()
        if replication is None:
            replication = record.replication = groups.founded(record, CURRENT, consistency, self.now)
        if witnesses:
            replication.witness = witnesses[0][1]["RegionName"]
        since = self._since(replication)
        for action in actions:
            member = Member(
                action["RegionName"], source=self.world.region, since=since, joined=since[self.world.region]
            )
            self._override(member, action)
            replication.members.append(member)
        replication.source_at = self.now
        self._enable_stream(consistency)
        record.status, record.until = "UPDATING", None
        self.engine.replication.save(self.world, self.table, record)
        self.engine.replication.work()

    def _check_regions(self, actions: list[Body]) -> None:
        engine, record = self.engine, self.record
        if self.engine.settings.shared_world:
            raise ValidationException("There is one Region only: the setting shared_world is on")
        for action in actions:
            other = engine.world(self.world.account, action["RegionName"])
            table = other.tables.get(record.name)
            if table is not None and engine.catalog.settle(other, table) is not None:
                raise ValidationException(
                    f"Failed to create a the new replica of table with name: '{record.name}' because one or more "
                    "replicas already existed as tables."
                )

    def _check_eventual(self) -> None:
        stream = self.record.stream
        if stream is not None and stream.enabled and stream.view_type != BOTH_IMAGES:
            raise invalid(f"A replica needs a stream with {BOTH_IMAGES}, but the table has one with {stream.view_type}")

    def _check_strong(self, actions: list[Body], witnesses: list[tuple[str, Body]]) -> None:
        record = self.record
        witness = [action["RegionName"] for verb, action in witnesses if verb == "Create"]
        regions = [self.world.region, *(action["RegionName"] for action in actions), *witness]
        if len(actions) + len(witness) != 2 or not actions:
            raise invalid(STRONG_NUMBER)
        if len(set(regions)) < len(regions):
            raise invalid("A witness must be in a Region of its own")
        for region in regions:
            if region not in STRONG_REGIONS:
                raise invalid(f"Strong consistency is not available in Region {region}")
        if self.engine.store.counters(self.table.counters_key, 2)[0]:
            raise invalid("A table must be empty to become a global table with strong consistency")
        if any(not index.is_global for index in record.indexes):
            raise invalid("Local secondary indexes are not supported by global tables with strong consistency")
        if record.ttl is not None and record.ttl.enabled:
            raise invalid("Time to live is not supported by global tables with strong consistency")
        remote = [region for region in regions if region in self.engine.replication.peers]
        if remote:
            raise ValidationException(f"Strong consistency is not available with Region {remote[0]}, on another server")

    def _since(self, replication: Replication) -> dict[str, int]:
        """From where on each region sends the new replica its changes: those before are in what it is filled with."""
        store, record = self.engine.store, self.record
        since = {record.region: self.engine.log.following()}
        for member in replication.others(record.region):
            source = self.engine.replication.replica(self.world, record.name, member.region)
            if source is not None:
                position = positions.read(store, source.number, positions.SENT, record.region)
            else:
                position = positions.read(store, self.table.number, positions.ARRIVED, member.region)
            since[member.region] = position or 0
        return since

    def _enable_stream(self, consistency: str) -> None:
        record = self.record
        if consistency == EVENTUAL and (record.stream is None or not record.stream.enabled):
            labels = self.engine.streams.labels(self.world, record.name)
            record.stream = Stream(options.stream_label(self.now, labels), BOTH_IMAGES, True)

    def _override(self, member: Member, action: Body) -> None:
        record, mode = self.record, self.record.billing_mode
        if "KMSMasterKeyId" in action:
            if record.encryption_key is None:
                raise invalid("KMSMasterKeyId can only be specified when the table is encrypted with KMS")
            member.encryption_key = options.encryption_key(
                {"Enabled": True, "SSEType": "KMS", "KMSMasterKeyId": action["KMSMasterKeyId"]},
                record.account,
                member.region,
            )
        if "TableClassOverride" in action:
            options.check_class({"TableClass": action["TableClassOverride"]})
            member.table_class, member.table_class_at = action["TableClassOverride"], self.now
        units, ceiling = _overridden(action, mode)
        member.read_units = units if units is not None else member.read_units
        member.on_demand_read = ceiling if ceiling is not None else member.on_demand_read
        for raw in action.get("GlobalSecondaryIndexes") or ():
            index = record.index(raw["IndexName"])
            if index is None or not index.is_secondary:
                raise invalid(f"The table does not have the specified index: {raw['IndexName']}")
            units, ceiling = _overridden(raw, mode)
            own = member.indexes.setdefault(index.name, {})
            if units is not None:
                own["read_units"] = units
            if ceiling is not None:
                own["on_demand_read"] = ceiling

    # Replicas that change or go.

    def _members(self, actions: list[Body]) -> list[Member]:
        found = []
        for action in actions:
            replication = self.record.replication
            member = None if replication is None else replication.member(action["RegionName"])
            if member is None:
                raise ValidationException(NOT_FOUND)
            found.append(member)
        return found

    def _change(self, actions: list[Body], witnesses: list[tuple[str, Body]]) -> None:
        for member, action in zip(self._members(actions), actions, strict=True):
            if len(action) == 1:
                raise invalid("A replica update needs something to update")
            self._override(member, action)
            member.status, member.until, member.source = "UPDATING", self.engine.catalog.until(), self.world.region
        self.engine.replication.save(self.world, self.table, self.record)

    def _delete(self, actions: list[Body], witnesses: list[tuple[str, Body]]) -> None:
        members = self._members(actions)
        replication = self.record.replication
        assert replication is not None, "it has members"
        if replication.is_strong:
            goes = [action["RegionName"] for verb, action in witnesses if verb == "Delete"]
            if goes and goes[0] != replication.witness:
                raise invalid("The witness to be deleted was not found")
            if len(members) + len(goes) != 2:
                raise invalid(
                    "A global table with strong consistency is given up by deleting two replicas, or a replica and the "
                    "witness, in one request"
                )
            replication.witness = None
        elif len(members) > 1 or witnesses:
            raise invalid("Only one replica can be created or deleted in a request")
        for member in members:
            self._check_removable(member)
            member.is_given_up = member.status in ("CREATING", "CREATION_FAILED")
            member.status, member.until, member.source = "DELETING", self.engine.catalog.until(), self.world.region
        self.record.status, self.record.until = "UPDATING", None
        self.engine.replication.save(self.world, self.table, self.record)

    def _check_removable(self, member: Member) -> None:
        other = self.engine.replication.replica(self.world, self.record.name, member.region)
        if other is None:
            return
        if other.record.deletion_protection:
            raise ValidationException(
                "Resource cannot be deleted as it is currently protected against deletion. "
                "Disable deletion protection first."
            )
        check_source(other.record, self.now)

    def _disassociate(self, action: Body) -> None:
        replication = self.record.replication
        if len(self.body.get("ReplicaUpdates") or ()) > 1:
            raise invalid("Disassociate must be the only replica update in the request")
        if action["RegionName"] != self.world.region:
            raise invalid("Disassociate must be requested in the Region of the replica")
        if replication is None:
            raise ValidationException(NOT_FOUND)
        if replication.is_strong:
            raise invalid("Disassociate is not supported by global tables with strong consistency")
        if replication.is_protected:
            raise invalid("The replica is protected against disassociation. Disable disassociation protection first.")
        replication.leaving = self.engine.log.following()
        self.record.status, self.record.until = "UPDATING", None
        self.engine.catalog.save(self.world, self.table, self.record)


_DOING = {"CREATING": "created", "DELETING": "deleted", "UPDATING": "updated"}


def _one(update: Body, verbs: tuple[str, ...]) -> tuple[str, Body]:
    given = [verb for verb in verbs if verb in update]
    if len(given) != 1:
        raise invalid("Exactly one action must be specified in each replica or witness update")
    return given[0], update[given[0]]


def _overridden(raw: Body, mode: str) -> tuple[int | None, int | None]:
    """The read units and the most on-demand reads that are a replica's own."""
    units = (raw.get("ProvisionedThroughputOverride") or {}).get("ReadCapacityUnits")
    ceiling = (raw.get("OnDemandThroughputOverride") or {}).get(groups.READ_MEMBER)
    if units is not None and mode == ON_DEMAND:
        raise invalid("ProvisionedThroughputOverride cannot be specified when BillingMode is PAY_PER_REQUEST")
    if ceiling is not None and mode != ON_DEMAND:
        raise invalid("OnDemandThroughputOverride cannot be specified when BillingMode is PROVISIONED")
    return units, ceiling


def check_source(record: TableRecord, now: float) -> None:
    """Raise for a replica that was the source of a new one less than a day ago (developer guide)."""
    replication = record.replication
    if replication is None or replication.source_at is None or len(replication.members) < 2:
        return
    if now < replication.source_at + SOURCE_SECONDS:
        raise ValidationException(
            "Replica cannot be deleted because it has acted as a source region for new replica(s) being added to the "
            "table in the last 24 hours."
        )


def check_shared(record: TableRecord, wanted: set[str]) -> None:
    """Raise for an ordinary update that a replica's global table forbids."""
    replication = record.replication
    if replication is None:
        return
    if "StreamSpecification" in wanted and not replication.is_strong:
        stream = record.stream
        if stream is None or not stream.enabled or stream.view_type != BOTH_IMAGES:
            raise invalid(f"A replica of a global table must have a stream with {BOTH_IMAGES}")


def save(engine: Engine, world: World, table: Table, record: TableRecord, body: Body) -> None:
    """Keep what an ordinary update made of a table, for all its replicas."""
    if record.replication is None or record.replication.version == LEGACY:
        engine.catalog.save(world, table, record)
        return
    updates = [update.get("Update", {}) for update in body.get("GlobalSecondaryIndexUpdates") or ()]
    sources = [body, *updates]
    read = any("ProvisionedThroughput" in each for each in sources) or "BillingMode" in body
    read = read or any(groups.READ_MEMBER in (each.get("OnDemandThroughput") or {}) for each in sources)
    groups.clear_overrides(record.replication, read, "TableClass" in body)
    if "SSESpecification" in body:
        own = record.replication.member(record.region)
        if own is not None:
            own.encryption_key = record.encryption_key
    engine.replication.save(world, table, record)
