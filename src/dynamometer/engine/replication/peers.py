"""Regions that live on another server: their replicas are sent the same changes, as messages.

A message says all that its receiver needs, and may come twice: a record has its revision, an item its version. One
message to each replica is under way at a time; one that fails is built anew after a while, so a server that was down
catches up. Nothing is sent before it is durable here, and nothing counts as arrived before it is durable there.

    table      the sender's record: make the replica, or let its settings follow
    items      for a new replica: some items with their versions
    filled     it has them all
    changes    what was changed in the sender's region, up to a place in its change log
    remove     delete the replica
    leave      the sender is no replica any more
"""

from __future__ import annotations

import logging
from base64 import b64decode, b64encode
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from hmac import compare_digest
from typing import TYPE_CHECKING, Any, Protocol

import orjson

from dynamometer.engine import keyspace, records
from dynamometer.engine.catalog import Table, World
from dynamometer.engine.commit import Commit
from dynamometer.engine.log import sequence_at
from dynamometer.engine.records import Member, TableRecord
from dynamometer.engine.replication import applying, groups, positions
from dynamometer.engine.replication.applying import Arrival
from dynamometer.engine.replication.conflicts import Conflict
from dynamometer.engine.replication.filling import items
from dynamometer.engine.versions import Version

if TYPE_CHECKING:
    from dynamometer.engine.engine import Engine
    from dynamometer.engine.replication.replicator import Replicator

log = logging.getLogger(__name__)

FIRST_WAIT_SECONDS = 0.1
WAIT_SECONDS_MAX = 15.0
AHEAD_SECONDS_MAX = 600.0
"""A change from further in the future is refused: one clock that is wrong must not win for good."""

Message = dict[str, Any]
Outcome = Callable[[], bytes | None]
"""The peer's answer; None while it is not known yet. Raises PeerError."""


class PeerError(Exception):
    """The peer did not answer, or refused; it is worth another try."""


class Refusal(PeerError):
    """The peer has refused for good."""


class Transport(Protocol):
    """The way to the peers. It never blocks."""

    def send(self, url: str, message: bytes) -> Outcome:
        """Post a message to the peer at this URL."""
        ...

    def close(self) -> None: ...


@dataclass(slots=True)
class _Link:
    """What is under way to one replica."""

    message: bytes = b""
    durable_at: int = 0
    outcome: Outcome | None = None
    done: Callable[[], None] | None = None
    refused: Callable[[], None] | None = None
    retry_at: float = 0.0
    failures: int = 0
    revision: int = -1
    """The newest one that the peer is known to have."""


