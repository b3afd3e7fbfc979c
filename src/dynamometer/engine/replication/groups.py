"""Who belongs to a global table, and which of its settings all replicas share.

Every replica's record has the whole list of members, itself included, and a revision. A change is made on the record of
one replica and copied to the others (`adopt`); after a crash between the two, the newest revision is copied again. That
is why there is no other place where a global table is kept.

    always equal        billing mode, write capacity, key schema, indexes, encryption type, stream, time to live,
                        warm throughput, most on-demand writes
    unless overridden   read capacity, table class, most on-demand reads
    never shared        deletion protection, recovery, tags, insights, policies; the stream, where writes are strong

(Developer guide: settings of global tables.)
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from dynamometer.engine import options, records
from dynamometer.engine.records import ON_DEMAND, IndexRecord, Member, Replication, Stream, TableRecord, TimeToLive

CURRENT, LEGACY = "2019.11.21", "2017.11.29"
EVENTUAL, STRONG = "EVENTUAL", "STRONG"
BOTH_IMAGES = "NEW_AND_OLD_IMAGES"
READ_MEMBER = "MaxReadRequestUnits"


def founded(record: TableRecord, version: str, consistency: str, now: float) -> Replication:
    """A global table whose only replica is this table so far."""
    first = Member(record.region, "ACTIVE", encryption_key=record.encryption_key, joined=int(now * 1000))
    return Replication(version, consistency, [first], 0, record.region, now)


def is_newer(one: Replication, other: Replication) -> bool:
    """Whether the one has been revised after the other."""
    return (one.revision, one.revised_in) > (other.revision, other.revised_in)


def are_one(one: TableRecord, other: TableRecord) -> bool:
    """Whether two tables are replicas of the same global table."""
    return (
        one.replication is not None
        and other.replication is not None
        and one.replication.created_at == other.replication.created_at
    )


def end_update(record: TableRecord, now: float, without: str | None = None) -> None:
    """Let a table be ACTIVE again, once none of its replicas is being made or removed any more."""
    replication = record.replication
    others = [] if replication is None else replication.others(record.region)
    busy = any(
        member.status in ("CREATING", "DELETING") and member.source == record.region and member.region != without
        for member in others
    )
    if record.status == "UPDATING" and record.until is None and not busy:
        record.until = now


def new_replica(source: TableRecord, region: str, now: float, labels: Any) -> TableRecord:
    """The record of a new replica, with nothing in it yet."""
    record = replace(
        records.copy(source),
        region=region,
        number=0,
        table_id="",
        created_at=now,
        status="CREATING",
        until=None,
        stream=None,
        ttl=None,
        destinations=[],
        deletion_protection=False,
        tags={},
        policies={},
        insights={},
        recovery=None,
        restore=None,
        is_archived=False,
        replication=None,
        settings_mode=None,
    )
    adopted = adopt(source, record, now, labels)
    adopted.status, adopted.until = "CREATING", None
    for index in adopted.indexes:
        index.backfilling = False
    return adopted


def adopt(source: TableRecord, target: TableRecord, now: float, labels: Any) -> TableRecord:
    """The target's record with everything that the source's says of the global table. `labels`: as for a new stream."""
    record = records.copy(target)
    shared = records.copy(source)
    record.replication = _replication(shared, record)
    if record.replication is None or record.replication.version == LEGACY:
        return record
    if record.status == "ACTIVE" or (record.status == "UPDATING" and not _is_on_the_way(record)):
        record.status, record.until = _status(shared)
    record.attributes, record.billing_mode = shared.attributes, shared.billing_mode
    record.on_demand_since, record.throughput, record.warm = (
        shared.on_demand_since,
        shared.throughput,
        shared.warm,
    )
    record.on_demand, record.next_index, record.scaling = shared.on_demand, shared.next_index, shared.scaling
    record.indexes = _indexes(shared, record)
    record.ttl = _time_to_live(shared.ttl, record.ttl)
    if not record.replication.is_strong:
        record.stream = _stream(shared, record, now, labels)
    _keep_unlike(shared, record, target)
    _override(record, shared)
    return record


def _status(shared: TableRecord) -> tuple[str, float | None]:
    """A table that only takes a new replica in is UPDATING by itself; other updates are made everywhere."""
    if shared.status == "UPDATING" and shared.until is not None:
        return shared.status, shared.until
    return "ACTIVE", None


def _is_on_the_way(record: TableRecord) -> bool:
    """Whether the table itself takes a new replica in, or leaves."""
    replication = record.replication
    return replication is not None and (
        replication.leaving is not None
        or any(member.status == "CREATING" and member.source == record.region for member in replication.members)
    )


def _replication(shared: TableRecord, record: TableRecord) -> Replication | None:
    """What the source says of the group, with what the target keeps to itself."""
    replication = shared.replication
    if replication is None or replication.member(record.region) is None:
        return None
    own = record.replication
    is_same = own is not None and own.created_at == replication.created_at
    replication.is_protected = own.is_protected if own is not None and is_same else True
    replication.source_at = own.source_at if own is not None and is_same else None
    replication.leaving = own.leaving if own is not None and is_same else None
    return replication


def _indexes(shared: TableRecord, record: TableRecord) -> list[IndexRecord]:
    """The source's indexes; one that the target has not yet is to be filled, one that it lacks now is to be removed."""
    own = {index.number: index for index in record.indexes}
    indexes = []
    for index in shared.indexes:
        known = own.pop(index.number, None)
        if known is None:
            if index.status == "DELETING":
                continue
            # it is filled here too, even if the source has finished already
            index.status, index.backfilling = "CREATING", True
        elif index.status in ("DELETING", "UPDATING") and not known.backfilling:
            index.backfilling = False
        else:
            index.status, index.until, index.backfilling = known.status, known.until, known.backfilling
        indexes.append(index)
    for index in own.values():
        # the source's update is over: the target's follows
        index.status, index.backfilling = "DELETING", False
        index.until = index.until if index.until is not None else 0.0
        indexes.append(index)
    return indexes


