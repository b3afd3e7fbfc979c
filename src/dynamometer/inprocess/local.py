"""`Local`: an engine in this process, with clients that never open a socket.

    with dynamometer.local() as db:
        client = db.client("dynamodb")

Botocore's clients may be used by many threads at once; the engine runs one request at a time. A lock is all there is
between them. It is let go before a write waits for the disk, so that the waits of several threads share one fsync.
"""

from __future__ import annotations

import logging
import os
import re
from contextlib import suppress
from pathlib import Path
from threading import Lock
from types import TracebackType
from typing import TYPE_CHECKING, Any

import boto3
import botocore.session
from botocore.configprovider import ConstantProvider
from botocore.credentials import Credentials

from dynamometer.base.clock import Clock, SystemClock
from dynamometer.base.config import SETTINGS, Settings, SettingsError
from dynamometer.base.errors import StoreError, where
from dynamometer.base.rng import seeded
from dynamometer.engine import insights
from dynamometer.engine.engine import Engine
from dynamometer.engine.replication.conflicts import Conflict
from dynamometer.engine.sketch import Frequent
from dynamometer.inprocess.shortcut import Attached, Shortcut
from dynamometer.inprocess.transport import Headers
from dynamometer.kinesis import open_sink
from dynamometer.objects import open_objects
from dynamometer.storage.interface import Store
from dynamometer.wire.service import Response, Service

if TYPE_CHECKING:
    from dynamometer.inprocess.routing import Routing

log = logging.getLogger(__name__)

SERVICES = ("dynamodb", "dynamodbstreams")
DEFAULT_ACCOUNT = "000000000000"
DEFAULT_REGION = "us-east-1"


