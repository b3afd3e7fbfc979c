"""Which index a Query or Scan reads, which attributes it gives back, and where it starts: the checks both share."""

from __future__ import annotations

from typing import Any

from dynamometer.base.errors import ValidationException
from dynamometer.engine.catalog import Index, Table
from dynamometer.engine.codec import KEY_HEAD, KEY_MISMATCH, UNUSUAL, IndexKeyError, Item, explain_lookup_key
from dynamometer.engine.requests import Body
from dynamometer.model import values
from dynamometer.model.schema import KeyAttribute

INVALID_START = "The provided starting key is invalid"
NOT_SCANNED = "Scan operation not supported on this index type"
"""What a Scan, and a SELECT, says of a vector index (measured)."""


def index_of(table: Table, body: Body, verb: str = "Scan") -> Index | None:
    """The index that a request names. Raises ValidationException for an unknown one or a strong global read.

    And for a vector index: of that and a strong read, a Query tells the latter, a Scan the former (measured).
    """
    name = body.get("IndexName")
    if name is None:
        return None
    index = table.indexes.get(name)
    if index is None or index.status == "DELETING":
        raise ValidationException(f"The table does not have the specified index: {name}")
    if index.schema.is_global:
        if index.schema.vector is not None and verb == "Scan":
            raise ValidationException(NOT_SCANNED)
        if body.get("ConsistentRead"):
            raise ValidationException("Consistent reads are not supported on global secondary indexes")
        if index.schema.vector is not None:
            raise ValidationException("Query operation not supported on this index type.")
        if index.backfilling:
            raise ValidationException(f"Cannot read from backfilling global secondary index: {name}")
    return index


def check_select(body: Body, verb: str) -> None:
    """Raise when Select does not go with the projection or the index that the request has."""
    select = body.get("Select")
    if select is None:
        return
    projecting = next((name for name in ("AttributesToGet", "ProjectionExpression") if name in body), None)
    if select == "SPECIFIC_ATTRIBUTES":
        if projecting is None:
            raise ValidationException(
                "Must specify the AttributesToGet or ProjectionExpression when choosing to get SPECIFIC_ATTRIBUTES"
            )
        return
    if projecting is not None:
        raise ValidationException(f"Cannot specify the {projecting} when choosing to get {_get_words(select)}")
    if select == "ALL_PROJECTED_ATTRIBUTES" and "IndexName" not in body:
        raise ValidationException(f"ALL_PROJECTED_ATTRIBUTES can be used only when {verb} using an IndexName")


def _get_words(select: str) -> str:
    return "only the Count" if select == "COUNT" else select


def check_projection(table: Table, index: Index | None, body: Body, projection: Any) -> bool:
    """Whether whole items have to be fetched from the table. Raises when a global index can't give what is wanted."""
    if index is None or index.schema.projected is None:
        return False
    wants_all = body.get("Select") == "ALL_ATTRIBUTES"
    missing: list[str] = []
    if projection is not None:
        missing = sorted(name for name in projection.attributes if name not in index.schema.projected)
    if not wants_all and not missing:
        return False
    if not index.schema.is_global:
        return True
    if wants_all:
        raise ValidationException(
            "One or more parameter values were invalid: Select type ALL_ATTRIBUTES is not supported for global "
            f"secondary index {index.schema.name} because its projection type is not ALL"
        )
    raise ValidationException(
        f"One or more parameter values were invalid: Global secondary index {index.schema.name} does not project "
        f"[{', '.join(missing)}]"
    )


def normalise_start_key(body: Body) -> Item | None:
    """The ExclusiveStartKey with its values normalised. Raises ValidationException."""
    start_key: Item | None = body.get("ExclusiveStartKey")
    if start_key is not None:
        try:
            values.normalize_item(start_key)
        except ValidationException as error:
            raise ValidationException(f"{INVALID_START}: {error.message}") from None
    return start_key


def _attributes(table: Table, index: Index | None) -> dict[str, KeyAttribute]:
    attributes = {attribute.name: attribute for attribute in table.key.attributes}
    if index is not None:
        attributes |= {attribute.name: attribute for attribute in index.schema.key.attributes}
    return attributes


def start_position(table: Table, index: Index | None, start_key: Item, detail: bool) -> bytes:
    """The storage key of an ExclusiveStartKey. `detail`: say why other attributes do not fit, as a table's Scan does.

    Raises ValidationException.
    """
    with_reason = f"{INVALID_START}: {KEY_MISMATCH}"
    attributes = _attributes(table, index)
    if start_key.keys() != attributes.keys():
        raise ValidationException(with_reason if detail else INVALID_START)
    if any(attribute.type not in start_key[name] for name, attribute in attributes.items()):
        raise ValidationException(with_reason)
    base_item = {name: start_key[name] for name in table.key.names}
    try:
        base_key = table.encode_key(base_item)
        if index is None:
            return base_key
        position = index.codec.position(start_key)
    except UNUSUAL:
        try:
            explain_lookup_key(table.key, base_item)
        except ValidationException as error:
            raise ValidationException(f"{INVALID_START}: {error.message}") from None
        raise
    except IndexKeyError as error:
        raise ValidationException(f"{INVALID_START}: {error.on_put().message}") from None
    assert position is not None, "all key attributes of the index are there"
    return index.codec.prefix + position + base_key[KEY_HEAD:]
