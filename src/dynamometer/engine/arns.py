"""Resource names: where a table's name is expected, its ARN may stand."""

from __future__ import annotations

import re
from typing import Protocol

from dynamometer.base.errors import ResourceNotFoundException, ValidationException

_TABLE = re.compile(r"arn:(?P<partition>[^:]*):(?P<service>[^:]*):(?P<region>[^:]*):(?P<account>[^:]*):(?P<rest>.*)")


class Place(Protocol):
    """An account and a region."""

    account: str
    region: str


def table_name_of(place: Place, name_or_arn: str) -> str:
    """The name in a TableName member, which may be an ARN. Raises ValidationException for one that is no table's here.

    Another account's table is not found: nothing here lets one account use another's.
    """
    if not name_or_arn.startswith("arn:"):
        return name_or_arn
    match = _TABLE.fullmatch(name_or_arn)
    if match is None or match["service"] != "dynamodb":
        raise ValidationException(f"1 validation error detected: Invalid resource type in '{name_or_arn}'")
    kind, _, name = match["rest"].partition("/")
    if kind != "table" or not name or "/" in name:
        raise ValidationException(f"1 validation error detected: Invalid resource type in '{name_or_arn}'")
    if match["region"] != place.region:
        raise ValidationException(f"1 validation error detected: Invalid AWS region in '{name_or_arn}'")
    if match["account"] != place.account:
        raise ResourceNotFoundException("Requested resource not found")
    return name