class Local:
    """An engine and the ways to reach it. Make one with `local()`."""

    account = DEFAULT_ACCOUNT

    def __init__(self, settings: Settings, clock: Clock | None, seed: int | None, region_name: str) -> None:
        self._lock = Lock()
        self._sessions: dict[str, boto3.Session] = {}
        self._start(settings, clock, seed, region_name)

    def _start(self, settings: Settings, clock: Clock | None, seed: int | None, region_name: str) -> None:
        self.settings = settings
        self.region_name = region_name
        self.clock = clock if clock is not None else SystemClock()
        sink, objects = open_sink(settings, is_waiting=True), open_objects(settings)
        self.engine = Engine(_open_store(settings), self.clock, seeded(seed), settings, objects, sink)
        self._service = Service(self.engine, settings)
        self._is_closed = False

    # The way to the engine.

    def exchange(self, method: str, target: str, headers: Headers, body: bytes) -> Response:
        """One request in the protocol's own terms. Returns when it is as durable as the settings ask for."""
        with self._lock:
            if self._is_closed:
                raise RuntimeError("this Local is closed; make another with dynamometer.local()")
            response = self._service.handle(method, target, headers, body)
            store, has_work = self.engine.store, self.engine.has_work
            if has_work:
                self._work()
        if has_work:
            with suppress(StoreError):  # of what the work wrote: the request beside it may be safe all the same
                store.wait_durable(store.last_sequence)
        if response.sequence > store.durable_sequence:
            store.wait_durable(response.sequence)
        return response

    def _work(self) -> None:
        """Background work; when it fails, the request beside it has been done all the same."""
        try:
            self.engine.run_jobs()
        except Exception as bug:
            log.error("background work failed; it is tried again: %s", where(bug))

    def now(self) -> float:
        """The engine's time."""
        return self.clock.now()

    def account_of(self, credentials: Any) -> str:
        """The account of a client: this engine's only one, unless its access key is the twelve digits of another.

        Credentials that would have to be fetched from somewhere are not touched.
        """
        if type(credentials) is Credentials and re.fullmatch(r"\d{12}", credentials.access_key):
            return str(credentials.access_key)
        return self.account

    def catch_up(self) -> None:
        """Do all background work that there is now: deletions by time to live, backfills, deliveries to Kinesis.

        Some of it is done after each request; tests that turn a clock want all of it at once.
        """
        with self._lock:
            self.engine.catch_up()

    # Clients.

    def client(self, service_name: str = "dynamodb", region_name: str | None = None, **kwargs: Any) -> Any:
        """A boto3 client of "dynamodb" or "dynamodbstreams". Takes what boto3.client takes.

        An access key of twelve digits names an account with tables of its own; with any other, all clients share one.
        """
        return self._made(self.session().client, service_name, region_name, kwargs)

    def resource(self, service_name: str = "dynamodb", region_name: str | None = None, **kwargs: Any) -> Any:
        """A boto3 resource of "dynamodb"."""
        return self._made(self.session().resource, service_name, region_name, kwargs)

    def _made(self, make: Any, service_name: str, region_name: str | None, kwargs: dict[str, Any]) -> Any:
        if service_name not in SERVICES:
            raise ValueError(f"Dynamometer is {' and '.join(SERVICES)}, not {service_name!r}")
        return make(service_name, region_name=region_name, **kwargs)

    def session(self) -> Any:
        """A boto3 session whose dynamodb and dynamodbstreams clients are served by this engine.

        It knows no credentials but its own and reads no configuration file. Its clients of other services are ordinary.
        """
        session = self._sessions.get(self.region_name)
        if session is None:
            session = self._sessions[self.region_name] = self._new_session()
        return session

    def _new_session(self) -> boto3.Session:
        core = botocore.session.Session()
        core.set_config_variable("region", self.region_name)
        core.get_component("config_store").set_config_provider("profile", ConstantProvider(None))
        for name in ("config_file", "credentials_file"):
            core.set_config_variable(name, os.devnull)
        core.set_credentials(DEFAULT_ACCOUNT, "secret")
        session = boto3.Session(botocore_session=core)
        for service in SERVICES:
            session.events.register(f"creating-client-class.{service}", self._attach)
        return session

    def _attach(self, class_attributes: dict[str, Any], base_classes: list[type], **_: Any) -> None:
        """Have every client that the session makes answered by this engine."""
        engine = self

        class InProcess:
            """A client that is answered inside the process."""

            def __init__(self, *args: Any, **kwargs: Any) -> None:
                super().__init__(*args, **kwargs)
                made: Any = self
                account = engine.account_of(getattr(made._request_signer, "_credentials", None))
                made._endpoint.http_session = _NoNetwork()
                self.dynamometer_shortcut = Attached(Shortcut(engine, account, made.meta.region_name), made)

        base_classes.insert(0, InProcess)

    # What only this engine can tell.

    def contributors(self, table: str, index: str | None = None) -> dict[str, list[Frequent[tuple[str, ...]]]]:
        """What the rules of Contributor Insights would show: the most frequent keys, by kind of rule (PKC, SKC, PKT,
        SKT). Empty unless UpdateContributorInsights has switched them on for the table or global index."""
        with self._lock:
            return insights.report(self.engine.world(self.account, self.region_name), table, index)

    # Global tables.

    def cut(self, region_name: str) -> None:
        """Cut a region off: nothing is replicated from it or to it until `heal`."""
        with self._lock:
            self.engine.replication.cut(region_name)

    def heal(self, region_name: str) -> None:
        """Let a region that was cut off catch up: in the background, or at once where consistency is strong."""
        with self._lock:
            self.engine.replication.heal(region_name)

    def conflicts(self, table: str | None = None) -> list[Conflict]:
        """The updates that global tables have lost to later ones in other regions, of one table or of all."""
        with self._lock:
            return [each for each in self.engine.replication.conflicts() if table in (None, each.table)]

    # Routing.

    def route_all(self) -> Routing:
        """Route every boto3 and botocore client of this process here: a context manager and a decorator."""
        from dynamometer.inprocess.routing import Routing

        return Routing(self)

    # Life.

    def reset(
        self, clock: Clock | None = None, *, seed: int | None = None, region_name: str = DEFAULT_REGION, **settings: Any
    ) -> None:
        """Forget every table and start anew, as `local()` would, keeping the clients. Only for engines in memory."""
        if not self.settings.in_memory:
            raise RuntimeError("only an engine in memory can be reset: a data folder is yours to delete")
        chosen = _settings({"in_memory": True} | settings)
        with self._lock:
            self._start(chosen, clock, seed, region_name)

    def close(self) -> None:
        """Make everything durable and let go of the data folder. Clients can't be used any more."""
        with self._lock:
            if not self._is_closed:
                self._is_closed = True
                self.engine.close()

    def __enter__(self) -> Local:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class _NoNetwork:
    """Stands where a client's connections would be: whatever goes wrong, nothing leaves the process."""

    def send(self, request: Any) -> Any:
        raise RuntimeError(f"a client of an engine in this process wants to connect to {request.url}")

    def close(self) -> None:
        """There is nothing to close."""


def local(
    data: str | os.PathLike[str] | None = None,
    *,
    clock: Clock | None = None,
    seed: int | None = None,
    region_name: str = DEFAULT_REGION,
    **settings: Any,
) -> Local:
    """An engine in this process: in memory, or in the folder `data`. Further settings as in `base.config`.

    `clock` makes time your own (`dynamometer.base.clock.ManualClock`), `seed` makes chance repeatable.
    """
    place = {"in_memory": True} if data is None else {"data": str(Path(data))}
    return Local(_settings(place | settings), clock, seed, region_name)


def _settings(chosen: dict[str, Any]) -> Settings:
    """Settings that need no signature; it says nothing about who asks when everyone is in this process."""
    unknown = sorted(set(chosen) - set(SETTINGS))
    if unknown:
        raise ValueError(f"{unknown[0]!r} is not a setting; there are {', '.join(SETTINGS)}")
    try:
        return Settings(**{"require_signature": False} | chosen)
    except SettingsError as error:
        raise ValueError(str(error)) from None


def _open_store(settings: Settings) -> Store:
    if settings.in_memory:
        from dynamometer.storage.memory import MemoryStore

        return MemoryStore()
    from dynamometer.storage.rocksdb import RocksStore

    return RocksStore(settings.data, settings.durability)