def _stream(shared: TableRecord, record: TableRecord, now: float, labels: Any) -> Stream | None:
    if shared.stream is None:
        return record.stream
    if record.stream is not None and record.stream.enabled:
        record.stream.enabled = shared.stream.enabled
        return record.stream
    if not shared.stream.enabled:
        return record.stream
    return Stream(options.stream_label(now, labels), shared.stream.view_type, True)


def _time_to_live(shared: TimeToLive | None, own: TimeToLive | None) -> TimeToLive | None:
    """The source's, whose items are yet to be looked through here."""
    if shared is None or (own is not None and (own.attribute, own.enabled) == (shared.attribute, shared.enabled)):
        return own
    shared.backfilling = shared.enabled
    return shared


def _keep_unlike(shared: TableRecord, record: TableRecord, target: TableRecord) -> None:
    """Where the source has values for itself alone, the target keeps those that it had."""
    member = None if record.replication is None else record.replication.member(shared.region)
    if member is None or target.number == 0:
        return
    if member.table_class is not None:
        shared.table_class, shared.table_class_at = target.table_class, target.table_class_at
    if member.read_units is not None:
        record.throughput.read = target.throughput.read
    if member.on_demand_read is not None:
        record.on_demand = _with_read(record.on_demand, target.on_demand)
    for index in record.indexes:
        own, known = member.indexes.get(index.name, {}), target.index(index.name)
        if known is not None and "read_units" in own:
            index.throughput.read = known.throughput.read
        if known is not None and "on_demand_read" in own:
            index.on_demand = _with_read(index.on_demand, known.on_demand)


def _with_read(shared: dict[str, int], own: dict[str, int]) -> dict[str, int]:
    """The most on-demand writes of the one, the most reads of the other."""
    merged = {name: value for name, value in shared.items() if name != READ_MEMBER}
    return merged | {name: value for name, value in own.items() if name == READ_MEMBER}


def _override(record: TableRecord, shared: TableRecord) -> None:
    """What the replica has otherwise than the others."""
    replication = record.replication
    member = None if replication is None else replication.member(record.region)
    if member is None:
        return
    if shared.encryption_key is None and member.encryption_key is None:
        record.encryption_key = None
    elif record.encryption_key is None or member.encryption_key is not None:
        record.encryption_key = member.encryption_key or options.encryption_key(
            {"Enabled": True, "SSEType": "KMS"}, record.account, record.region
        )
    record.table_class, record.table_class_at = shared.table_class, shared.table_class_at
    if member.table_class is not None:
        record.table_class, record.table_class_at = member.table_class, member.table_class_at
    _override_units(record, record, member.read_units, member.on_demand_read)
    for index in record.indexes:
        if index.is_global:
            own = member.indexes.get(index.name, {})
            _override_units(record, index, own.get("read_units"), own.get("on_demand_read"))


def _override_units(
    record: TableRecord, part: TableRecord | IndexRecord, read_units: int | None, on_demand_read: int | None
) -> None:
    if record.billing_mode != ON_DEMAND and read_units is not None:
        part.throughput.read = read_units
        if part.throughput.next_read is not None:
            part.throughput.next_read = read_units
    if record.billing_mode == ON_DEMAND and on_demand_read is not None:
        part.on_demand = part.on_demand | {READ_MEMBER: on_demand_read}


def clear_overrides(replication: Replication, read: bool, table_class: bool) -> None:
    """A value that was set for a table counts for all of its replicas."""
    for member in replication.members:
        if read:
            member.read_units = member.on_demand_read = None
            member.indexes = {}
        if table_class:
            member.table_class = member.table_class_at = None
