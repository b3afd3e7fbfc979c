"""Tables and indexes: the records in the store, and what is made of them in memory.

The record is the truth. A `Table` is what requests need of it at hand: prefixes, compiled keys, the indexes that a
write maintains. A change is made on a copy of the record and shown only once it has been committed.

    CreateTable    CREATING -> ACTIVE                     data operations do not see a table that is CREATING
    UpdateTable    UPDATING -> ACTIVE
    DeleteTable    DELETING -> gone                       nor one that is DELETING
    new index      CREATING, backfilling -> ACTIVE        written from the first moment, read when ACTIVE
    old index      DELETING -> gone                       neither written nor read

Every arrow is taken by whoever looks after its time has come (`settle`); a restart loads the same records and takes
the arrows that are left, and begins a backfill that was not finished again.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from itertools import chain
from typing import Any
from weakref import WeakValueDictionary

from dynamometer.base.clock import Clock
from dynamometer.base.errors import ResourceNotFoundException
from dynamometer.base.rng import Random
from dynamometer.engine import keyspace, records
from dynamometer.engine.arns import table_name_of
from dynamometer.engine.backfill import Backfill
from dynamometer.engine.codec import IndexCodec, compile_key
from dynamometer.engine.insights import Contributors, contributors
from dynamometer.engine.records import IndexRecord, TableRecord
from dynamometer.engine.vectors.cache import VectorCache
from dynamometer.engine.vectors.codec import VectorCodec
from dynamometer.model.schema import PRIMARY_INDEX, IndexSchema
from dynamometer.storage.interface import Store, Transaction

SHARED_ACCOUNT = "000000000000"
SHARED_REGION = "us-east-1"
"""Where every table is when all accounts and regions share one world."""


class Index:
    """A secondary index at work. `backfilling`: it is written, but not read yet."""

    __slots__ = ("backfilling", "codec", "counters_key", "insights", "number", "prefix", "schema", "status", "vectors")

    def __init__(self, table_number: int, number: int, schema: IndexSchema) -> None:
        self.number = number
        self.prefix = keyspace.data_prefix(table_number, number)
        self.counters_key = keyspace.counters_key(table_number, number)
        self.schema = schema
        self.codec: IndexCodec | VectorCodec
        self.vectors: VectorCache | None = None
        if schema.vector is None:
            self.codec = IndexCodec(schema, self.prefix)
        else:
            self.codec, self.vectors = VectorCodec(schema, self.prefix), VectorCache(schema)
        self.status = "CREATING"
        self.backfilling = False
        self.insights: Contributors | None = None


class Table:
    """A table at work. `status` is ACTIVE only while nothing about the table or its indexes is on the way."""

    __slots__ = (
        "arn",
        "conflict_window",
        "counters_key",
        "encode_key",
        "has_local",
        "index_keys",
        "indexes",
        "insights",
        "is_followed",
        "is_isolated",
        "is_logged",
        "is_replicated",
        "key",
        "key_count",
        "last_sequence",
        "maintained",
        "name",
        "number",
        "prefix",
        "record",
        "siblings",
        "sizes_prefix",
        "status",
        "ttl_attribute",
        "vector_dimensions",
    )

    def __init__(self, record: TableRecord) -> None:
        self.name = record.name
        self.arn = record.arn
        self.number = record.number
        self.prefix = keyspace.data_prefix(record.number, PRIMARY_INDEX)
        self.counters_key = keyspace.counters_key(record.number, PRIMARY_INDEX)
        self.sizes_prefix = keyspace.sizes_prefix(record.number)
        self.key = record.key_schema()
        self.key_count = len(self.key.attributes)
        self.encode_key = compile_key(self.key, self.prefix)
        self.last_sequence = 0
        self.insights: Contributors | None = None
        self.indexes: dict[str, Index] = {}
        self.siblings: list[Table] = []
        """The other replicas, where a write is in all of them or in none."""
        self.is_isolated = False
        """Whether such a replica can reach no other region."""
        self.conflict_window = 0
        """For how many nanoseconds a write keeps other regions from its item."""
        self.show(record)

    def show(self, record: TableRecord) -> None:
        """Take over a record that has been committed. Indexes that stay keep their objects."""
        self.record = record
        known = {index.number: index for index in self.indexes.values()}
        self.indexes = {}
        for each in record.indexes:
            index = known.get(each.number) or Index(record.number, each.number, record.index_schema(each))
            index.status = each.status
            index.backfilling = each.backfilling or each.status == "CREATING"
            index.insights = contributors(index.insights, record.insights.get(each.name), index.schema.key)
            self.indexes[each.name] = index
        self.insights = contributors(self.insights, record.insights.get(""), self.key)
        self.maintained = [index for index in self.indexes.values() if index.status != "DELETING"]
        self.has_local = any(not index.schema.is_global for index in self.maintained)
        keys = [index.schema.key.names for index in self.maintained if index.schema.vector is None]
        self.index_keys = frozenset(chain.from_iterable(keys))
        """Attributes that an index other than of vectors has in its key."""
        vectors = [index.schema.vector for index in self.maintained if index.schema.vector is not None]
        self.vector_dimensions = {vector.attribute: vector.dimensions for vector in vectors} or None
        self.is_logged = record.is_logged
        self.ttl_attribute = record.ttl.attribute if record.ttl is not None and record.ttl.enabled else None
        self.is_replicated = record.replication is not None and not record.is_filling
        self.is_followed = self.is_logged or self.ttl_attribute is not None
        self.status = record.status
        if self.status == "ACTIVE" and not self.is_settled:
            self.status = "UPDATING"

    @property
    def is_going(self) -> bool:
        """It is being deleted: some of what it has may be gone already, the rest goes with a restart at the latest."""
        return self.record.status == "DELETING"

    @property
    def is_settled(self) -> bool:
        """Nothing is left that time will change."""
        return self.record.until is None and all(index.until is None for index in self.record.indexes)


class World:
    """The tables of one account in one region."""

    __slots__ = ("__weakref__", "account", "catalog", "region", "tables")

    def __init__(self, account: str, region: str, catalog: Catalog) -> None:
        self.account = account
        self.region = region
        self.catalog = catalog
        self.tables: dict[str, Table] = {}


class Catalog:
    """All worlds of a store."""

    def __init__(self, store: Store, clock: Clock, settings: Any, rng: Random, jobs: list[Any]) -> None:
        self._store = store
        self._clock = clock
        self._rng = rng
        self._jobs = jobs
        self._transition_seconds: float = settings.table_transition_seconds
        self._shared: bool = settings.shared_world
        self._worlds: WeakValueDictionary[tuple[str, str], World] = WeakValueDictionary()
        """Every world that somebody holds."""
        self._inhabited: dict[tuple[str, str], World] = {}
        """Those that have tables. A world without is forgotten with its last user: access keys may be many."""
        self._unsettled: dict[int, tuple[World, Table]] = {}
        self.on_change: list[Callable[[World, Table], None]] = []
        """Told of every table whose record was made, changed, settled or is to be removed (`status` DELETING)."""
        self.last_sequence = 0
        """The newest commit that changed a record: what a description was read from is durable with it."""
        self._load()

    def world(self, account: str, region: str) -> World:
        """The world of an account and region; an empty one if nobody made a table there."""
        if self._shared:
            account, region = SHARED_ACCOUNT, SHARED_REGION
        world = self._worlds.get((account, region))
        if world is None:
            world = self._worlds[account, region] = World(account, region, self)
        return world

    def worlds(self) -> list[World]:
        """Every account and region that has tables."""
        return list(self._inhabited.values())

    def tables(self) -> list[Table]:
        """Every table of every world."""
        return [table for world in self._inhabited.values() for table in world.tables.values()]

    def until(self) -> float:
        """When a change that begins now is done."""
        return self._clock.now() + self._transition_seconds

    def find(self, world: World, name_or_arn: str) -> Table:
        """The table in any state, settled. Raises ResourceNotFoundException in the words of the control plane."""
        name = table_name_of(world, name_or_arn)
        table = world.tables.get(name)
        if table is None or self.settle(world, table) is None:
            raise ResourceNotFoundException(f"Requested resource not found: Table: {name} not found")
        return table

    def names(self, world: World) -> list[str]:
        """The names of all tables, sorted by their bytes."""
        for owner, table in list(self._unsettled.values()):
            self.settle(owner, table)
        return sorted(world.tables)

    def create(self, world: World, record: TableRecord) -> tuple[Table, int]:
        """Give a new table its number and keep its record; the table and the commit's sequence number."""
        transaction = self._store.begin()
        transaction.add(keyspace.SERIAL_KEY, (1,))
        record.number = self._store.counters(keyspace.SERIAL_KEY, 1)[0] + 1
        record.table_id = str(uuid.UUID(int=self._rng.getrandbits(128), version=4))
        transaction.put(self._key(record), records.dumps(record))
        self.last_sequence = transaction.commit()
        table = self._place(world, record)
        self._tell(world, table)
        return table, self.last_sequence

    def save(
        self, world: World, table: Table, record: TableRecord, also: Callable[[Transaction], None] | None = None
    ) -> int:
        """Keep a changed record and show it; the commit's sequence number. `also` stages what belongs to the change."""
        transaction = self._store.begin()
        if also is not None:
            also(transaction)
        transaction.put(self._key(record), records.dumps(record))
        self.last_sequence = transaction.commit()
        table.show(record)
        self._watch(world, table)
        self._tell(world, table)
        return self.last_sequence

    def tell(self, follower: Callable[[World, Table], None]) -> None:
        """Tell `follower` of every table there is, and from now on of each change (see `on_change`)."""
        self.on_change.append(follower)
        for world in self.worlds():
            for table in world.tables.values():
                follower(world, table)

    def _tell(self, world: World, table: Table) -> None:
        for follower in self.on_change:
            follower(world, table)

    def start_backfill(self, world: World, table: Table, index: Index) -> None:
        """Begin to fill an index with the items that the table has."""
        self._jobs.append(Backfill(self._store, world, table, index))

    def finish_backfill(self, world: World, table: Table, index: Index) -> None:
        """The index has all items: it may be read."""
        record = records.copy(table.record)
        each = next(each for each in record.indexes if each.number == index.number)
        each.backfilling = False
        each.until = each.until if each.until is not None else self._clock.now()
        self.save(world, table, record)
        self.settle(world, table)

    def settle(self, world: World, table: Table) -> Table | None:
        """Take every step whose time has come; None when the table is gone by that."""
        if table.is_settled:
            return table
        now = self._clock.now()
        record = table.record
        if record.until is not None and now >= record.until:
            if record.status == "DELETING":
                self._remove(world, table)
                return None
            record.settle()
        gone = []
        for index in record.indexes:
            if index.until is not None and now >= index.until:
                if index.status == "DELETING":
                    gone.append(index)
                else:
                    index.settle()
        if gone:
            self._remove_indexes(world, table, gone)
        else:
            table.show(record)
            self._watch(world, table)
            self._tell(world, table)
        return table

    def clear(self, table: Table) -> None:
        """Remove all items of a table, with their index entries, counters and sizes."""
        record = table.record
        for index in [PRIMARY_INDEX, *(each.number for each in record.indexes)]:
            self._remove_data(record.number, index, record.is_archived and index == PRIMARY_INDEX)
        for prefix in (
            keyspace.sizes_prefix(record.number),
            keyspace.due_prefix(record.number),
            keyspace.version_prefix(record.number),
            keyspace.grave_prefix(record.number),
            keyspace.positions_prefix(record.number),
        ):
            self._store.delete_range(prefix, keyspace.successor(prefix))

    def remove(self, world: World, table: Table) -> None:
        """Remove a table at once, whatever it is doing."""
        record = records.copy(table.record)
        record.status, record.until = "DELETING", self._clock.now()
        self.save(world, table, record)
        self.settle(world, table)

    def _remove(self, world: World, table: Table) -> None:
        """Remove all that a table has in the store, its record last: if this is interrupted, it is done again."""
        record = table.record
        self.clear(table)
        transaction = self._store.begin()
        transaction.delete(self._key(record))
        self.last_sequence = transaction.commit()
        del world.tables[table.name]
        if not world.tables:
            del self._inhabited[world.account, world.region]
        self._unsettled.pop(table.number, None)

    def _remove_indexes(self, world: World, table: Table, gone: list[IndexRecord]) -> None:
        record = records.copy(table.record)
        numbers = {index.number for index in gone}
        for number in numbers:
            self._remove_data(record.number, number)
        record.indexes = [index for index in record.indexes if index.number not in numbers]
        for index in gone:
            record.insights.pop(index.name, None)
            for kind in ("Read/", "Write/"):
                record.scaling.pop(kind + index.name, None)
        record.prune_attributes()
        self.save(world, table, record)

    def _remove_data(self, table: int, index: int, is_archived: bool = False) -> None:
        prefix, counters = keyspace.data_prefix(table, index), keyspace.counters_key(table, index)
        if not is_archived:
            self._store.delete_range(prefix, keyspace.successor(prefix))
        transaction = self._store.begin()
        transaction.delete(counters)
        transaction.commit()

    def _place(self, world: World, record: TableRecord) -> Table:
        table = world.tables[record.name] = Table(record)
        self._inhabited[world.account, world.region] = world
        self._watch(world, table)
        return table

    def _watch(self, world: World, table: Table) -> None:
        """Remember which tables time will change, so that a list of names can settle them."""
        if table.is_settled:
            self._unsettled.pop(table.number, None)
        else:
            self._unsettled[table.number] = (world, table)

    def _key(self, record: TableRecord) -> bytes:
        return keyspace.catalog_key(record.account, record.region, record.name)

    def _load(self) -> None:
        for _, raw in list(self._store.range(*keyspace.catalog_range())):
            record = records.loads(raw)
            world = self.world(record.account, record.region)
            table = self._place(world, record)
            if self.settle(world, table) is None:
                continue
            for each in record.indexes:
                if each.backfilling:
                    self._remove_data(table.number, each.number)
                    self.start_backfill(world, table, table.indexes[each.name])


def find_table(world: World, name_or_arn: str) -> Table:
    """The table, if data operations may use it. Raises ResourceNotFoundException in their words."""
    table = world.tables.get(table_name_of(world, name_or_arn))
    if table is not None and table.status != "ACTIVE":
        table = world.catalog.settle(world, table)
    if table is None or table.record.status in ("CREATING", "DELETING"):
        raise ResourceNotFoundException("Requested resource not found")
    return table
