"""Bulk puts: into a table that serves, under conditions, at a rate, cancelled, and restarted in the middle."""

from __future__ import annotations

import re

import pytest

from dynamometer.base.errors import (
    IdempotentParameterMismatchException,
    ResourceInUseException,
    ResourceNotFoundException,
    ValidationException,
)
from dynamometer.engine import keyspace
from dynamometer.engine.transfers import loading
from tests.unit.engine.buckets import BUCKET, Buckets, items_of, jsonl, numbered
from tests.unit.engine.past import item, name_of
from tests.unit.engine.tables import Body

NEW_ONLY = {"ConditionExpression": "attribute_not_exists(#p)", "ExpressionAttributeNames": {"#p": "p"}}


@pytest.fixture
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loading, "BATCH_ITEMS", 7)


@pytest.fixture
def made(buckets: Buckets) -> Buckets:
    buckets.make()
    return buckets


def counts(description: Body) -> tuple[int, int]:
    return description["ProcessedItemCount"], description["FailedItemCount"]


def test_a_bulk_put_is_described(made: Buckets) -> None:
    data = numbered(0, 20)
    made.write("in/a.json", data)
    arn = made.start_bulk("in/", ClientToken="token", MaxWriteRequestUnits=1024)
    assert re.fullmatch(re.escape(made.arn()) + r"/bulk-operation/\d{14}-[0-9a-f]{8}", arn)
    running = made.bulk_put(arn)
    assert running["BulkOperationStatus"] == "IN_PROGRESS"
    assert "TotalInputBytes" not in running and "EndTime" not in running
    made.finish()
    description = made.bulk_put(arn)
    assert description["BulkOperationStatus"] == "COMPLETED"
    assert counts(description) == (20, 0)
    assert description["TotalInputBytes"] == description["ProcessedInputBytes"] == len(data)
    assert description["TableDetails"] == [{"TableName": "abc", "TableId": made.describe()["TableId"]}]
    assert (description["PerformanceTier"], description["MaxWriteRequestUnits"]) == ("STANDARD", 1024)
    assert "FailureCode" not in description
    (usage,) = description["BulkOperationUsage"]
    in_global = sum(1 for each in items_of(0, 20).values() if "g" in each)
    in_local = sum(1 for each in items_of(0, 20).values() if "l" in each)
    assert usage == {
        "TableName": "abc",
        "BulkPutBytes": (20 + in_global + in_local) * 1024,
        "Table": {"BulkPutBytes": 20 * 1024},
        "LocalSecondaryIndexes": {"local": {"BulkPutBytes": in_local * 1024}},
        "GlobalSecondaryIndexes": {"global": {"BulkPutBytes": in_global * 1024}},
    }
    assert made.items() == items_of(0, 20)
    made.check()


def test_puts_replace_and_are_followed(made: Buckets) -> None:
    made.update(StreamSpecification={"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"})
    made.put(**item(0) | {"old": {"BOOL": True}})
    made.put(**item(100))
    made.write("in/a.ion", '{Item:{p:"p0",s:0,new:true}}')
    assert counts(made.bulk("in/", "ION")) == (1, 0)
    assert made.items()[name_of(0)] == {"p": {"S": "p0"}, "s": {"N": "0"}, "new": {"BOOL": True}}
    changes = list(made.engine.log.read(made.store, made.engine.catalog.find(made.world, "abc").number, 0))
    assert [change.before is None for change in changes] == [True, True, False]


