"""Every boto3 and botocore client of the process to one engine, for code that makes its own clients.

While a routing is on, requests of dynamodb and dynamodbstreams are answered by its engine, whether their client was
made before or after it. Other services go their normal way. Four methods of botocore are replaced and put back:

- `Endpoint._send`, through which every request of every client leaves;
- `Endpoint.make_request`, where most calls can already be answered (see `shortcut`);
- `RequestSigner.get_auth_instance`: a request that stays here needs no signature, and getting credentials may itself
  need the network;
- `Session.create_client`, to supply a region and credentials where the process has configured none.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from threading import Lock
from types import TracebackType
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar
from weakref import WeakKeyDictionary

import botocore.endpoint
import botocore.session
from botocore.signers import RequestSigner

from dynamometer.inprocess import shortcut, transport
from dynamometer.inprocess.local import DEFAULT_ACCOUNT, DEFAULT_REGION, SERVICES, Local, local
from dynamometer.inprocess.shortcut import EXCHANGE_EVENTS, Shortcut, is_botocores

if TYPE_CHECKING:
    from botocore.awsrequest import AWSResponse

P = ParamSpec("P")
R = TypeVar("R")

ENDPOINT_PREFIXES = ("dynamodb", "streams.dynamodb")
SIGNING_NAME = "dynamodb"
NETWORK_PROVIDERS = frozenset({"iam-role", "container-role"})
"""Where botocore looks for credentials in the end, on a network that a test should not need."""

_lock = Lock()
_current: Routing | None = None


class RoutingError(RuntimeError):
    """Routings can't be nested: there would be two engines for one client."""


class Routing:
    """A routing that is switched on by `with`, as a decorator, or by `start` and `stop`."""

    def __init__(self, engine: Local | None = None, **options: Any) -> None:
        self._given = engine
        self._options = options
        self._engine: Local | None = None
        self._saved: list[tuple[Any, str, Any]] = []

    def start(self) -> Local:
        """Route from now on; the engine that answers."""
        global _current
        with _lock:
            if _current is not None:
                raise RoutingError(
                    "boto3 is being routed already; end that routing first, or use its engine: "
                    "routings don't nest because a client could follow only one of them"
                )
            self._engine = self._given if self._given is not None else local(**self._options)
            _current = self
            self._patch(botocore.endpoint.Endpoint, "_send", self._send)
            self._patch(botocore.endpoint.Endpoint, "make_request", self._make_request)
            self._patch(RequestSigner, "get_auth_instance", self._get_auth_instance)
            self._patch(botocore.session.Session, "create_client", self._create_client)
            return self._engine

    def stop(self) -> None:
        """Put everything back. Stopping twice does nothing."""
        global _current
        with _lock:
            if _current is not self:
                return
            for owner, name, original in reversed(self._saved):
                setattr(owner, name, original)
            self._saved.clear()
            _current = None
            engine, self._engine = self._engine, None
        if engine is not None and engine is not self._given:
            engine.close()

    def __enter__(self) -> Local:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def __call__(self, function: Callable[P, R]) -> Callable[P, R]:
        """Route while `function` runs. Without an engine of its own, each call gets a fresh one."""

        @functools.wraps(function)
        def routed(*args: P.args, **kwargs: P.kwargs) -> R:
            with Routing(self._given, **self._options):
                return function(*args, **kwargs)

        return routed

    # The replaced methods.

    def _patch(self, owner: Any, name: str, make: Callable[[Any], Any]) -> None:
        original = getattr(owner, name)
        self._saved.append((owner, name, original))
        setattr(owner, name, functools.wraps(original)(make(original)))

    def _send(self, original: Any) -> Any:
        engine = self._engine
        assert engine is not None

        def send(endpoint: Any, request: Any) -> AWSResponse:
            if endpoint._endpoint_prefix not in ENDPOINT_PREFIXES:
                return original(endpoint, request)
            scope = None
            if "Authorization" not in request.headers:
                scope = transport.scope_headers(
                    engine.account, request.context.get("client_region", engine.region_name)
                )
            return shortcut.send(engine, request, scope)

        return send

    def _make_request(self, original: Any) -> Any:
        engine = self._engine
        assert engine is not None
        shortcuts = _Shortcuts(engine)

        def make_request(endpoint: Any, operation_model: Any, request_dict: dict[str, Any]) -> Any:
            if endpoint._endpoint_prefix in ENDPOINT_PREFIXES:
                context = request_dict["context"]
                chosen = shortcuts.get(endpoint, operation_model, context)
                answered = chosen and chosen.answer(operation_model, request_dict, context)
                if answered is not None:
                    return answered
            return original(endpoint, operation_model, request_dict)

        return make_request

    def _get_auth_instance(self, original: Any) -> Any:
        engine = self._engine
        assert engine is not None

        def get_auth_instance(signer: Any, signing_name: str, region_name: str, *args: Any, **kwargs: Any) -> Any:
            if signing_name != SIGNING_NAME:
                return original(signer, signing_name, region_name, *args, **kwargs)
            return _Unsigned(transport.scope_headers(engine.account_of(signer._credentials), region_name))

        return get_auth_instance

    def _create_client(self, original: Any) -> Any:
        def create_client(session: Any, service_name: str, region_name: str | None = None, **kwargs: Any) -> Any:
            if service_name not in SERVICES:
                return original(session, service_name, region_name, **kwargs)
            config = kwargs.get("config")
            configured = region_name or getattr(config, "region_name", None) or session.get_config_variable("region")
            explicit = kwargs.get("aws_access_key_id") or kwargs.get("aws_secret_access_key")
            if not explicit and not _has_credentials(session):
                kwargs |= {"aws_access_key_id": DEFAULT_ACCOUNT, "aws_secret_access_key": "secret"}
            return original(session, service_name, region_name if configured else DEFAULT_REGION, **kwargs)

        return create_client


