"""The service's limits, each with its unit. Sources: the developer guide's "Quotas" and "Constraints" pages."""

from __future__ import annotations

KIB = 1024
MIB = 1024 * KIB
GIB = 1024 * MIB

ITEM_BYTES_MAX = 400 * KIB
PARTITION_KEY_BYTES_MAX = 2048
SORT_KEY_BYTES_MAX = 1024
NESTING_LEVELS_MAX = 32

PAGE_BYTES = MIB
"""A Query or Scan page ends with the item that reaches this."""

BATCH_GET_KEYS_MAX = 100
BATCH_GET_BYTES_MAX = 16 * MIB
SEARCH_BYTES_MAX = 16 * MIB
"""The results of one SearchVectors."""
BATCH_WRITE_REQUESTS_MAX = 25
TRANSACTION_BYTES_MAX = 4 * MIB
TOKEN_SECONDS = 10 * 60
"""How long a transaction's ClientRequestToken is remembered after it finished."""

REQUEST_BODY_BYTES_MAX = 16 * MIB
REQUEST_HEADER_BYTES_MAX = 16 * KIB
RESPONSE_COMPRESSION_BYTES_MIN = 4 * KIB

ITEM_COLLECTION_BYTES_MAX = 10 * GIB

assert PARTITION_KEY_BYTES_MAX < 1 << 16, "a partition key's length is kept in two bytes"
