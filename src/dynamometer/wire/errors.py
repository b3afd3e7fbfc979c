"""The only place that turns an error into the service's JSON: name space, member names, status.

Sources: the service model, the developer guide's "Error handling with DynamoDB", and answers recorded from the service.
"""

from __future__ import annotations

from typing import Any

import orjson

from dynamometer.base.errors import (
    AccessDeniedException,
    IdempotentParameterMismatchException,
    IncompleteSignatureException,
    InvalidSignatureException,
    MissingAuthenticationTokenException,
    SerializationException,
    ServiceError,
    ThrottlingException,
    TransactionCanceledException,
    TransactionInProgressException,
    UnknownOperationException,
    UnrecognizedClientException,
    ValidationException,
)

_SERVICE = "com.amazonaws.dynamodb.v20120810#"
_CORAL = "com.amazon.coral.service#"
_VALIDATE = "com.amazon.coral.validate#"
_AVAILABILITY = "com.amazon.coral.availability#"

_NAME_SPACES: dict[type[ServiceError], str] = {
    AccessDeniedException: _CORAL,
    IncompleteSignatureException: _CORAL,
    InvalidSignatureException: _CORAL,
    MissingAuthenticationTokenException: _CORAL,
    SerializationException: _CORAL,
    ThrottlingException: _AVAILABILITY,
    UnknownOperationException: _CORAL,
    UnrecognizedClientException: _CORAL,
    ValidationException: _VALIDATE,
}
_CAPITAL_MESSAGE = (
    IdempotentParameterMismatchException,
    SerializationException,
    TransactionCanceledException,
    TransactionInProgressException,
)
"""Errors whose text is a member named `Message`."""


def encode(error: ServiceError) -> tuple[int, bytes]:
    """HTTP status and body of an error."""
    kind = type(error)
    body: dict[str, Any] = {"__type": _NAME_SPACES.get(kind, _SERVICE) + kind.__name__}
    if error.message is not None:
        body["Message" if isinstance(error, _CAPITAL_MESSAGE) else "message"] = error.message
    return error.status, orjson.dumps(body | error.extra)
