"""Key attributes as bytes whose order is the service's order.

    S   UTF-8                       ordered by its bytes
    B   the decoded bytes           ordered unsigned
    N   `numbers.encode`            ordered by value; no encoding is the beginning of another

A sort key is followed by other bytes in the store, so strings and binaries are *terminated*: every 00 inside becomes
00 FF and 00 00 ends the value. 00 00 sorts below 00 FF and below every other byte that could follow, so the order
stays, and no terminated value is the beginning of another.

A partition is found by hash: 8 bytes of XXH3 of its key, then the key with its length, so that two keys of one hash
stay apart.
"""

from __future__ import annotations

from binascii import a2b_base64
from collections.abc import Callable, Sequence
from typing import Any

import xxhash

from dynamometer.base import limits
from dynamometer.model import numbers

TERMINATOR = b"\x00\x00"

digest: Callable[[bytes], bytes] = xxhash.xxh3_64_digest
"""Eight bytes, big-endian, of the hash that spreads partition keys."""


def _encode_binary(text: str) -> bytes:
    return a2b_base64(text, strict_mode=True)


ENCODERS: dict[str, Callable[[Any], bytes]] = {"S": str.encode, "B": _encode_binary, "N": numbers.encode}
"""By key type: the payload of a normalised AttributeValue to raw bytes."""


def terminate(raw: bytes) -> bytes:
    """Make a string or binary self-terminating, keeping its order."""
    if 0 in raw:
        raw = raw.replace(b"\x00", b"\x00\xff")
    return raw + TERMINATOR


def open_ended(raw: bytes) -> bytes:
    """What every terminated value that begins with `raw` begins with. Raises KeyTooLong beyond 1,024 bytes."""
    if len(raw) > limits.SORT_KEY_BYTES_MAX:
        raise SortKeyTooLong
    return raw.replace(b"\x00", b"\x00\xff")


def sort_bytes(key_type: str, payload: Any) -> bytes:
    """A sort key value, ordered and self-terminating. Raises KeyTooLong beyond 1,024 bytes."""
    raw = ENCODERS[key_type](payload)
    if key_type == "N":
        return raw
    if len(raw) > limits.SORT_KEY_BYTES_MAX:
        raise SortKeyTooLong
    return terminate(raw)


def sort_key_bytes(key_types: Sequence[str], payloads: Sequence[Any]) -> bytes:
    """The values of a sort key, which several attributes may make up, one behind the other.

    Raises KeyTooLong when they are together over 1,024 bytes (the service's text speaks of an aggregated size).
    """
    if len(payloads) == 1:
        return sort_bytes(key_types[0], payloads[0])
    raws = [ENCODERS[key_type](payload) for key_type, payload in zip(key_types, payloads, strict=True)]
    if sum(map(len, raws)) > limits.SORT_KEY_BYTES_MAX:
        raise SortKeyTooLong
    ends = [raw if key_type == "N" else terminate(raw) for key_type, raw in zip(key_types, raws, strict=True)]
    return b"".join(ends)


def partition_bytes(raws: Sequence[bytes]) -> bytes:
    """Hash, length and value of a partition key, which several attributes may make up together."""
    raw = raws[0] if len(raws) == 1 else b"".join([len(part).to_bytes(2, "big") + part for part in raws])
    return digest(raw) + len(raw).to_bytes(2, "big") + raw


class KeyTooLong(ValueError):
    """A key value is longer than the service allows."""


class PartitionKeyTooLong(KeyTooLong):
    """Over 2,048 bytes."""


class SortKeyTooLong(KeyTooLong):
    """Over 1,024 bytes."""
