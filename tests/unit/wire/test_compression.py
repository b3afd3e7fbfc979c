"""Compressed requests and answers. The rows about Accept-Encoding were measured on the service by others."""

from __future__ import annotations

import gzip
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynamometer.base.errors import InternalServerError
from dynamometer.wire.compression import ENCODINGS, choose_encoding, decode, encode

LIMIT = 1 << 20
BODY = b'{"TableName":"t"}'


@given(st.sampled_from(ENCODINGS), st.binary(max_size=5000))
def test_what_is_encoded_decodes_to_itself(encoding: str, body: bytes) -> None:
    assert decode(encoding.encode(), encode(encoding, body), LIMIT) == body


def test_encodings_are_those_of_the_standard_library() -> None:
    assert gzip.decompress(encode("gzip", BODY)) == BODY
    assert zlib.decompress(encode("deflate", BODY)) == BODY


def test_gzip_streams_may_follow_each_other() -> None:
    assert decode(b"gzip", gzip.compress(BODY[:5]) + gzip.compress(BODY[5:]), LIMIT) == BODY


@pytest.mark.parametrize("encoding", [b"gzip", b" GZip ", b"identity"])
def test_the_name_is_read_loosely(encoding: bytes) -> None:
    assert decode(encoding, BODY if encoding == b"identity" else gzip.compress(BODY, mtime=0), LIMIT) == BODY


@pytest.mark.parametrize(
    ("encoding", "body"),
    [
        (b"garbage", BODY),
        (b"gzip", BODY),
        (b"gzip", b""),
        (b"gzip", gzip.compress(BODY, mtime=0)[:-1]),
        (b"gzip", gzip.compress(BODY, mtime=0) + b"junk"),
        (b"gzip", zlib.compress(BODY)),
        (b"deflate", BODY),
        (b"deflate", b""),
        (b"deflate", zlib.compress(BODY)[:-1]),
        (b"deflate", zlib.compress(BODY[:5]) + zlib.compress(BODY[5:])),
    ],
)
def test_what_cannot_be_decoded_is_an_internal_error(encoding: bytes, body: bytes) -> None:
    with pytest.raises(InternalServerError):
        decode(encoding, body, LIMIT)


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_a_body_may_not_grow_over_the_limit(encoding: str) -> None:
    assert decode(encoding.encode(), encode(encoding, b" " * 1000), 1000) == b" " * 1000
    with pytest.raises(InternalServerError):
        decode(encoding.encode(), encode(encoding, b" " * 1001), 1000)


def test_the_limit_is_for_all_streams_together() -> None:
    with pytest.raises(InternalServerError):
        decode(b"gzip", gzip.compress(b" " * 600) * 2, 1000)


@pytest.mark.parametrize(
    ("header", "chosen"),
    [
        ("identity", None),
        ("", None),
        ("br", None),
        ("zstd", None),
        ("x-gzip", None),
        ("gzip", "gzip"),
        ("deflate", "deflate"),
        ("gzip, deflate", "gzip"),
        ("br, identity, deflate, gzip", "deflate"),
        ("GZIP, identity", "gzip"),
        ("dog, gzip ,, cat", "gzip"),
        ("gzip;q=0.8, deflate;q=0.5", "gzip"),
        ("br, gzip;q=0, deflate; q = 0.5 , identity;q=0", "deflate"),
        ("*", "gzip"),
        ("*, deflate;q=0.5", "gzip"),
        ("*, deflate", "deflate"),
        ("*, identity", "gzip"),
        ("*, gzip;q=0.5", "deflate"),
        ("gzip ;q=0", None),
        ("identity;q=0", None),
        ("*;q=0", None),
        ("*;q=0.5,identity", "gzip"),
        ("gzip;q=0.5,identity;q=0.8", "gzip"),
        ("br;q=0.8,identity;q=0.5,*;q=0", None),
        ('"gzip"', None),
        ("gzip br", None),
        ("gzip:q=1", None),
        ("deflate;q=0.5, gzip;q=31", "gzip"),
        ("gzip;q=31,deflate;q=51", "gzip"),
        ("deflate;q=0.5, gzip;q=0.2", "deflate"),
        ("deflate;q=0.5, gzip;q=1;q=0.2", "gzip"),
        ("deflate;q=0.5,gzip;q=0.", "deflate"),
        ("deflate;q=0.5,gzip;q=0.x", "gzip"),
        ("deflate;q=0.5,gzip;q=0. x", "gzip"),
        ("deflate;q=-0.5,gzip;q=0.2", "gzip"),
        ("gzip;q= 0;q=1", None),
        ("gzip;q =0;q=1", "gzip"),
        ("gzip; q=0;q=1", None),
        ("gzip;nq=0;q=1", None),
        ("gzip;q=0, gzip;q=1, gzip;q=0", "gzip"),
        ("br,identity;q=0.5,gzip;q=0.0001", "gzip"),
    ],
)
def test_accept_encoding(header: str, chosen: str | None) -> None:
    assert choose_encoding(header.encode()) == chosen
