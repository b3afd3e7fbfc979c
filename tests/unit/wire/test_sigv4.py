"""Signatures in form: what is read from them, and what is said of broken ones. Texts recorded from the service."""

from __future__ import annotations

import pytest

from dynamometer.base.errors import ServiceError
from dynamometer.wire.sigv4 import account_of, scope

GOOD = "AWS4-HMAC-SHA256 Credential=AK/20261129/eu-west-1/dynamodb/aws4_request, SignedHeaders=host, Signature=0"
DATE = {b"x-amz-date": b"20261129T120000Z"}


def headers(authorization: str, **more: bytes) -> dict[bytes, bytes]:
    return {b"authorization": authorization.encode()} | DATE | {name.encode(): value for name, value in more.items()}


def test_the_scope_names_key_and_region() -> None:
    assert scope(headers(GOOD), "") == ("AK", "eu-west-1")


def test_a_signature_may_be_in_the_query() -> None:
    query = (
        "X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=AK%2F20261129%2Feu-west-1%2Fdynamodb%2Faws4_request"
        "&X-Amz-Date=20261129T120000Z&X-Amz-SignedHeaders=host&X-Amz-Signature=0"
    )
    assert scope({}, query) == ("AK", "eu-west-1")


@pytest.mark.parametrize(
    ("authorization", "code", "message"),
    [
        ("", "MissingAuthenticationTokenException", "Request is missing Authentication Token"),
        ("Basic abc", "MissingAuthenticationTokenException", "Request is missing Authentication Token"),
        (
            "AWS4-HMAC-SHA256 SignedHeaders=host, Signature=0",
            "IncompleteSignatureException",
            "Authorization header requires 'Credential' parameter. "
            "Authorization=AWS4-HMAC-SHA256 SignedHeaders=host, Signature=0",
        ),
        (
            GOOD.replace("SignedHeaders=host", "SignedHeaders=date"),
            "InvalidSignatureException",
            "'Host' must be a 'SignedHeader' in the AWS Authorization.",
        ),
        (
            GOOD.replace("SHA256", "SHA25"),
            "IncompleteSignatureException",
            "Unsupported AWS 'algorithm': 'AWS4-HMAC-SHA25' (only AWS4-HMAC-SHA256 for now). ",
        ),
        (
            GOOD.replace("/aws4_request", ""),
            "IncompleteSignatureException",
            "Credential must have exactly 5 slash-delimited elements, e.g. keyid/date/region/service/term, "
            "got 'AK/20261129/eu-west-1/dynamodb'",
        ),
        (
            GOOD.replace("/dynamodb/aws4_request", "/s3/aws4"),
            "InvalidSignatureException",
            "Credential should be scoped to correct service: 'dynamodb'. "
            "Credential should be scoped with a valid terminator: 'aws4_request', not 'aws4'. ",
        ),
        (
            GOOD.replace("20261129", "20261128"),
            "InvalidSignatureException",
            "Date in Credential scope does not match YYYYMMDD from ISO-8601 version of date from HTTP: "
            "'20261128' != '20261129', from '20261129T120000Z'.",
        ),
    ],
)
def test_a_broken_signature_is_explained(authorization: str, code: str, message: str) -> None:
    with pytest.raises(ServiceError) as refused:
        scope(headers(authorization), "")
    assert (type(refused.value).__name__, refused.value.message) == (code, message)


def test_a_date_is_needed_and_has_one_form() -> None:
    with pytest.raises(ServiceError, match="existence of either a 'X-Amz-Date' or a 'Date' header"):
        scope({b"authorization": GOOD.encode()}, "")
    with pytest.raises(ServiceError, match=r"Date must be in ISO-8601 'basic format'. Got '201'"):
        scope(headers(GOOD) | {b"x-amz-date": b"201"}, "")


def test_header_and_query_do_not_go_together() -> None:
    with pytest.raises(ServiceError, match="Found both 'X-Amz-Algorithm'"):
        scope(headers(GOOD), "X-Amz-Algorithm=AWS4-HMAC-SHA256")


@pytest.mark.parametrize(
    ("access_key", "account"),
    [
        ("ASIAQNZGKIQY56JQ7WML", "029608264753"),  # the example known from public write-ups of the encoding
        ("123456789012", "123456789012"),
    ],
)
def test_a_key_tells_its_account(access_key: str, account: str) -> None:
    assert account_of(access_key) == account


def test_any_other_key_is_an_account_of_its_own() -> None:
    assert account_of("local") == account_of("local") != account_of("test")
    assert len(account_of("local")) == 12
    assert account_of("local").isdigit()
