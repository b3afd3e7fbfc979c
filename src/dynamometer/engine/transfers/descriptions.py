"""What the service tells of exports, imports and bulk puts."""

from __future__ import annotations

from typing import Any

from dynamometer.engine.transfers.exporting import folder_of
from dynamometer.engine.transfers.transfer import CANCELLED, COMPLETED, FAILED, Transfer

Body = dict[str, Any]


def _times(transfer: Transfer) -> Body:
    times: Body = {"StartTime": transfer.started_at}
    if transfer.ended_at is not None:
        times["EndTime"] = transfer.ended_at
    return times


def _failure(transfer: Transfer) -> Body:
    if transfer.status not in (FAILED, CANCELLED):
        return {}
    return {"FailureCode": transfer.failure_code, "FailureMessage": transfer.failure_message}


def export_summary(transfer: Transfer) -> Body:
    """An ExportSummary."""
    kind = transfer.request.get("ExportType", "FULL_EXPORT")
    return {"ExportArn": transfer.arn, "ExportStatus": transfer.status, "ExportType": kind}


_EXPORT_REQUEST = ("ClientToken", "S3BucketOwner", "S3Prefix", "S3SseKmsKeyId", "FilterSpecification")


def export(transfer: Transfer) -> Body:
    """An ExportDescription. While it runs, the counts say how far it is."""
    request = transfer.request
    description = export_summary(transfer) | _times(transfer) | _failure(transfer)
    description |= {
        "TableArn": transfer.table_arn,
        "TableId": transfer.table_id,
        "S3Bucket": request["S3Bucket"],
        "S3SseAlgorithm": request.get("S3SseAlgorithm", "AES256"),
        "ExportFormat": request.get("ExportFormat", "DYNAMODB_JSON"),
        "ItemCount": transfer.done_items,
        "BilledSizeBytes": transfer.processed_bytes,
    }
    description |= {name: request[name] for name in _EXPORT_REQUEST if name in request}
    if description["ExportType"] == "FULL_EXPORT":
        description["ExportTime"] = transfer.times["at"]
    else:
        view = request["IncrementalExportSpecification"].get("ExportViewType", "NEW_AND_OLD_IMAGES")
        description["IncrementalExportSpecification"] = {
            "ExportFromTime": transfer.times["from"],
            "ExportToTime": transfer.times["to"],
            "ExportViewType": view,
        }
    if transfer.status == COMPLETED:
        description["ExportManifest"] = f"{folder_of(transfer)}/manifest-summary.json"
    return description


def import_summary(transfer: Transfer) -> Body:
    """An ImportSummary."""
    logs = f"arn:aws:logs:{transfer.region}:{transfer.account}:log-group:/aws-dynamodb/imports:*"
    return {
        "ImportArn": transfer.arn,
        "ImportStatus": transfer.status,
        "TableArn": transfer.table_arn,
        "S3BucketSource": transfer.request["S3BucketSource"],
        "CloudWatchLogGroupArn": logs,
        "InputFormat": transfer.request["InputFormat"],
    } | _times(transfer)


_IMPORT_REQUEST = ("ClientToken", "InputFormatOptions", "TableCreationParameters")


def import_(transfer: Transfer) -> Body:
    """An ImportTableDescription."""
    request = transfer.request
    description = import_summary(transfer) | _failure(transfer)
    description |= {name: request[name] for name in _IMPORT_REQUEST if name in request}
    description |= {
        "InputCompressionType": request.get("InputCompressionType", "NONE"),
        "ErrorCount": transfer.error_items,
        "ProcessedSizeBytes": transfer.processed_bytes,
        "ProcessedItemCount": transfer.processed_items,
        "ImportedItemCount": transfer.done_items,
    }
    if transfer.table_id:
        description["TableId"] = transfer.table_id
    return description


def bulk_summary(transfer: Transfer) -> Body:
    """A BulkOperationSummary."""
    return {"BulkOperationArn": transfer.arn, "BulkOperationStatus": transfer.status} | _times(transfer)


_BULK_REQUEST = ("ClientToken", "InputS3Configuration", "OutputS3Configuration", "MaxWriteRequestUnits")


def bulk(transfer: Transfer) -> Body:
    """A BulkOperationDescription."""
    request = transfer.request
    description = bulk_summary(transfer) | _failure(transfer)
    description |= {name: request[name] for name in _BULK_REQUEST if name in request}
    description |= {
        "TableDetails": [{"TableName": request["TableName"], "TableId": transfer.table_id}],
        "ProcessedItemCount": transfer.processed_items,
        "FailedItemCount": transfer.error_items,
        "ProcessedInputBytes": transfer.processed_bytes,
        "BulkOperationUsage": [_usage(transfer)],
        "PerformanceTier": request.get("PerformanceTier", "STANDARD"),
    }
    if transfer.total_bytes is not None:
        description["TotalInputBytes"] = transfer.total_bytes
    return description


def _usage(transfer: Transfer) -> Body:
    used = transfer.usage
    table = used.get("table", {}).get("", 0)
    indexes = [each for kind in ("local", "global") for each in used.get(kind, {}).values()]
    usage: Body = {
        "TableName": transfer.request["TableName"],
        "BulkPutBytes": table + sum(indexes),
        "Table": {"BulkPutBytes": table},
    }
    for kind, member in (("local", "LocalSecondaryIndexes"), ("global", "GlobalSecondaryIndexes")):
        if used.get(kind):
            usage[member] = {name: {"BulkPutBytes": amount} for name, amount in used[kind].items()}
    if used.get("vector"):
        usage["VectorIndexes"] = {name: {"BulkPutVectorBytes": amount} for name, amount in used["vector"].items()}
    return usage
