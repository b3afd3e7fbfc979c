"""Every family of keys in the store, on one page.

    family   key                                                                    value
    serial   00 "serial"                                                            counters [tables, backups ever made]
    catalog  "c" account "/" region "/" table name                                  the table's record, JSON
    token    "i" account "/" region "/" operation "/" token                         a finished transaction, JSON
    expiry   "j" microseconds:8 token key                                           (empty) when a token expires
    stream   "e" account "/" region "/" table name "/" label                        a stream's record, JSON
    cursor   "q" table:4 sequence:8                                                 a delivery to Kinesis, JSON
    log      "s" table:4 sequence:8                                                 a change, see `log`
    due      "x" table:4 seconds:8 place                                            (empty) when an item expires
    backup   "b" account "/" region "/" table name "/" label                        a backup's record, JSON
    kept     "k" backup:4 place                                                     an item of a backup, as in data
    transfer "t" account "/" region "/" kind "/" label                              an export, import or bulk put, JSON
    spool    "u" account "/" region "/" kind "/" label "/" part "/" number:8        what its job keeps beside that
    version  "v" table:4 place                                                      an item's last write, see `versions`
    grave    "w" table:4 sequence:8 place                                           (empty) a deletion in a replica
    position "p" table:4 kind:1 region                                              how far a replica has come, JSON
    conflict "f" account "/" table name "/" sequence:8 region "/" place             an update that was lost, JSON
    farewell "g" account "/" table name "/" region "/" peer                         what a peer is yet to be told, JSON
    counters "n" table:4 index:2                                                    counters [items, bytes]
    sizes    "z" table:4 hash:8 partition key                                       counters [bytes] of a collection
    data     "d" table:4 index:2 hash:8 length:2 partition key, sort key            version, item size, item as JSON
    (index)  ... the same, with each sort key attribute terminated and the table's own key behind it

Hash order is scan order: segments, pages and partitions are ranges of one ordered space. An item collection is the
range below one (hash, length, partition key).
"""

from __future__ import annotations

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


def cursor_key(table: int, start: int) -> bytes:
    """The key of what is kept of a delivery to Kinesis that begins at a change."""
    return b"q" + table.to_bytes(4, "big") + start.to_bytes(8, "big")


def cursor_range() -> tuple[bytes, bytes]:
    """Bounds of all deliveries."""
    return b"q", b"r"


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


def transfer_key(account: str, region: str, kind: str, label: str) -> bytes:
    """The key of the record of an export, import or bulk put."""
    return f"t{account}/{region}/{kind}/{label}".encode()


def transfer_range() -> tuple[bytes, bytes]:
    """Bounds of the records of all exports, imports and bulk puts."""
    return b"t", b"u"


def spool_key(account: str, region: str, kind: str, label: str, part: str, number: int) -> bytes:
    """The key of a piece of what a transfer's job keeps for itself."""
    return f"u{account}/{region}/{kind}/{label}/{part}/".encode() + number.to_bytes(8, "big")


def version_prefix(table: int) -> bytes:
    """What the versions of a replica's items begin with; their places follow."""
    return b"v" + table.to_bytes(4, "big")


def version_range() -> tuple[bytes, bytes]:
    """Bounds of the versions of all replicas."""
    return b"v", b"w"


def grave_prefix(table: int) -> bytes:
    """What the graves of a replica begin with."""
    return b"w" + table.to_bytes(4, "big")


def grave_key(table: int, sequence: int, place: bytes) -> bytes:
    """The key that finds the version of a deleted item by the time of its deletion."""
    return b"w" + table.to_bytes(4, "big") + sequence.to_bytes(8, "big") + place


def grave_parts(key: bytes) -> tuple[int, bytes]:
    """Sequence number and place in a grave's key."""
    return int.from_bytes(key[5:13], "big"), key[13:]


def grave_range() -> tuple[bytes, bytes]:
    """Bounds of all graves."""
    return b"w", b"x"


def positions_prefix(table: int) -> bytes:
    """What all positions of a replica begin with."""
    return b"p" + table.to_bytes(4, "big")


def position_key(table: int, kind: bytes, region: str) -> bytes:
    """The key of a position. `kind`: of what was sent to the region, of what came from it, or of its filling."""
    return b"p" + table.to_bytes(4, "big") + kind + region.encode()


def position_range() -> tuple[bytes, bytes]:
    """Bounds of all positions."""
    return b"p", b"q"


def conflict_key(account: str, table: str, sequence: int, region: str, place: bytes) -> bytes:
    """The key of a lost update: two regions that notice the same loss write the same key."""
    return f"f{account}/{table}/".encode() + sequence.to_bytes(8, "big") + region.encode() + b"/" + place


def conflicts_prefix(account: str, table: str) -> bytes:
    """What the lost updates of a global table begin with."""
    return f"f{account}/{table}/".encode()


def conflict_range() -> tuple[bytes, bytes]:
    """Bounds of all lost updates."""
    return b"f", b"g"


def farewell_key(account: str, table: str, region: str, peer: str) -> bytes:
    """The key of what the peer of a region is yet to be told about a table that is gone."""
    return f"g{account}/{table}/{region}/{peer}".encode()


def farewell_range() -> tuple[bytes, bytes]:
    """Bounds of all farewells."""
    return b"g", b"h"


def data_prefix(table: int, index: int) -> bytes:
    """What every entry of an index begins with; hash and keys follow."""
    return b"d" + table.to_bytes(4, "big") + index.to_bytes(2, "big")


def successor(prefix: bytes) -> bytes:
    """The smallest key greater than every key that begins with `prefix`."""
    stripped = prefix.rstrip(b"\xff")
    if not stripped:
        raise ValueError("no key is greater than all that begin with this prefix")
    return stripped[:-1] + bytes([stripped[-1] + 1])