def test_conditions_and_errors_are_written_out(made: Buckets, small_batches: None) -> None:
    made.put(**item(0))
    records: list[Body] = [{"Item": item(number)} | NEW_ONLY for number in range(10)]
    records.insert(3, {"Item": {"s": {"N": "1"}}})
    records.append({"Item": item(5) | {"again": {"BOOL": True}}} | NEW_ONLY)
    records.append({"Item": item(6), "ConditionExpression": "nonsense ="})
    made.write("in/a.json", jsonl(*records) + b"broken")
    description = made.bulk("in/")
    assert description["BulkOperationStatus"] == "COMPLETED_WITH_ERRORS"
    assert counts(description) == (14, 3)
    failures = made.output(description, "condition-check-failures")
    assert failures == [
        {"Item": item(0), "ExistingItem": item(0)},
        {"Item": item(5) | {"again": {"BOOL": True}}, "ExistingItem": item(5)},
    ]
    errors = made.output(description, "errors")
    assert [each["Error"]["ItemS3Pointer"]["itemIndex"] for each in errors] == [3, 12, 13]
    assert errors[0] == {
        "Error": {
            "ErrorMessage": "One or more parameter values were invalid: Missing the key p in the item",
            "ItemS3Pointer": {"bucket": BUCKET, "key": "in/a.json", "itemIndex": 3},
        },
        "Item": {"s": {"N": "1"}},
    }
    assert errors[1]["Error"]["ErrorMessage"].startswith("Invalid ConditionExpression: Syntax error")
    assert errors[2]["Record"] == "broken"
    assert made.items() == items_of(0, 10)


def test_condition_failures_alone_are_no_errors(made: Buckets) -> None:
    made.fill(10)
    made.write("in/a.json", jsonl(*({"Item": item(number)} | NEW_ONLY for number in range(10))))
    output = {"S3Bucket": BUCKET, "S3KeyPrefix": "out", "OutputType": ["ERROR"]}
    description = made.bulk("in/", OutputS3Configuration=output)
    assert description["BulkOperationStatus"] == "COMPLETED"
    assert made.output(description, "condition-check-failures") == [], "it was not asked for"


def test_conditions_in_ion(made: Buckets) -> None:
    made.put(**item(0))
    made.write(
        "in/a",
        '{Item:{p:"p0",s:0,n:1},ConditionExpression:"#t = :v",ExpressionAttributeNames:{\'#t\':"text"},'
        "ExpressionAttributeValues:{':v':\"other\"}}"
        '{Item:{p:"p0",s:0,n:2},ConditionExpression:"#t = :v",ExpressionAttributeNames:{\'#t\':"text"},'
        "ExpressionAttributeValues:{':v':\"\"}}",
    )
    assert counts(made.bulk("in/", "ION")) == (2, 0)
    assert made.items()[name_of(0)]["n"] == {"N": "2"}


def test_the_rate_is_kept(made: Buckets) -> None:
    made.write("in/a.json", numbered(0, 5000))
    arn = made.start_bulk("in/", MaxWriteRequestUnits=1024)
    made.step(50)
    first = made.bulk_put(arn)["ProcessedItemCount"]
    assert 1024 <= first < 1024 + loading.BATCH_ITEMS
    made.clock.advance(1)
    made.step(50)
    assert 2048 <= made.bulk_put(arn)["ProcessedItemCount"] < 2048 + loading.BATCH_ITEMS
    made.clock.advance(10)
    made.finish()
    assert made.bulk_put(arn)["BulkOperationStatus"] == "COMPLETED"


def test_cancelling_keeps_what_was_put(made: Buckets, small_batches: None) -> None:
    made.write("in/a.json", b"{\n" + numbered(0, 100))
    arn = made.start_bulk("in/")
    made.step(3)
    answer = made.call("CancelBulkOperation", BulkOperationArn=arn)
    assert answer == {"BulkOperationArn": arn, "BulkOperationStatus": "CANCELLING"}
    made.restart()
    assert made.bulk_put(arn)["BulkOperationStatus"] == "CANCELLING"
    made.finish()
    description = made.bulk_put(arn)
    assert description["BulkOperationStatus"] == "CANCELLED"
    assert description["FailureCode"] and description["FailureMessage"]
    assert made.items() == items_of(0, description["ProcessedItemCount"] - 1)
    assert len(made.output(description, "errors")) == 1
    with pytest.raises(ValidationException):
        made.call("CancelBulkOperation", BulkOperationArn=arn)


@pytest.mark.parametrize("steps", range(12))
def test_a_restart_goes_on_where_it_was(made: Buckets, steps: int, small_batches: None) -> None:
    made.put(**item(21))
    for part in range(3):
        records = [{"Item": item(number)} | NEW_ONLY for number in range(part * 20, part * 20 + 20)]
        made.write(f"in/{part}", b"{\n" + jsonl(*records))
    arn = made.start_bulk("in/")
    made.step(steps)
    made.restart()
    made.finish()
    description = made.bulk_put(arn)
    assert counts(description) == (63, 3)
    assert description["BulkOperationUsage"][0]["Table"]["BulkPutBytes"] == 59 * 1024
    assert len(made.output(description, "errors")) == 3
    assert len(made.output(description, "condition-check-failures")) == 1
    assert made.items() == items_of(0, 60)
    made.check()


