"""Who is asking, and of which region: read from the request's signature.

A signature has to be there and well formed; whether it is right is not checked yet. Order of checks and texts: recorded
from the service.
"""

from __future__ import annotations

import base64
import re
import zlib
from urllib.parse import parse_qsl

from dynamometer.base.errors import (
    IncompleteSignatureException,
    InvalidSignatureException,
    MissingAuthenticationTokenException,
)

ALGORITHM = "AWS4-HMAC-SHA256"
_QUERY_PARTS = ("X-Amz-Algorithm", "X-Amz-Credential", "X-Amz-Date", "X-Amz-SignedHeaders", "X-Amz-Signature")
_ACCESS_KEY = re.compile(r"A(?:KI|SI)A[A-Z2-7]{16}")
_ACCOUNT = re.compile(r"\d{12}")
Headers = dict[bytes, bytes]


def scope(headers: Headers, query: str) -> tuple[str, str]:
    """Access key and region of a signed request. Raises the service's errors for a missing or broken signature."""
    authorization = headers.get(b"authorization", b"").decode("latin-1")
    parameters = dict(parse_qsl(query, keep_blank_values=True))
    in_query = "X-Amz-Algorithm" in parameters
    if authorization and in_query:
        raise InvalidSignatureException(
            "Found both 'X-Amz-Algorithm' as a query-string param and 'Authorization' as HTTP header."
        )
    if in_query:
        return _from_query(parameters)
    if not authorization.startswith("AWS4-"):
        raise MissingAuthenticationTokenException("Request is missing Authentication Token")
    return _from_header(authorization, headers)


def _from_query(parameters: dict[str, str]) -> tuple[str, str]:
    missing = [name for name in _QUERY_PARTS if not parameters.get(name)]
    if missing:
        texts = "".join(f"AWS query-string parameters must include '{name}'. " for name in missing)
        raise IncompleteSignatureException(f"{texts}Re-examine the query-string parameters.")
    _check_date(parameters["X-Amz-Date"])
    _check_algorithm(parameters["X-Amz-Algorithm"])
    return _check_credential(parameters["X-Amz-Credential"], parameters["X-Amz-Date"])


def _from_header(authorization: str, headers: Headers) -> tuple[str, str]:
    algorithm, _, rest = authorization.partition(" ")
    parts = dict(part.partition("=")[::2] for part in rest.replace(",", " ").split())
    missing = "".join(
        f"Authorization header requires '{name}' parameter. "
        for name in ("Credential", "Signature", "SignedHeaders")
        if not parts.get(name)
    )
    date = (headers.get(b"x-amz-date") or headers.get(b"date") or b"").decode("latin-1")
    if not date:
        missing += "Authorization header requires existence of either a 'X-Amz-Date' or a 'Date' header. "
    if missing:
        raise IncompleteSignatureException(f"{missing}Authorization={authorization}")
    if b"x-amz-date" in headers:
        _check_date(date)
    if "host" not in parts["SignedHeaders"].lower().split(";"):
        raise InvalidSignatureException("'Host' must be a 'SignedHeader' in the AWS Authorization.")
    _check_algorithm(algorithm)
    return _check_credential(parts["Credential"], date if b"x-amz-date" in headers else None)


def _check_date(date: str) -> None:
    if not re.fullmatch(r"\d{8}T\d{6}Z", date):
        raise IncompleteSignatureException(
            f"Date must be in ISO-8601 'basic format'. Got '{date}'. See http://en.wikipedia.org/wiki/ISO_8601"
        )


def _check_algorithm(algorithm: str) -> None:
    if algorithm != ALGORITHM:
        raise IncompleteSignatureException(f"Unsupported AWS 'algorithm': '{algorithm}' (only {ALGORITHM} for now). ")


def _check_credential(credential: str, date: str | None) -> tuple[str, str]:
    elements = credential.split("/")
    if len(elements) != 5:
        raise IncompleteSignatureException(
            "Credential must have exactly 5 slash-delimited elements, e.g. keyid/date/region/service/term, "
            f"got '{credential}'"
        )
    key, day, region, service, terminator = elements
    wrong = ""
    if not re.fullmatch(r"[a-z0-9-]{1,64}", region):
        wrong += f"Credential should be scoped to a valid region, not '{region}'. "
    if service != "dynamodb":
        wrong += "Credential should be scoped to correct service: 'dynamodb'. "
    if terminator != "aws4_request":
        wrong += f"Credential should be scoped with a valid terminator: 'aws4_request', not '{terminator}'. "
    if date is not None and day != date[:8]:
        wrong += (
            "Date in Credential scope does not match YYYYMMDD from ISO-8601 version of date from HTTP: "
            f"'{day}' != '{date[:8]}', from '{date}'."
        )
    if wrong:
        raise InvalidSignatureException(wrong)
    return key, region


def account_of(access_key: str) -> str:
    """The twelve-digit account that an access key belongs to.

    A key of the real form carries its account (base32 behind the prefix, as AWS's own GetAccessKeyInfo reads it).
    Twelve digits are an account themselves. Any other text, as in a test, stands for an account of its own.
    """
    if _ACCESS_KEY.fullmatch(access_key):
        number = int.from_bytes(base64.b32decode(access_key[4:])[:6], "big")
        return f"{(number & 0x7FFFFFFFFF80) >> 7:012d}"
    if _ACCOUNT.fullmatch(access_key):
        return access_key
    return f"{zlib.crc32(access_key.encode()):012d}"
