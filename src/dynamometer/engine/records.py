"""What is kept of a table and its indexes, apart from items: plain values that become one JSON record.

A change of a table takes time on the service: it is UPDATING until `until`, and the new throughput shows only then.
So a record holds what will be (`next_…`) beside what is, and `settle` makes the one the other. Nothing needs to happen
at the moment itself: whoever looks at the record later settles it first.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import orjson

from dynamometer.base.errors import StoreCorrupt
from dynamometer.model.schema import IndexSchema, KeyAttribute, KeySchema, VectorSchema

VERSION = 1
ON_DEMAND = "PAY_PER_REQUEST"
PROVISIONED = "PROVISIONED"
ON_DEMAND_READ = 12_000
ON_DEMAND_WRITE = 4_000
"""What a new on-demand table serves at once (developer guide: warm throughput)."""


@dataclass(slots=True)
class Throughput:
    """Provisioned capacity; all zero on demand."""

    read: int = 0
    write: int = 0
    next_read: int | None = None
    next_write: int | None = None
    increased_at: float | None = None
    decreased_at: float | None = None
    decreases: int = 0
    """On the day (UTC) of `decreased_at`."""
    next_decreases: int | None = None

    def settle(self) -> None:
        if self.next_read is not None and self.next_write is not None:
            self.read, self.write = self.next_read, self.next_write
        if self.next_decreases is not None:
            self.decreases = self.next_decreases
        self.next_read = self.next_write = self.next_decreases = None


@dataclass(slots=True)
class Warm:
    """Warm throughput: what can be served at once. It never falls."""

    read: int = 0
    write: int = 0
    next_read: int | None = None
    next_write: int | None = None

    @property
    def is_changing(self) -> bool:
        return self.next_read is not None or self.next_write is not None

    def settle(self) -> None:
        self.read = max(self.read, self.next_read or 0)
        self.write = max(self.write, self.next_write or 0)
        self.next_read = self.next_write = None

    def raise_to(self, read: int, write: int) -> None:
        """Whatever was ever provisioned stays warm."""
        self.read, self.write = max(self.read, read), max(self.write, write)


@dataclass(slots=True)
class Stream:
    """A table's newest stream; it keeps its name after it was disabled."""

    label: str
    view_type: str
    enabled: bool


@dataclass(slots=True)
class TimeToLive:
    """Which attribute says when an item expires. `until`: when ENABLING or DISABLING is over."""

    attribute: str
    enabled: bool
    changed_at: float
    until: float | None = None
    backfilling: bool = False


@dataclass(slots=True)
class Recovery:
    """Point-in-time recovery. `since`: from which moment on, at the latest, the change log has everything."""

    since: float
    period_days: int


@dataclass(slots=True)
class Restore:
    """Where a restored table came from. `at`: the moment it shows. `source_number`: the table of that past, or 0."""

    source_arn: str
    backup_arn: str | None
    at: float
    source_number: int = 0
    is_running: bool = True


@dataclass(slots=True)
class Destination:
    """A Kinesis data stream that gets, or got, the table's changes. `status`: what it is once `until` has come.

    `is_unconfirmed`: nobody has looked yet whether there is such a stream. `changed_at`: when the precision was.
    """

    stream_arn: str
    status: str
    until: float | None = None
    precision: str | None = None
    description: str | None = None
    is_unconfirmed: bool = False
    changed_at: list[float] = field(default_factory=list)

    @property
    def is_on(self) -> bool:
        """Changes are being delivered."""
        return self.status == "ACTIVE"


@dataclass(slots=True)
class Policy:
    """A resource policy, or the trace of a deleted one. `revision`: the moment of its change in milliseconds."""

    document: str | None
    revision: str


@dataclass(slots=True)
class Insights:
    """Contributor insights of a table or an index. `until`: when ENABLING or DISABLING is over; `rules_at` in ms."""

    enabled: bool
    mode: str
    changed_at: float
    until: float | None
    rules_at: int


@dataclass(slots=True)
class Scaling:
    """Auto scaling of the read or the write capacity of a table or an index. `target`: percent; `options`: as given."""

    minimum: int
    maximum: int
    policy: str
    target: float
    options: dict[str, Any]


@dataclass(slots=True)
class Vector:
    """What makes an index a vector index. `search_schema`: all its attributes; the others than `partition` filter."""

    attribute: str
    dimensions: int
    function: str
    search_schema: list[str]


