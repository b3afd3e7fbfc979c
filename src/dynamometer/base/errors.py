"""The errors of the service, and our own.

Whose fault an error is decides its type. `ServiceError` and its subclasses are answers that a client is meant to see:
the class name is the service's error name, `wire.errors` alone turns it into bytes. `StoreError` and its subclasses
are faults of the data folder or of the process that owns it; a client sees them as InternalServerError, the operator
sees the message, which says what to do next. Anything else that is raised is a bug of ours.
"""

from __future__ import annotations

from traceback import format_tb
from typing import Any


class ServiceError(Exception):
    """An answer of the service that is not a success. `extra` holds members beside the message."""

    status = 400

    def __init__(self, message: str | None = None, **extra: Any) -> None:
        super().__init__(message)
        self.message = message
        self.extra = extra


class ValidationException(ServiceError):
    """The request breaks a rule that can be told without, or from, the stored data."""


class ConditionalCheckFailedException(ServiceError):
    """The condition of a write did not hold. `extra["Item"]` is the item that failed it, when asked for."""

    def __init__(self, item: dict[str, Any] | None = None) -> None:
        extra = {} if item is None else {"Item": item}
        super().__init__("The conditional request failed", **extra)


class DuplicateItemException(ServiceError):
    """A PartiQL INSERT of an item whose key is taken."""

    def __init__(self) -> None:
        super().__init__("Duplicate primary key exists in table")


class TransactionCanceledException(ServiceError):
    """A transaction was not applied. `extra["CancellationReasons"]` has one reason an action, in order."""

    def __init__(self, reasons: list[dict[str, Any]]) -> None:
        codes = ", ".join(reason["Code"] for reason in reasons)
        super().__init__(
            f"Transaction cancelled, please refer cancellation reasons for specific reasons [{codes}]",
            CancellationReasons=reasons,
        )


class TransactionConflictException(ServiceError):
    """Another transaction holds the item."""


class TransactionInProgressException(ServiceError):
    """A transaction with the same token is still running."""


class IdempotentParameterMismatchException(ServiceError):
    """The same token came with other parameters."""


class ItemCollectionSizeLimitExceededException(ServiceError):
    """An item collection of a table with a local secondary index would pass its limit."""


class ResourceNotFoundException(ServiceError):
    """No such table, index, stream or tag owner."""


class ResourceInUseException(ServiceError):
    """The table exists already, or is between two states."""


class TableNotFoundException(ServiceError):
    """No such table, in the operations that say it so."""


class TableAlreadyExistsException(ServiceError):
    """The table that a restore would make is there already."""


class TableInUseException(ServiceError):
    """The table is being created or deleted, in the operations of backups."""


class BackupNotFoundException(ServiceError):
    """No such backup."""


class BackupInUseException(ServiceError):
    """The backup is being made, or a table is being restored from it."""


class ContinuousBackupsUnavailableException(ServiceError):
    """The table is too new, or too busy, for a change of its continuous backups."""


class PointInTimeRecoveryUnavailableException(ServiceError):
    """The table keeps no past."""


class InvalidRestoreTimeException(ServiceError):
    """The moment is not in the window of the table's past."""


class ExportConflictException(ServiceError):
    """The token of an export came with other parameters."""


class ExportNotFoundException(ServiceError):
    """No such export."""


class InvalidExportTimeException(ServiceError):
    """The moment is not in the window of the table's past."""


class ImportConflictException(ServiceError):
    """The token of an import came with other parameters."""


class ImportNotFoundException(ServiceError):
    """No such import."""


class PolicyNotFoundException(ServiceError):
    """No policy, or not the revision of it that the request expects."""


class GlobalTableNotFoundException(ServiceError):
    """No such global table of version 2017.11.29."""


class GlobalTableAlreadyExistsException(ServiceError):
    """The global table of version 2017.11.29 is there already."""


class ReplicaAlreadyExistsException(ServiceError):
    """The region has a replica of the global table already."""


class ReplicaNotFoundException(ServiceError):
    """The region has no replica of the global table."""


class IndexNotFoundException(ServiceError):
    """No such index, in the settings of a global table."""


class ReplicatedWriteConflictException(ServiceError):
    """The item is being changed from another region."""

    status = 409


class LimitExceededException(ServiceError):
    """Too many control-plane operations at once, or in a time."""


class ExpiredIteratorException(ServiceError):
    """A shard iterator is older than 15 minutes."""


class TrimmedDataAccessException(ServiceError):
    """What a shard iterator points at is older than 24 hours."""


class ProvisionedThroughputExceededException(ServiceError):
    """The table's or a partition's throughput is used up."""


class ThrottlingException(ServiceError):
    """The request rate is too high."""


class AccessDeniedException(ServiceError):
    """The caller may not do this."""


class SerializationException(ServiceError):
    """The body is not JSON, or a JSON type is not the member's."""


class UnknownOperationException(ServiceError):
    """No such operation, or not built yet."""


class MissingAuthenticationTokenException(ServiceError):
    """The request carries no signature."""


class IncompleteSignatureException(ServiceError):
    """The signature lacks a part."""


class InvalidSignatureException(ServiceError):
    """The signature's parts contradict each other."""


class UnrecognizedClientException(ServiceError):
    """The access key or token is unknown."""


class InternalServerError(ServiceError):
    """Our fault, or the store's."""

    status = 500


class StoreError(Exception):
    """The data folder can't be used; the message tells the operator what to do."""


class StoreLocked(StoreError):
    """Another process owns the data folder."""


class StoreCorrupt(StoreError):
    """Bytes in the store are not what was written."""


class StoreUnwritable(StoreError):
    """The disk is full, or the folder is read-only. What was acknowledged before is safe."""


class StoreConflict(StoreError):
    """Another transaction changed what this one read: run the decision again."""


def where(bug: BaseException) -> str:
    """What kind of error it is and the lines that led to it, for the log: without its text, which may quote an item."""
    return f"{type(bug).__name__}\n{''.join(format_tb(bug.__traceback__)).rstrip()}"