class _Shortcuts:
    """Which clients may take the shortcut, operation by operation: those to whose exchange nobody listens."""

    def __init__(self, engine: Local) -> None:
        self._engine = engine
        self._known: WeakKeyDictionary[Any, dict[str, tuple[Any, Shortcut | None]]] = WeakKeyDictionary()
        self._made: dict[tuple[str, str], Shortcut] = {}

    def get(self, endpoint: Any, model: Any, context: dict[str, Any]) -> Shortcut | None:
        """The shortcut, or None. Botocore replaces its lookup cache whenever somebody registers or leaves."""
        emitter = getattr(endpoint._event_emitter, "_emitter", None)
        version = getattr(emitter, "_lookup_cache", None)
        if version is None:
            return None
        operations = self._known.setdefault(endpoint, {})
        known = operations.get(model.name)
        if known is None or known[0] is not version:
            known = operations[model.name] = version, self._choose(emitter, model, context)
        return known[1]

    def _choose(self, emitter: Any, model: Any, context: dict[str, Any]) -> Shortcut | None:
        service = model.service_model.service_id.hyphenize()
        handlers = [
            handler
            for event in EXCHANGE_EVENTS
            for handler in emitter._handlers.prefix_search(f"{event}.{service}.{model.name}")
        ]
        if not all(map(is_botocores, handlers)):
            return None
        signers = [getattr(handler, "__self__", None) for handler in handlers]
        credentials = next((each._credentials for each in signers if isinstance(each, RequestSigner)), None)
        scope = self._engine.account_of(credentials), context.get("client_region") or self._engine.region_name
        return self._made.setdefault(scope, Shortcut(self._engine, *scope))


def _has_credentials(session: Any) -> bool:
    """Whether credentials are configured anywhere that can be looked at without the network."""
    if session._credentials is not None:
        return True
    providers = session.get_component("credential_provider").providers
    return any(provider.load() is not None for provider in providers if provider.METHOD not in NETWORK_PROVIDERS)


class _Unsigned:
    """Stands where botocore's signer would: says who asks, without a secret."""

    def __init__(self, headers: transport.Headers) -> None:
        self._headers = headers

    def add_auth(self, request: Any) -> None:
        for name, value in self._headers.items():
            request.headers[name.decode()] = value.decode()


def route_boto3(engine: Local | None = None, **options: Any) -> Routing:
    """Route every boto3 and botocore client of this process: a context manager and a decorator.

    To `engine`, which stays open; or to a new one, made with `options` as `local()` takes them and closed at the end.
    """
    return Routing(engine, **options)
