"""Resource names: where a table's name is expected, its ARN may stand; tags always belong to an ARN."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from dynamometer.base.errors import AccessDeniedException, ResourceNotFoundException, ValidationException

if TYPE_CHECKING:
    from dynamometer.engine.catalog import Catalog, Table, World

_ARN = re.compile(r"arn:(?P<partition>[^:]*):(?P<service>[^:]*):(?P<region>[^:]*):(?P<account>[^:]*):(?P<rest>.*)")
_INVALID = "One or more parameter values were invalid: "


def table_name_of(world: World, name_or_arn: str) -> str:
    """The name in a TableName member, which may be an ARN. Raises ValidationException for one that is no table's here.

    Another account's table is not found: nothing here lets one account use another's.
    """
    if not name_or_arn.startswith("arn:"):
        return name_or_arn
    match = _ARN.fullmatch(name_or_arn)
    kind, _, name = match["rest"].partition("/") if match is not None else ("", "", "")
    if match is None or match["service"] != "dynamodb" or kind != "table" or not name or "/" in name:
        raise ValidationException(f"1 validation error detected: Invalid resource type in '{name_or_arn}'")
    if match["region"] != world.region:
        raise ValidationException(f"1 validation error detected: Invalid AWS region in '{name_or_arn}'")
    if match["account"] != world.account:
        raise ResourceNotFoundException("Requested resource not found")
    return name


def policy_target(world: World, arn: str) -> str:
    """`table` or `table/stream/label` from the ARN of a policy's resource. Raises ValidationException for any other."""
    if not arn.startswith("arn:"):
        raise ValidationException(f"{_INVALID}ARNs must start with 'arn:': {arn}")
    match = _ARN.fullmatch(arn)
    parts = match["rest"].split("/", 3) if match is not None else []
    if match is None or match["service"] != "dynamodb" or parts[0] != "table" or parts[2:3] == ["backup"]:
        raise ValidationException(f"{_INVALID}Provided Arn is not a DynamoDB resource arn: {arn}")
    if len(parts) not in (2, 4) or not parts[1] or (len(parts) == 4 and parts[2] != "stream"):
        raise ValidationException(
            f"{_INVALID}Invalid resource arn provided, only table or stream is accepted. Provided resource arn: {arn}"
        )
    if match["partition"] != "aws" or match["region"] != world.region:
        raise ValidationException(f"{_INVALID}Invalid resource Arn: {arn}")
    if match["account"] != world.account:
        raise ValidationException(
            "This action is only supported by accounts that match the resource owner\u2019s account."
        )
    return "/".join(parts[1:])


def tagged_table(catalog: Catalog, world: World, body: dict[str, Any], operation: str) -> Table:
    """The table of a tag operation's ResourceArn. Raises what the service says of every other text."""
    arn = body.get("ResourceArn")
    if not arn:
        raise ValidationException("Invalid TableArn")
    if not arn.startswith("arn:"):
        raise ValidationException(f"{_INVALID}ARNs must start with 'arn:': {arn}")
    match = _ARN.fullmatch(arn)
    if match is None or match["service"] != "dynamodb":
        raise ValidationException(f"{_INVALID}Provided Arn is not a DynamoDB resource arn: {arn}")
    kind, _, name = match["rest"].partition("/")
    if kind != "table" or not name or "/" in name:
        raise ValidationException(
            f"{_INVALID}Invalid resource arn provided, only table or stream is accepted. Provided resource arn: {arn}"
        )
    if match["region"] != world.region:
        raise ValidationException(f"Invalid TableArn: Invalid ResourceArn provided as input {arn}")
    if match["account"] != world.account:
        raise AccessDeniedException(
            f"User: arn:aws:iam::{world.account}:root is not authorized to perform: dynamodb:{operation} "
            f"on resource: {arn}"
        )
    try:
        return catalog.find(world, name)
    except ResourceNotFoundException:
        raise ResourceNotFoundException(f"Requested resource not found: ResourcArn: {arn} not found") from None


def backup_of(arn: str) -> tuple[str, str, str, str] | None:
    """Account, region, table name and label of a backup's ARN; None for any other text."""
    match = _ARN.fullmatch(arn)
    parts = match["rest"].split("/") if match is not None else []
    if match is None or match["service"] != "dynamodb" or len(parts) != 4 or parts[::2] != ["table", "backup"]:
        return None
    return match["account"], match["region"], parts[1], parts[3]


def source_of(arn: str) -> tuple[str, str, str] | None:
    """Account, region and name of a table's ARN, in whatever region it is; None for any other text."""
    match = _ARN.fullmatch(arn)
    kind, _, name = match["rest"].partition("/") if match is not None else ("", "", "")
    if match is None or match["service"] != "dynamodb" or kind != "table" or not name or "/" in name:
        return None
    return match["account"], match["region"], name