@dataclass(slots=True)
class Member:
    """One replica of a global table, as all the others know it; what it has otherwise than they is told of it.

    `joined` tells a replica from an earlier one in the same region. `source`: the region that fills a new one. `since`:
    from which sequence number on each region sends its changes.
    """

    region: str
    status: str = "CREATING"
    until: float | None = None
    source: str | None = None
    since: dict[str, int] = field(default_factory=dict)
    encryption_key: str | None = None
    read_units: int | None = None
    on_demand_read: int | None = None
    indexes: dict[str, dict[str, int]] = field(default_factory=dict)
    """Of a global index by name: `read_units`, `on_demand_read`."""
    table_class: str | None = None
    table_class_at: float | None = None
    joined: int = 0
    is_given_up: bool = False
    """It is to be removed before it was made."""


@dataclass(slots=True)
class Replication:
    """That a table is a replica of a global table. The newest revision of what they share wins everywhere."""

    version: str
    consistency: str
    members: list[Member]
    revision: int
    revised_in: str
    created_at: float
    witness: str | None = None
    is_protected: bool = True
    """From disassociation; each replica for itself."""
    source_at: float | None = None
    """When it last became the source of a new replica."""
    leaving: int | None = None
    """It is to leave the global table once every change before this one has arrived everywhere."""

    def member(self, region: str) -> Member | None:
        return next((member for member in self.members if member.region == region), None)

    def others(self, region: str) -> list[Member]:
        return [member for member in self.members if member.region != region]

    @property
    def is_strong(self) -> bool:
        return self.consistency == "STRONG"


@dataclass(slots=True)
class IndexRecord:
    """A secondary index. `number` is never used again in the table: nothing that an old index left can be read."""

    name: str
    number: int
    is_global: bool
    partition: list[str]
    sort: list[str]
    projection_type: str
    non_key_attributes: list[str]
    status: str = "ACTIVE"
    until: float | None = None
    backfilling: bool = False
    throughput: Throughput = field(default_factory=Throughput)
    warm: Warm = field(default_factory=Warm)
    on_demand: dict[str, int] = field(default_factory=dict)
    vector: Vector | None = None

    @property
    def is_secondary(self) -> bool:
        """Whether it is a global secondary index, and not a vector index, which counts as global."""
        return self.is_global and self.vector is None

    def settle(self) -> None:
        """The moment `until` has come. A DELETING index is the catalog's to remove."""
        self.until = None
        self.throughput.settle()
        self.warm.settle()
        if not self.backfilling:
            self.status = "ACTIVE"


@dataclass(slots=True)
class TableRecord:
    """A table. `attributes`: the types of all key attributes, in the order in which they were defined."""

    account: str
    region: str
    name: str
    number: int
    table_id: str
    created_at: float
    attributes: dict[str, str]
    partition: list[str]
    sort: list[str]
    billing_mode: str
    status: str = "CREATING"
    until: float | None = None
    on_demand_since: float | None = None
    throughput: Throughput = field(default_factory=Throughput)
    warm: Warm = field(default_factory=Warm)
    on_demand: dict[str, int] = field(default_factory=dict)
    indexes: list[IndexRecord] = field(default_factory=list)
    next_index: int = 1
    table_class: str | None = None
    table_class_at: float | None = None
    encryption_key: str | None = None
    """The ARN of the KMS key; None for the service's own encryption."""
    stream: Stream | None = None
    ttl: TimeToLive | None = None
    destinations: list[Destination] = field(default_factory=list)
    """Newest first; at the most one of them is not over."""
    deletion_protection: bool = False
    tags: dict[str, str] = field(default_factory=dict)
    policies: dict[str, Policy] = field(default_factory=dict)
    """Of the table, under "", and of its streams, under their labels."""
    insights: dict[str, Insights] = field(default_factory=dict)
    """Of the table, under "", and of its global indexes, under their names."""
    scaling: dict[str, Scaling] = field(default_factory=dict)
    """`Read/` and `Write/` of the table, and the same with an index's name behind them."""
    recovery: Recovery | None = None
    restore: Restore | None = None
    import_label: str | None = None
    """The import that made the table and fills it: it stays CREATING until that has ended."""
    replication: Replication | None = None
    settings_mode: str | None = None
    """GlobalTableSettingsReplicationMode, as it was set on a table of one region."""
    is_archived: bool = False
    """Its items are a backup's from now on: they stay when the table is removed."""
    version: int = VERSION

    @property
    def arn(self) -> str:
        return f"arn:aws:dynamodb:{self.region}:{self.account}:table/{self.name}"

    def index(self, name: str) -> IndexRecord | None:
        return next((index for index in self.indexes if index.name == name), None)

    @property
    def has_destination(self) -> bool:
        """Whether changes are delivered to Kinesis."""
        return any(destination.is_on for destination in self.destinations)

    @property
    def is_logged(self) -> bool:
        """Whether somebody reads the table's changes. Nobody reads how a new replica is filled."""
        if self.is_filling:
            return False
        return (
            (self.stream is not None and self.stream.enabled)
            or self.recovery is not None
            or self.has_destination
            or self.replication is not None
        )

    @property
    def is_gone(self) -> bool:
        """Whether the table is being removed. A replica first sends what was written in it (`until` is not set yet)."""
        return self.status == "DELETING" and (self.until is not None or self.replication is None)

    @property
    def is_filling(self) -> bool:
        """Whether the table is a replica that has not got all its items yet."""
        member = None if self.replication is None else self.replication.member(self.region)
        return member is not None and member.status == "CREATING"

    def settle(self) -> None:
        """The moment `until` has come. A DELETING table is the catalog's to remove."""
        self.until = None
        self.throughput.settle()
        self.warm.settle()
        self.status = "ACTIVE"

    def key_schema(self) -> KeySchema:
        return _key_schema(self.partition, self.sort, self.attributes)

    def index_schema(self, index: IndexRecord) -> IndexSchema:
        """The index with the types of its keys and all that it projects."""
        key = _key_schema(index.partition, index.sort, self.attributes)
        keys = (*self.partition, *self.sort, *index.partition, *index.sort)
        vector = None
        if index.vector is not None:
            names = [name for name in index.vector.search_schema if name not in index.partition]
            filters = tuple(KeyAttribute(name, self.attributes[name]) for name in names)
            vector = VectorSchema(index.vector.attribute, index.vector.dimensions, index.vector.function, filters)
            keys = (*keys, *names, vector.attribute)
        projected = None
        if index.projection_type != "ALL":
            projected = frozenset((*keys, *index.non_key_attributes))
        non_key = tuple(index.non_key_attributes)
        return IndexSchema(
            index.name, index.number, index.is_global, key, index.projection_type, non_key, projected, vector
        )

    def prune_attributes(self) -> None:
        """Forget the types of attributes that are no key any more."""
        used = {*self.partition, *self.sort}
        for index in self.indexes:
            used.update(index.partition, index.sort, index.vector.search_schema if index.vector is not None else ())
        self.attributes = {name: kind for name, kind in self.attributes.items() if name in used}


