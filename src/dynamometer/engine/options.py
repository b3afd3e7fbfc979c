"""The parts of a table that have nothing to do with its items: stream, encryption, class, tags."""

from __future__ import annotations

import re
import uuid
from collections.abc import Container, Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

from dynamometer.base.errors import ValidationException
from dynamometer.engine.records import Stream, TableRecord
from dynamometer.engine.schemas import invalid

Body = dict[str, Any]

TABLE_CLASSES = ("STANDARD", "STANDARD_INFREQUENT_ACCESS")
TAGS_MAX = 50
TAG_KEY_MAX = 128
TAG_VALUE_MAX = 256
TAGS_BYTES_MAX = 10 * 1024
"""Of all tags of a table together (developer guide: tagging)."""
_TAG_TEXT = re.compile(r"[\w\s+\-=.:/@]*")
"""Letters, digits and spaces of any script, and + - = . _ : / @ (measured on the service)."""


def new_stream(specification: Body | None, now: float, labels: Container[str]) -> Stream | None:
    """The stream of a new table. `labels`: those that are taken. Raises ValidationException."""
    if specification is None:
        return None
    view_type = specification.get("StreamViewType")
    if specification["StreamEnabled"]:
        if view_type is None:
            raise invalid("Table is being created with a stream enabled, UpdateViewType is required")
        return Stream(stream_label(now, labels), view_type, True)
    if view_type is not None:
        raise invalid("Table is being created with a stream disabled, UpdateViewType should not be specified")
    return None


def change_stream(record: TableRecord, specification: Body, now: float, labels: Container[str]) -> None:
    """Enable or disable a table's stream. `labels`: those that are taken. Raises ValidationException."""
    view_type, is_enabled = specification.get("StreamViewType"), record.stream is not None and record.stream.enabled
    if specification["StreamEnabled"]:
        if view_type is None:
            raise invalid("If stream is being enabled then UpdateViewType is required")
        if is_enabled:
            raise ValidationException(f"Table already has an enabled stream: TableName: {record.name}")
        record.stream = Stream(stream_label(now, labels), view_type, True)
        return
    if view_type is not None:
        raise invalid("If stream is being disabled, then UpdateViewType must not be specified")
    if record.stream is None or not is_enabled:
        raise ValidationException(f"Table has no stream to disable: TableName: {record.name}")
    record.stream.enabled = False


def stream_label(now: float, labels: Container[str]) -> str:
    """The name of a stream: the moment it was enabled, or the first one after it that is no other stream's name."""
    moment = datetime.fromtimestamp(now, UTC)
    while (label := moment.strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3]) in labels:
        moment += timedelta(milliseconds=1)
    return label


def encryption_key(specification: Body | None, account: str, region: str) -> str | None:
    """The ARN of the KMS key that a table is to be encrypted with; None for the service's own encryption."""
    if specification is None:
        return None
    kind, key = specification.get("SSEType"), specification.get("KMSMasterKeyId")
    if specification.get("Enabled") is False:
        for member in ("SSEType", "KMSMasterKeyId"):
            if member in specification:
                raise invalid(f"{member} can not be specified if Enabled is false")
    if kind == "AES256":
        raise invalid("SSEType AES256 is not supported")
    if key is not None and kind is None:
        raise invalid("SSEType KMS is required if KMSMasterKeyId is specified")
    if not specification.get("Enabled") and kind is None:
        return None
    if key is None:
        # the key that the account has for this service; nothing is encrypted with it here
        key = str(uuid.uuid5(uuid.NAMESPACE_URL, f"arn:aws:kms:{region}:{account}:alias/aws/dynamodb"))
    if key.startswith("arn:"):
        return str(key)
    return f"arn:aws:kms:{region}:{account}:" + (key if key.startswith("alias/") else f"key/{key}")


def change_encryption(record: TableRecord, specification: Body) -> None:
    """Change the key of a table. Raises ValidationException when that changes nothing."""
    key = encryption_key(specification, record.account, record.region)
    if key is None and record.encryption_key is None:
        raise invalid("Table is already encrypted by default")
    if key is not None and key == record.encryption_key and "KMSMasterKeyId" in specification:
        raise invalid(
            "Table is already encrypted with given KMSMasterKeyId. Use KMSMasterKeyId parameter if you want to change "
            "Master Key"
        )
    record.encryption_key = key


def check_class(body: Body) -> None:
    """Raise for a TableClass that there is not."""
    if body.get("TableClass", TABLE_CLASSES[0]) not in TABLE_CLASSES:
        raise ValidationException(
            "Invalid table-class parameter provided. Please try again with a valid table-class value: "
            f"[{', '.join(TABLE_CLASSES)}]."
        )


def tags_of(raw: list[Body]) -> dict[str, str]:
    """Tags from their request. Raises ValidationException for the first that is none."""
    tags: dict[str, str] = {}
    for tag in raw:
        key, value = tag.get("Key"), tag.get("Value")
        check_tag_key(key)
        if value is None or len(value) > TAG_VALUE_MAX or not _TAG_TEXT.fullmatch(value):
            raise ValidationException(f"The Tag Value provided is invalid, Value: {_shown(value)}")
        if key in tags:
            raise ValidationException(f"Duplicate Tag Keys provided as input: Duplicate Tag Key found {key}")
        tags[str(key)] = value
    return tags


def check_tag_key(key: str | None) -> None:
    """Raise for a tag's key that is none."""
    if not key or len(key) > TAG_KEY_MAX or not _TAG_TEXT.fullmatch(key):
        raise ValidationException(f"The Tag Key provided is invalid, Key: {_shown(key)}")
    if key.startswith("aws:"):
        raise ValidationException(f"Tag Key cannot be prefixed with aws:, Key: {key}")


def check_tag_count(keys: Iterable[str]) -> None:
    """Raise for more tags than a table may have."""
    if sum(1 for _ in keys) > TAGS_MAX:
        raise ValidationException("Number of Tags exceed the current limit for the provided ResourceArn")


def check_tag_bytes(tags: dict[str, str]) -> None:
    """Raise for tags that are too large together."""
    size_bytes = sum(len(key.encode()) + len(value.encode()) for key, value in tags.items())
    if size_bytes > TAGS_BYTES_MAX:
        raise ValidationException(f"Tag set size {size_bytes} bytes is above max size limit of {TAGS_BYTES_MAX} bytes")


def _shown(text: str | None) -> str:
    return "null" if text is None else text
