"""Every family of keys in the store, on one page.

    family   key                                                                    value
    format   00 "format"                                                            the format version, ASCII
    serial   00 "serial"                                                            counters [tables, backups ever made]
    catalog  "c" account "/" region "/" table name                                  the table's record, JSON
    token    "i" account "/" region "/" operation "/" token                         a finished transaction, JSON
    expiry   "j" microseconds:8 token key                                           (empty) when a token expires
    stream   "e" account "/" region "/" table name "/" label                        a stream's record, JSON
    log      "s" table:4 sequence:8                                                 a change, see `log`
    due      "x" table:4 seconds:8 place                                            (empty) when an item expires
    backup   "b" account "/" region "/" table name "/" label                        a backup's record, JSON
    kept     "k" backup:4 place                                                     an item of a backup, as in data
    counters "n" table:4 index:2                                                    counters [items, bytes]
    sizes    "z" table:4 hash:8 partition key                                       counters [bytes] of a collection
    data     "d" table:4 index:2 hash:8 length:2 partition key, sort key            version, item size, item as JSON
    (index)  ... the same, with each sort key attribute terminated and the table's own key behind it

Hash order is scan order: segments, pages and partitions are ranges of one ordered space. An item collection is the
range below one (hash, length, partition key).
"""

from __future__ import annotations

FORMAT_KEY = b"\x00format"
SERIAL_KEY = b"\x00serial"


def catalog_key(account: str, region: str, table: str) -> bytes:
    """The key of a table's record."""
    return f"c{account}/{region}/{table}".encode()


def catalog_range() -> tuple[bytes, bytes]:
    """Bounds of all table records."""
    return b"c", b"d"


def token_key(account: str, region: str, operation: str, token: str) -> bytes:
    """The key under which a transaction's idempotency token is kept."""
    return f"i{account}/{region}/{operation}/{token}".encode()


def token_expiry_key(expires: float, key: bytes) -> bytes:
    """The key that finds a token by the time it expires, in seconds since the epoch."""
    return b"j" + int(expires * 1_000_000).to_bytes(8, "big") + key


def token_expiry_range(now: float) -> tuple[bytes, bytes]:
    """Bounds of the tokens that have expired."""
    return b"j", b"j" + int(now * 1_000_000).to_bytes(8, "big")


def expired_token(expiry_key: bytes) -> bytes:
    """The token's own key."""
    return expiry_key[9:]


def counters_key(table: int, index: int) -> bytes:
    """The key of an index's item count and size (index 0: the table's own)."""
    return b"n" + table.to_bytes(4, "big") + index.to_bytes(2, "big")


def sizes_prefix(table: int) -> bytes:
    """What every item collection size of a table begins with; hash and partition key follow."""
    return b"z" + table.to_bytes(4, "big")


def stream_key(account: str, region: str, table: str, label: str) -> bytes:
    """The key of a stream's record."""
    return f"e{account}/{region}/{table}/{label}".encode()


def stream_range() -> tuple[bytes, bytes]:
    """Bounds of all stream records."""
    return b"e", b"f"


def log_prefix(table: int) -> bytes:
    """What every entry of a table's change log begins with."""
    return b"s" + table.to_bytes(4, "big")


def log_key(table: int, sequence: int) -> bytes:
    """The key of one entry of a change log."""
    return b"s" + table.to_bytes(4, "big") + sequence.to_bytes(8, "big")


def log_sequence(key: bytes) -> int:
    """The sequence number in an entry's key."""
    return int.from_bytes(key[5:13], "big")


def log_table(key: bytes) -> int:
    """The table number in an entry's key."""
    return int.from_bytes(key[1:5], "big")


def log_range() -> tuple[bytes, bytes]:
    """Bounds of all change logs."""
    return b"s", b"t"


def due_range() -> tuple[bytes, bytes]:
    """Bounds of all expiries."""
    return b"x", b"y"


def due_prefix(table: int) -> bytes:
    """What every expiry of a table begins with."""
    return b"x" + table.to_bytes(4, "big")


def due_key(table: int, seconds: int, place: bytes) -> bytes:
    """The key that finds an item by the second in which it expires; `place` is its key without its data prefix."""
    return b"x" + table.to_bytes(4, "big") + seconds.to_bytes(8, "big") + place


def backup_key(account: str, region: str, table: str, label: str) -> bytes:
    """The key of a backup's record. `label`: the last part of its ARN, which begins with its moment."""
    return f"b{account}/{region}/{table}/{label}".encode()


def backups_prefix(account: str, region: str, table: str | None = None) -> bytes:
    """What the keys of all backups of a world begin with, or those of one table."""
    return f"b{account}/{region}/{'' if table is None else f'{table}/'}".encode()


def backup_range() -> tuple[bytes, bytes]:
    """Bounds of all backup records."""
    return b"b", b"c"


def kept_prefix(backup: int) -> bytes:
    """What every item of a backup begins with; its place follows."""
    return b"k" + backup.to_bytes(4, "big")


def kept_range() -> tuple[bytes, bytes]:
    """Bounds of the items of all backups."""
    return b"k", b"l"


def data_prefix(table: int, index: int) -> bytes:
    """What every entry of an index begins with; hash and keys follow."""
    return b"d" + table.to_bytes(4, "big") + index.to_bytes(2, "big")


def successor(prefix: bytes) -> bytes:
    """The smallest key greater than every key that begins with `prefix`."""
    stripped = prefix.rstrip(b"\xff")
    if not stripped:
        raise ValueError("no key is greater than all that begin with this prefix")
    return stripped[:-1] + bytes([stripped[-1] + 1])