class Peers:
    """The links to all peers, and what to do with their messages."""

    def __init__(
        self, engine: Engine, replicator: Replicator, urls: dict[str, str], transport: Transport | None
    ) -> None:
        self._engine = engine
        self._replicator = replicator
        self._urls = urls
        self._transport = transport
        self._links: dict[tuple[int | str, str], _Link] = {}
        self._receivers: dict[str, Callable[[World, Message], None]] = {
            "table": self._take_table,
            "items": self._take_items,
            "filled": self._take_filled,
            "changes": self._take_changes,
            "remove": self._take_removal,
            "leave": self._take_leave,
        }

    # Sending.

    def work(self, world: World, table: Table, member: Member) -> bool:
        """Go on with what is to be sent to one replica; whether there is more at once."""
        link = self._links.setdefault((table.number, member.region), _Link())
        if not self._is_free(link, member.region):
            return False
        made = self._next(world, table, member, link)
        if made is None:
            return False
        message, done = made
        message |= {
            "account": world.account,
            "table": table.name,
            "from": world.region,
            "to": member.region,
        }
        if message["kind"] == "table" and member.status == "CREATING" and member.source == world.region:
            link.refused = lambda: self._replicator.filling.fail(world, table, member.region)
        self._post(link, member.region, message, done)
        return self._is_free(link, member.region)

    def forget(self, table: Table, region: str | None = None) -> None:
        """A replica is no target any more, or with none given, nothing is sent from the table any more.

        What is under way has to say nothing: the region may come back, from another place on.
        """
        for key in [key for key in self._links if key[0] == table.number and region in (None, key[1])]:
            del self._links[key]

    def _post(self, link: _Link, region: str, message: Message, done: Callable[[], None]) -> None:
        if message["kind"] != "table":
            link.refused = None
        link.message, link.done = orjson.dumps(message), done
        link.durable_at, link.outcome = self._engine.store.last_sequence, None
        self._is_free(link, region)

    def _is_free(self, link: _Link, region: str) -> bool:
        """Take the answer to what is under way, if it is there; whether something else can be sent."""
        now = self._engine.clock.now()
        if self._transport is None or now < link.retry_at:
            return False
        if link.done is None:
            return True
        if link.outcome is None:
            if self._engine.store.durable_sequence < link.durable_at:
                return False
            link.outcome = self._transport.send(self._urls[region], link.message)
        try:
            answer = link.outcome()
            if answer is None:
                return False
            refusal = orjson.loads(answer).get("error")
            if refusal is not None and link.refused is not None and orjson.loads(answer).get("final"):
                link.refused()
            if refusal is not None:
                raise PeerError(str(refusal))
        except (PeerError, orjson.JSONDecodeError) as error:
            self._failed(link, region, now, error)
            return False
        done, link.done, link.outcome, link.failures = link.done, None, None, 0
        done()
        return True

    def _failed(self, link: _Link, region: str, now: float, error: Exception) -> None:
        """Build the message anew after a while; a longer one each time."""
        link.done = link.outcome = None
        link.retry_at = now + min(WAIT_SECONDS_MAX, FIRST_WAIT_SECONDS * 2**link.failures)
        link.failures = min(link.failures + 1, 20)
        link.revision = -1
        level = logging.WARNING if link.failures == 1 else logging.DEBUG
        log.log(level, "the peer of %s can't be reached: %s", region, error)

    def _next(
        self, world: World, table: Table, member: Member, link: _Link
    ) -> tuple[Message, Callable[[], None]] | None:
        """What to send, and what to do once it has arrived."""
        replication = table.record.replication
        assert replication is not None, "it is a replica"
        is_mine = member.source == world.region
        if member.status == "CREATION_FAILED" or member.is_given_up:
            return None
        if link.revision < replication.revision:
            revision = replication.revision

            def known() -> None:
                link.revision = revision

            record = orjson.loads(records.dumps(table.record))
            return {"kind": "table", "record": record, "revision": revision}, known
        if member.status == "DELETING":
            if not is_mine or self._engine.clock.now() < (member.until or 0.0):
                return None
            return {"kind": "remove", "joined": member.joined}, partial(
                self._replicator.drop, world, table, member.region
            )
        if member.status == "CREATING":
            return self._fill(world, table, member) if is_mine else None
        return self._changes(world, table, member)

    def _fill(self, world: World, table: Table, member: Member) -> tuple[Message, Callable[[], None]]:
        store = self._engine.store
        arrivals, place = items(self._engine, table, positions.read_place(store, table.number, member.region))
        if not arrivals:
            return {"kind": "filled"}, lambda: self._replicator.finish(world, table, member.region)

        def keep() -> None:
            transaction = store.begin()
            positions.write_place(transaction, table.number, member.region, place)
            transaction.commit()

        return {"kind": "items", "items": [_packed(arrival) for arrival in arrivals]}, keep

    def _changes(self, world: World, table: Table, member: Member) -> tuple[Message, Callable[[], None]] | None:
        batch = self._replicator.links.batch(table, member.region, self._replicator.links.horizon())
        if not batch.is_worth_it:
            return None

        def keep() -> None:
            transaction = self._engine.store.begin()
            positions.write(transaction, table.number, positions.SENT, member.region, batch.following)
            transaction.commit()

        changes = [_packed(arrival) for arrival in batch.arrivals]
        return {"kind": "changes", "items": changes, "following": batch.following}, keep

    def say_farewell(self, world: World, table: Table, region: str) -> None:
        """Have a peer told that the table here has left the global table."""
        self._have_told("leave", world, table, region, world.region)

    def ask_to_remove(self, world: World, table: Table, region: str) -> None:
        """Have a peer told that its replica is to be deleted."""
        self._have_told("remove", world, table, region, region)

    def _have_told(self, kind: str, world: World, table: Table, region: str, about: str) -> None:
        """Keep a message that outlives the replica that it is about until the peer has it."""
        member = None if table.record.replication is None else table.record.replication.member(about)
        assert member is not None, "it is a replica"
        message = {
            "kind": kind,
            "account": world.account,
            "table": table.name,
            "from": world.region,
            "to": region,
            "joined": member.joined,
        }
        transaction = self._engine.store.begin()
        transaction.put(keyspace.farewell_key(world.account, table.name, world.region, region), orjson.dumps(message))
        transaction.commit()

    def farewells(self) -> None:
        """Go on with the farewells that are to be said."""
        if self._transport is None:
            return
        for key, value in list(self._engine.store.range(*keyspace.farewell_range())):
            message = orjson.loads(value)
            region = message["to"]
            if {region, message["from"]} & self._replicator.cut_off or region not in self._urls:
                continue
            link = self._links.setdefault((key.decode(), region), _Link())
            if self._is_free(link, region):
                self._post(link, region, message, partial(self._told, key, region))

    def _told(self, key: bytes, region: str) -> None:
        transaction = self._engine.store.begin()
        transaction.delete(key)
        transaction.commit()
        self._links.pop((key.decode(), region), None)

    # Receiving.

    def receive(self, secret: str, body: bytes) -> tuple[Message, int]:
        """Take a message: the answer, and what has to be durable before it is given. Raises PermissionError."""
        expected = self._engine.settings.replication_secret
        if expected is None or not compare_digest(expected.encode(), secret.encode()):
            raise PermissionError("the replication secret is not the same on both servers")
        try:
            message = orjson.loads(body)
            if {message["from"], message["to"]} & self._replicator.cut_off:
                raise PeerError("the region is cut off")
            if message["to"] in self._urls:
                raise PeerError(f"region {message['to']} is not on this server")
            self._receivers[message["kind"]](self._engine.world(message["account"], message["to"]), message)
        except PeerError as error:
            return {"error": str(error), "final": isinstance(error, Refusal)}, self._engine.store.last_sequence
        return {"ok": True}, self._engine.store.last_sequence

    def _replica(self, world: World, message: Message) -> Table:
        table = self._replicator.replica(world, message["table"], world.region)
        replication = None if table is None else table.record.replication
        if table is None or replication is None or replication.member(message["from"]) is None:
            raise PeerError("there is no such replica")
        return table

    def _take_table(self, world: World, message: Message) -> None:
        source = records.loads(orjson.dumps(message["record"]))
        theirs = source.replication
        own = None if theirs is None else theirs.member(world.region)
        if theirs is None or own is None:
            raise PeerError("the record has no such replica")
        table = world.tables.get(message["table"])
        if table is None:
            self._make(world, source, own)
            return
        ours = table.record.replication
        if ours is None or ours.created_at != theirs.created_at:
            raise Refusal(f"region {world.region} has another table named {table.name}")
        if groups.is_newer(theirs, ours):
            self._replicator.adopt(world, table, source)
            self._replicator.tell(world, table)

    def _make(self, world: World, source: TableRecord, own: Member) -> None:
        if own.status == "DELETING":
            return  # it is removed already, and the answer did not arrive
        if own.status != "CREATING":
            raise PeerError(f"the replica in {world.region} is gone")
        engine = self._engine
        labels = engine.streams.labels(world, source.name)
        record = groups.new_replica(source, world.region, round(engine.clock.now(), 3), labels)
        table, _ = engine.catalog.create(world, record)
        self._replicator.begin_replica(table)

    def _take_items(self, world: World, message: Message) -> None:
        table = self._replica(world, message)
        if not table.record.is_filling:
            return
        self._apply(table, _unpacked(message), lambda commit: None)

    def _take_filled(self, world: World, message: Message) -> None:
        table = self._replica(world, message)
        if table.record.is_filling:
            self._replicator.activate(world, table)

    def _take_changes(self, world: World, message: Message) -> None:
        table = self._replica(world, message)
        if table.record.is_filling:
            raise PeerError("the replica has not been filled yet")
        arrivals = _unpacked(message)
        latest = sequence_at(self._engine.clock.now() + AHEAD_SECONDS_MAX)
        if any(arrival.version.sequence > latest for arrival in arrivals):
            raise PeerError("the clocks of the servers differ by more than ten minutes")
        number, region, following = table.number, message["from"], message["following"]
        self._apply(
            table,
            arrivals,
            lambda commit: positions.write(commit.transaction, number, positions.ARRIVED, region, following),
        )

    def _apply(self, table: Table, arrivals: list[Arrival], also: Callable[[Commit], None]) -> None:
        def decide(commit: Commit) -> list[Conflict]:
            also(commit)
            return applying.apply(self._engine, commit, table, arrivals)

        done = applying.transact(self._engine, decide)
        if done is None:
            raise PeerError("the store is busy")
        self._replicator.links.report(done[0])

    def _take_removal(self, world: World, message: Message) -> None:
        table = self._replicator.replica(world, message["table"], world.region)
        member = None if table is None else _member(table, world.region)
        if table is None or member is None or member.joined != message["joined"]:
            return  # it is done, or a later replica is not meant
        if table.record.deletion_protection:
            raise PeerError(f"table {table.name} in {world.region} is protected from deletion")
        if not self._replicator.drain(world, table):
            raise PeerError("the replica has not sent all that was written in it")
        self._engine.catalog.remove(world, table)

    def _take_leave(self, world: World, message: Message) -> None:
        table = self._replicator.replica(world, message["table"], world.region)
        member = None if table is None else _member(table, message["from"])
        if table is None or member is None or member.joined != message["joined"]:
            return
        self._replicator.without(world, table, message["from"])


def _member(table: Table, region: str) -> Member | None:
    replication = table.record.replication
    return None if replication is None else replication.member(region)


def _packed(arrival: Arrival) -> list[Any]:
    version = arrival.version
    value = None if arrival.value is None else b64encode(arrival.value).decode()
    return [
        b64encode(arrival.place).decode(),
        [version.sequence, version.region, version.seen, version.parent],
        value,
    ]


def _unpacked(message: Message) -> list[Arrival]:
    arrivals = []
    for place, (sequence, region, seen, parent), value in message["items"]:
        version = Version(sequence, region, seen, (parent[0], parent[1]))
        arrivals.append(Arrival(b64decode(place), version, None if value is None else b64decode(value)))
    return arrivals