def _key_schema(partition: list[str], sort: list[str], types: dict[str, str]) -> KeySchema:
    return KeySchema(
        tuple(KeyAttribute(name, types[name]) for name in partition),
        tuple(KeyAttribute(name, types[name]) for name in sort),
    )


def dumps(record: TableRecord) -> bytes:
    """The record as kept in the store."""
    return orjson.dumps(record)


def loads(raw: bytes) -> TableRecord:
    """The record from the store. Raises StoreCorrupt when it is not one, or one of a newer version."""
    try:
        value = orjson.loads(raw)
        if value["version"] != VERSION:
            raise StoreCorrupt(
                f"the record of table {value['name']} has version {value['version']}, which this program does not "
                "know; open the data folder with the version that wrote it"
            )
        return _table(value)
    except (orjson.JSONDecodeError, KeyError, TypeError) as error:
        raise StoreCorrupt("a table's record in the store is damaged; restore the data folder from a backup") from error


def copy(record: TableRecord) -> TableRecord:
    """A record of its own, to change without showing it yet."""
    return _table(orjson.loads(orjson.dumps(record)))


def _table(value: dict[str, Any]) -> TableRecord:
    indexes = [
        IndexRecord(
            **index
            | {
                "throughput": Throughput(**index["throughput"]),
                "warm": Warm(**index["warm"]),
                "vector": None if index.get("vector") is None else Vector(**index["vector"]),
            }
        )
        for index in value["indexes"]
    ]
    parts: dict[str, Any] = {
        "throughput": Throughput(**value["throughput"]),
        "warm": Warm(**value["warm"]),
        "stream": None if value["stream"] is None else Stream(**value["stream"]),
        "ttl": None if value.get("ttl") is None else TimeToLive(**value["ttl"]),
        "destinations": [Destination(**destination) for destination in value.get("destinations", [])],
        "indexes": indexes,
        "recovery": None if value.get("recovery") is None else Recovery(**value["recovery"]),
        "restore": None if value.get("restore") is None else Restore(**value["restore"]),
        "replication": None if value.get("replication") is None else _replication(value["replication"]),
        "policies": {name: Policy(**policy) for name, policy in value.get("policies", {}).items()},
        "scaling": {name: Scaling(**scaling) for name, scaling in value.get("scaling", {}).items()},
        "insights": {name: Insights(**insights) for name, insights in value.get("insights", {}).items()},
    }
    return TableRecord(**value | parts)


def copy_replication(replication: Replication | None) -> Replication:
    """What is known of a global table, as a copy of its own. It must be there."""
    assert replication is not None, "it is a replica"
    return _replication(orjson.loads(orjson.dumps(replication)))


def _replication(value: dict[str, Any]) -> Replication:
    return Replication(**value | {"members": [Member(**member) for member in value["members"]]})
