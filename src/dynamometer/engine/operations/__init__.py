"""Every operation that is built, in one table. What the service's model has and this table lacks is unknown as yet."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dynamometer.engine.catalog import World
    from dynamometer.engine.engine import Answer, Engine

DATA_OPERATIONS = (
    "BatchExecuteStatement",
    "BatchGetItem",
    "BatchWriteItem",
    "DeleteItem",
    "ExecuteStatement",
    "ExecuteTransaction",
    "GetItem",
    "PutItem",
    "Query",
    "Scan",
    "SearchVectors",
    "TransactGetItems",
    "TransactWriteItems",
    "UpdateItem",
)
CONTROL_OPERATIONS = (
    "CancelBulkOperation",
    "CreateBackup",
    "CreateGlobalTable",
    "CreateTable",
    "DeleteBackup",
    "DeleteResourcePolicy",
    "DeleteTable",
    "DescribeBackup",
    "DescribeBulkOperation",
    "DescribeContinuousBackups",
    "DescribeContributorInsights",
    "DescribeEndpoints",
    "DescribeExport",
    "DescribeImport",
    "DescribeKinesisStreamingDestination",
    "DescribeGlobalTable",
    "DescribeGlobalTableSettings",
    "DescribeLimits",
    "DescribeTable",
    "DescribeTableReplicaAutoScaling",
    "DescribeTimeToLive",
    "DisableKinesisStreamingDestination",
    "EnableKinesisStreamingDestination",
    "ExportTableToPointInTime",
    "GetResourcePolicy",
    "ImportTable",
    "ListBackups",
    "ListBulkOperations",
    "ListContributorInsights",
    "ListExports",
    "ListImports",
    "ListGlobalTables",
    "ListTables",
    "ListTagsOfResource",
    "PutResourcePolicy",
    "RestoreTableFromBackup",
    "RestoreTableToPointInTime",
    "StartBulkPutItems",
    "TagResource",
    "UntagResource",
    "UpdateContinuousBackups",
    "UpdateContributorInsights",
    "UpdateKinesisStreamingDestination",
    "UpdateGlobalTable",
    "UpdateGlobalTableSettings",
    "UpdateTable",
    "UpdateTableReplicaAutoScaling",
    "UpdateTimeToLive",
)
STREAM_OPERATIONS = ("DescribeStream", "GetRecords", "GetShardIterator", "ListStreams")
"""Of the service DynamoDB Streams."""


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation of the service: its name and what does its work."""

    name: str
    run: Callable[[Engine, World, dict[str, Any]], Answer]


def _module_name(operation: str) -> str:
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in operation)[1:]


def _control(run: Callable[[Engine, World, dict[str, Any]], dict[str, Any]]) -> Callable[..., Answer]:
    """A control operation answers once everything it wrote is durable."""

    def run_durably(engine: Engine, world: World, body: dict[str, Any]) -> Answer:
        answer = run(engine, world, body)
        return answer, engine.store.last_sequence

    return run_durably


def names() -> tuple[str, ...]:
    """Every operation that is built."""
    return (*DATA_OPERATIONS, *CONTROL_OPERATIONS, *STREAM_OPERATIONS)


def find(name: str) -> Operation:
    """The operation of this name, which is one of `names`. Its module is imported when it is first asked for."""
    run = import_module(f"{__name__}.{_module_name(name)}").run
    return Operation(name, run if name in DATA_OPERATIONS else _control(run))


def load() -> dict[str, Operation]:
    """The whole table, by operation name."""
    return {name: find(name) for name in names()}