def test_refusals(made: Buckets) -> None:
    made.write("in/a.json", numbered(0, 20))
    with pytest.raises(ResourceNotFoundException):
        made.start_bulk("in/", TableName="other")
    arn = made.start_bulk("in/", ClientToken="token")
    assert made.start_bulk("in/", ClientToken="token") == arn
    with pytest.raises(IdempotentParameterMismatchException):
        made.start_bulk("in/", "ION", ClientToken="token")
    with pytest.raises(ResourceNotFoundException):
        made.bulk_put(made.arn() + "/bulk-operation/01234567890123-a1b2c3d4")
    with pytest.raises(ValidationException):
        made.start_bulk("in/", OutputS3Configuration={"OutputType": ["ERROR"], "S3SseKmsKeyId": "key"})
    made.finish()
    made.start_import("in/")
    made.step(1)
    with pytest.raises(ResourceInUseException):
        made.start_bulk("in/", TableName="imported")


def test_failures(made: Buckets) -> None:
    made.write("in/a.json", numbered(0, 20))
    source = {"S3Bucket": "nowhere", "InputFormat": "ION"}
    assert made.bulk("in/", InputS3Configuration=source)["FailureCode"] == "S3NoSuchBucket"
    output = {"S3Bucket": "nowhere", "OutputType": ["ERROR"]}
    assert made.bulk("in/", OutputS3Configuration=output)["FailureCode"] == "S3NoSuchBucket"
    assert made.items() == {}, "what can't be reported is not begun"
    arn = made.start_bulk("in/")
    made.call("DeleteTable", TableName="abc")
    made.finish()
    assert made.bulk_put(arn)["BulkOperationStatus"] == "FAILED"


def test_bulk_puts_are_listed(made: Buckets) -> None:
    made.write("in/a.json", numbered(0, 1))
    arns = []
    for _ in range(12):
        arns.append(made.start_bulk("in/"))
        made.clock.advance(1)
    made.finish()
    first = made.call("ListBulkOperations")
    assert re.fullmatch("([0-9a-f]{16})+", first["NextToken"])
    second = made.call("ListBulkOperations", NextToken=first["NextToken"])
    listed = first["BulkOperationsSummaryList"] + second["BulkOperationsSummaryList"]
    assert [each["BulkOperationArn"] for each in listed] == arns[::-1]
    assert len(first["BulkOperationsSummaryList"]) == 10
    assert set(listed[0]) == {"BulkOperationArn", "BulkOperationStatus", "StartTime", "EndTime"}


def test_a_full_collection_refuses_only_what_is_too_much(buckets: Buckets) -> None:
    settings = {"item_collection_limit_bytes": 400, "s3_folder": str(buckets.folder)}
    buckets.settings = type(buckets.settings)(**settings)
    buckets.restart()
    buckets.make()
    items = [item(number * 7) | {"text": {"S": "x" * 60}} for number in range(8)]
    buckets.write("in/a.json", jsonl(*({"Item": each} for each in items), {"Item": item(1)}))
    description = buckets.bulk("in/")
    assert description["BulkOperationStatus"] == "COMPLETED_WITH_ERRORS"
    errors = buckets.output(description, "errors")
    assert errors and all("Collection size exceeded" in each["Error"]["ErrorMessage"] for each in errors)
    assert description["ProcessedItemCount"] == 9
    assert len(buckets.items()) + len(errors) == 9
    assert name_of(1) in buckets.items()
    buckets.check()


def test_nothing_is_left_beside_the_record(made: Buckets) -> None:
    made.write("in/a.json", b"{\n" + numbered(0, 20))
    made.bulk("in/")
    made.import_("in/")
    assert list(made.store.range(b"u", b"v")) == []
    made.clock.advance(91 * 86400)
    made.finish()
    assert list(made.store.range(*keyspace.transfer_range())) == []
