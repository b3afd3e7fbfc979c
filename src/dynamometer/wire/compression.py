"""Compressed requests and answers: gzip and deflate, as pure functions.

What is accepted, what is refused, and which encoding a list of preferences leads to, follows the service where it was
measured (public conformance suites record it), quirks included: in Accept-Encoding the first `q=` found anywhere behind
the name counts, one that is no number counts as 1, and `identity` is never preferred.
"""

from __future__ import annotations

import re
import zlib
from functools import lru_cache

from dynamometer.base.errors import InternalServerError

ENCODINGS = ("gzip", "deflate")
"""By what `*` prefers."""

_WINDOW_BITS = {"gzip": 16 + zlib.MAX_WBITS, "deflate": zlib.MAX_WBITS}
_LEVEL = 1
"""An answer is compressed on the thread that serves everybody: JSON shrinks nearly as far in a third of the time."""

_QUALITY = re.compile(r"-?(\d+\.?\d*|\.\d+)")


def decode(encoding: bytes, body: bytes, bytes_max: int) -> bytes:
    """The body of a request with this Content-Encoding.

    Raises InternalServerError where it can't be decoded, is cut off, or would grow over `bytes_max`: the service calls
    all of them its own fault (measured on the service).
    """
    name = encoding.decode("latin-1").strip().lower()
    if name == "identity":
        return body
    if name not in _WINDOW_BITS:
        raise InternalServerError(f"The content encoding {name} is not supported.")
    parts: list[bytes] = []
    room = bytes_max
    while True:
        part, body = _decode_member(name, body, room)
        parts.append(part)
        room -= len(part)
        if not body:
            return parts[0] if len(parts) == 1 else b"".join(parts)
        if name != "gzip":
            raise InternalServerError("The deflated body has bytes behind its end.")


def _decode_member(name: str, body: bytes, room: int) -> tuple[bytes, bytes]:
    """One compressed stream, and what follows it: gzip streams may follow each other (RFC 1952, 2.2)."""
    decoder = zlib.decompressobj(_WINDOW_BITS[name])
    try:
        part = decoder.decompress(body, room + 1)
    except zlib.error:
        raise InternalServerError(f"The body is not {name} data.") from None
    if len(part) > room:
        raise InternalServerError("The decompressed body is too large.")
    if not decoder.eof:
        raise InternalServerError(f"The {name} data of the body is cut off.")
    return part, decoder.unused_data


def encode(encoding: str, body: bytes) -> bytes:
    """The body of an answer in an encoding that `choose_encoding` gave."""
    encoder = zlib.compressobj(_LEVEL, zlib.DEFLATED, _WINDOW_BITS[encoding])
    return encoder.compress(body) + encoder.flush()


@lru_cache(maxsize=256)
def choose_encoding(accept_encoding: bytes) -> str | None:
    """The encoding that an Accept-Encoding header asks for, or None: the most preferred, of equals the first named."""
    named: dict[str, float] = {}
    for entry in accept_encoding.decode("latin-1").lower().split(","):
        name, _, parameters = entry.partition(";")
        name = name.strip()
        named[name] = max(named.get(name, 0.0), _quality(parameters))
    others = named.get("*", 0.0)
    wanted = {name: quality for name, quality in named.items() if name in ENCODINGS}
    for name in ENCODINGS:
        wanted.setdefault(name, others)
    best = max(wanted, key=wanted.__getitem__)
    return best if wanted[best] > 0 else None


def _quality(parameters: str) -> float:
    """From 0 to 1."""
    _, found, rest = parameters.partition("q=")
    text = rest.partition(";")[0].strip()
    if not found or not _QUALITY.fullmatch(text):
        return 1.0
    return min(max(float(text), 0.0), 1.0)
