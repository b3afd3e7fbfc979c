"""What a call of boto3 can leave out when its client is on no network.

A call of botocore takes some 200 microseconds, of which most go into choosing an endpoint, the user agent, the
signature, HTTP headers and the walk of the answer. None of them can be seen by the caller of an engine in the same
process. So botocore's `before-call` event, at which parameters are validated and serialised, is answered at once.

Kept as they are: parameter validation, all events before and after the exchange, exceptions, paginators, waiters, and
retries: an answer that is an error goes through botocore's whole machinery, which may send the request again.

The events of the exchange itself (`EXCHANGE_EVENTS`) have nobody to tell in this way. As soon as somebody registers for
one, the client goes the long way.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from botocore.awsrequest import AWSResponse

from dynamometer.inprocess import transport
from dynamometer.inprocess.parsing import parser_of

if TYPE_CHECKING:
    from dynamometer.wire.service import Response

PENDING = "dynamometer-answer"
EXCHANGE_EVENTS = (
    "request-created",
    "choose-signer",
    "before-sign",
    "before-send",
    "before-parse",
    "response-received",
    "needs-retry",
)
_JSON = b"application/x-amz-json-1.0"
Answered = tuple[AWSResponse, dict[str, Any]]


class Shortcut:
    """Answers calls on behalf of one account in one region."""

    def __init__(self, engine: transport.Exchange, account: str, region: str) -> None:
        self.engine = engine
        self.scope = transport.scope_headers(account, region)
        self._parsers: dict[str, Callable[[bytes], dict[str, Any]]] = {}
        self._headers: dict[str, transport.Headers] = {}

    def answer(self, model: Any, params: dict[str, Any], context: dict[str, Any]) -> Answered | None:
        """What botocore makes of the answer. None when that is an error: `context` then holds it for `send`."""
        operation = model.name
        headers = self._headers.get(operation)
        if headers is None:
            headers = self._prepare(operation, model, params["headers"])
        body = params["body"]
        response = self.engine.exchange("POST", "/", headers, body if isinstance(body, bytes) else body.encode())
        if response.status != 200:
            context[PENDING] = response
            return None
        parsed = self._parsers[operation](response.body)
        answer_headers = transport.response_headers(response, self.engine.now())
        lower = {name.lower(): value for name, value in answer_headers.items()}
        parsed["ResponseMetadata"] = {
            "RequestId": lower["x-amzn-requestid"],
            "HTTPStatusCode": 200,
            "HTTPHeaders": lower,
            "RetryAttempts": 0,
        }
        return AWSResponse(params["url"], 200, answer_headers, transport.RawBody(response.body)), parsed

    def _prepare(self, operation: str, model: Any, headers: Any) -> transport.Headers:
        prepared = {b"x-amz-target": headers["X-Amz-Target"].encode(), b"content-type": _JSON, **self.scope}
        self._parsers[operation] = parser_of(model.output_shape)
        self._headers[operation] = prepared
        return prepared


def send(engine: transport.Exchange, request: Any, scope: transport.Headers | None) -> AWSResponse:
    """Answer a request that went the long way: with what it was told already, or anew when it is a retry."""
    pending: Response | None = request.context.pop(PENDING, None)
    if pending is not None:
        return transport.as_botocore(request.url, pending, engine.now())
    return transport.send(engine, request, scope)


class Attached:
    """A client of ours with its shortcut, which is open until somebody listens to the exchange."""

    def __init__(self, shortcut: Shortcut, client: Any) -> None:
        self.is_open = True
        self.registrations = 0
        self._shortcut = shortcut
        self._cut(client)
        events, service = client.meta.events, client.meta.service_model.service_id.hyphenize()
        events.register_last(f"before-call.{service}", self.before_call)
        events.register(f"before-send.{service}", self.before_send)
        self._watch(events)

    def before_call(self, model: Any, params: dict[str, Any], context: dict[str, Any], **_: Any) -> Answered | None:
        """Answer a call; None sends it the long way."""
        return self._shortcut.answer(model, params, context) if self.is_open else None

    def before_send(self, request: Any, **_: Any) -> AWSResponse:
        """Answer a request in place of the network."""
        return send(self._shortcut.engine, request, self._shortcut.scope)

    def _cut(self, client: Any) -> None:
        """Let the client use one address and one user agent. Where botocore has moved these, it is only slower."""
        if getattr(client, "_ruleset_resolver", None) is not None:
            client._ruleset_resolver = None
        creator = getattr(client, "_user_agent_creator", None)
        if creator is not None:
            agent = creator.to_string()
            creator.to_string = lambda: agent

    def _watch(self, events: Any) -> None:
        """Go the long way once somebody wants to hear of the exchange."""
        ours = (*EXCHANGE_EVENTS, "*")
        events.register = self._watched(events.register, ours)
        events.register_first = self._watched(events.register_first, ours)
        events.register_last = self._watched(events.register_last, (*ours, "before-call"))

    def _watched(self, register: Callable[..., None], closing: tuple[str, ...]) -> Callable[..., None]:
        def registering(event_name: str, handler: Any, *args: Any, **kwargs: Any) -> None:
            if not is_botocores(handler):
                self.registrations += 1
                if event_name.startswith(closing):
                    self.is_open = False
            register(event_name, handler, *args, **kwargs)

        return registering


def is_botocores(handler: Any) -> bool:
    """Whether a handler is botocore's or boto3's own: some are registered only after the client has been made."""
    module = getattr(handler, "__module__", None) or type(handler).__module__
    return str(module).partition(".")[0] in ("botocore", "boto3")
