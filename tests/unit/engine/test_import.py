"""Imports: every format and compression, records that are no items, and a restart in the middle of a batch or file."""

from __future__ import annotations

import gzip
import logging
from typing import Any

import orjson
import pytest
import zstandard

from dynamometer.base.errors import (
    ImportConflictException,
    ImportNotFoundException,
    ResourceInUseException,
    ResourceNotFoundException,
    StoreError,
    ValidationException,
)
from dynamometer.engine.transfers import loading
from dynamometer.model import ion
from tests.unit.engine.buckets import BUCKET, Buckets, items_of, jsonl, numbered
from tests.unit.engine.past import Items, item
from tests.unit.engine.tables import Body, key, types

INVALID_ITEMS = {
    "ImportStatus": "FAILED",
    "FailureCode": "ItemValidationError",
    "FailureMessage": "Some of the items failed validation checks and were not imported. Please check CloudWatch error "
    "logs for more details.",
}


@pytest.fixture
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loading, "BATCH_ITEMS", 7)


def check(buckets: Buckets, expected: Items) -> None:
    """The imported table has these items, and agrees with itself."""
    assert buckets.items("imported") == expected
    with_index = {name for name, each in expected.items() if "g" in each}
    assert set(buckets.items("imported", "global")) == with_index
    assert buckets.describe("imported")["ItemCount"] == len(expected)
    buckets.check()


def counts(description: Body) -> tuple[int, int, int]:
    return description["ProcessedItemCount"], description["ImportedItemCount"], description["ErrorCount"]


def test_an_import_is_described(buckets: Buckets) -> None:
    data = numbered(0, 20)
    buckets.write("in/a.json", data)
    arn = buckets.start_import("in/", ClientToken="token")
    assert arn.rpartition("/")[0] == buckets.arn("imported") + "/import"
    assert buckets.imported(arn)["ImportStatus"] == "IN_PROGRESS"
    assert "TableId" not in buckets.imported(arn)
    buckets.step(1)
    assert buckets.describe("imported")["TableStatus"] == "CREATING"
    with pytest.raises(ResourceNotFoundException):
        buckets.items("imported")
    with pytest.raises(ResourceInUseException):
        buckets.call("DeleteTable", TableName="imported")
    buckets.finish()
    description = buckets.imported(arn)
    assert description["ImportStatus"] == "COMPLETED"
    assert counts(description) == (20, 20, 0)
    assert description["ProcessedSizeBytes"] == len(data)
    assert description["TableId"] == buckets.describe("imported")["TableId"]
    assert description["EndTime"] == buckets.clock.now()
    assert description["CloudWatchLogGroupArn"].endswith(":log-group:/aws-dynamodb/imports:*")
    assert buckets.describe("imported")["TableStatus"] == "ACTIVE"
    assert buckets.describe("imported")["GlobalSecondaryIndexes"][0]["IndexStatus"] == "ACTIVE"
    check(buckets, items_of(0, 20))


@pytest.mark.parametrize("compression", ["NONE", "GZIP", "ZSTD"])
@pytest.mark.parametrize("form", ["DYNAMODB_JSON", "ION"])
def test_formats_and_compressions(buckets: Buckets, form: str, compression: str) -> None:
    pack = {"NONE": bytes, "GZIP": gzip.compress, "ZSTD": zstandard.ZstdCompressor().compress}[compression]
    for part in range(3):
        data = numbered(part * 100, part * 100 + 100)
        if form == "ION":
            items = [orjson.loads(line)["Item"] for line in data.splitlines()]
            data = "".join(f"$ion_1_0 {ion.write_struct({'Item': {'M': each}})}\n" for each in items).encode()
        # several members or frames in one object are one object
        half = data.index(b"\n", len(data) // 2) + 1
        buckets.write(f"in/{part}/data", pack(data[:half]) + pack(data[half:]))
    description = buckets.import_("in/", form, InputCompressionType=compression)
    assert counts(description) == (300, 300, 0)
    check(buckets, items_of(0, 300))


def test_what_was_exported_comes_back(buckets: Buckets) -> None:
    buckets.make()
    buckets.keep()
    buckets.fill()
    for form in ("DYNAMODB_JSON", "ION"):
        folder = buckets.export(ExportFormat=form)["ExportManifest"].rpartition("/")[0]
        description = buckets.import_(f"{folder}/data/", form, InputCompressionType="GZIP")
        assert description["ImportStatus"] == "COMPLETED"
        check(buckets, buckets.items())
        buckets.call("DeleteTable", TableName="imported")


def test_csv(buckets: Buckets) -> None:
    buckets.write("in/a.csv", '\ufeffp,s,g,text\r\na,1,g1,"say ""hi"",\nthen go"\r\na,02,,plain\r\n\r\nb,3,g2,\r\n')
    assert counts(buckets.import_("in/", "CSV")) == (3, 3, 0)
    check(
        buckets,
        {
            "a/1": {"p": {"S": "a"}, "s": {"N": "1"}, "g": {"S": "g1"}, "text": {"S": 'say "hi",\nthen go'}},
            "a/2": {"p": {"S": "a"}, "s": {"N": "2"}, "text": {"S": "plain"}},
            "b/3": {"p": {"S": "b"}, "s": {"N": "3"}, "g": {"S": "g2"}},
        },
    )


def test_csv_with_another_delimiter_and_given_header(buckets: Buckets) -> None:
    options = {"Csv": {"Delimiter": "|", "HeaderList": ["s", "p"]}}
    buckets.write("in/a.csv", "1|a\n2|b,c\n3|x|y\n")
    description = buckets.import_("in/", "CSV", InputFormatOptions=options)
    assert counts(description) == (3, 2, 1)
    assert set(buckets.items("imported")) == {"a/1", "b,c/2"}


def test_records_that_are_no_items(buckets: Buckets, caplog: pytest.LogCaptureFixture) -> None:
    good = orjson.dumps({"Item": item(0)}).decode()
    bad = [
        '{"Item":{"s":{"N":"1"}}}',
        '{"Item":{"p":{"N":"1"},"s":{"N":"1"}}}',
        '{"Item":{"p":{"S":"a"},"s":{"N":"secret"}}}',
        '{"Item":{"p":{"S":"a"},"s":{"N":"1"},"g":{"N":"1"}}}',
        '{"Item":{"p":{"S":5},"s":{"N":"1"}}}',
        '{"p":{"S":"a"},"s":{"N":"1"}}',
        '["Item"]',
        "{",
        '{"Item":{"p":{"S":"a"},"s":{"N":"1"},"text":{"S":"%s"}}}' % ("x" * 410_000),
    ]
    buckets.write("in/a.json", "\n".join([bad[0], good, *bad[1:]]))
    with caplog.at_level(logging.WARNING, "dynamometer"):
        description = buckets.import_("in/")
    assert description.items() >= INVALID_ITEMS.items()
    assert counts(description) == (len(bad) + 1, 1, len(bad))
    check(buckets, items_of(0, 1))
    entries = [orjson.loads(record.message) for record in caplog.records]
    assert [each["itemS3Pointer"] for each in entries] == [
        {"bucket": BUCKET, "key": "in/a.json", "itemIndex": index} for index in (0, *range(2, len(bad) + 1))
    ]
    assert entries[0]["errorMessages"] == ["One or more parameter values were invalid: Missing the key p in the item"]
    assert entries[0]["importArn"] == description["ImportArn"]
    assert "secret" not in caplog.text, "no value of an item is logged"


@pytest.mark.parametrize(
    ("compression", "data"),
    [
        ("GZIP", gzip.compress(numbered(0, 50))[:-20]),
        ("GZIP", b"no gzip"),
        ("ZSTD", b"no zstd at all"),
        ("NONE", b"\xff\xfe{}"),
    ],
)
def test_a_damaged_object_is_one_error_and_the_others_come(buckets: Buckets, compression: str, data: bytes) -> None:
    pack = {"NONE": bytes, "GZIP": gzip.compress, "ZSTD": zstandard.ZstdCompressor().compress}[compression]
    buckets.write("in/a", data)
    buckets.write("in/b", pack(numbered(100, 110)))
    description = buckets.import_("in/", InputCompressionType=compression)
    assert description.items() >= INVALID_ITEMS.items()
    assert description["ErrorCount"] == 1
    assert buckets.items("imported").items() >= items_of(100, 110).items()


def test_broken_ion_ends_its_object(buckets: Buckets) -> None:
    buckets.write("in/a", '{Item:{p:"p0",s:0}} {Item:{p:symbol}} {Item:{p:"p1",s:1}}')
    buckets.write("in/b", '{Item:{p:"p2",s:2}}')
    assert counts(buckets.import_("in/", "ION")) == (3, 2, 1)
    assert set(buckets.items("imported")) == {"p0/0", "p2/2"}


def test_equal_keys_are_no_error(buckets: Buckets, small_batches: None) -> None:
    lines = [{"Item": item(number % 10) | {"round": {"N": str(number)}}} for number in range(50)]
    buckets.write("in/a.json", jsonl(*lines))
    description = buckets.import_("in/")
    assert description["ImportStatus"] == "COMPLETED"
    last = {name: each | {"round": {"N": f"{40 + int(each['s']['N'])}"}} for name, each in items_of(0, 10).items()}
    check(buckets, last)


def test_nothing_to_import_makes_no_table(buckets: Buckets) -> None:
    for source in ({"S3Bucket": "nowhere"}, {"S3Bucket": BUCKET, "S3KeyPrefix": "empty/"}):
        description = buckets.import_("", S3BucketSource=source)
        assert description["ImportStatus"] == "FAILED"
        assert "TableId" not in description
    assert buckets.import_("", S3BucketSource={"S3Bucket": "nowhere"})["FailureCode"] == "S3NoSuchBucket"
    assert buckets.call("ListTables")["TableNames"] == []


def test_an_overwritten_object_stops_the_import(buckets: Buckets, small_batches: None) -> None:
    buckets.write("in/a.json", numbered(0, 20))
    buckets.write("in/b.json", numbered(20, 40))
    arn = buckets.start_import("in/")
    buckets.step(2)
    buckets.write("in/b.json", numbered(20, 41))
    buckets.finish()
    description = buckets.imported(arn)
    assert description["FailureCode"] == "ObjectModifiedInS3DuringImport"
    assert description["FailureMessage"] == "The S3 object could not be imported because it was overwritten."
    check(buckets, items_of(0, 20))


def test_what_comes_later_is_not_imported(buckets: Buckets) -> None:
    buckets.write("in/b.json", numbered(0, 20))
    arn = buckets.start_import("in/")
    buckets.step(1)
    buckets.write("in/a.json", numbered(20, 40))
    buckets.write("in/c.json", numbered(40, 60))
    buckets.finish()
    assert counts(buckets.imported(arn)) == (20, 20, 0)


def test_refusals(buckets: Buckets) -> None:
    buckets.write("in/a.json", numbered(0, 20))
    buckets.create()
    with pytest.raises(ResourceInUseException, match="Table already exists: abc"):
        buckets.start_import("in/", name="abc")
    arn = buckets.start_import("in/", ClientToken="token")
    assert buckets.start_import("in/", ClientToken="token") == arn
    with pytest.raises(ImportConflictException):
        buckets.start_import("in/", "CSV", ClientToken="token")
    with pytest.raises(ResourceInUseException):
        buckets.start_import("in/")
    with pytest.raises(ImportNotFoundException):
        buckets.imported(buckets.arn("imported") + "/import/01234567890123-a1b2c3d4")
    with pytest.raises(ValidationException):
        buckets.start_import(
            "in/",
            TableCreationParameters={"TableName": "other", "KeySchema": key("p"), "AttributeDefinitions": types(q="S")},
        )


def test_imports_are_listed(buckets: Buckets) -> None:
    buckets.write("in/a.json", numbered(0, 20))
    arns = []
    for number in range(5):
        arns.append(buckets.start_import("in/", name=f"table{number}"))
        buckets.clock.advance(1)
    buckets.finish()
    first = buckets.call("ListImports", PageSize=3)
    assert len(first["NextToken"]) >= 112
    second = buckets.call("ListImports", PageSize=3, NextToken=first["NextToken"])
    listed = first["ImportSummaryList"] + second["ImportSummaryList"]
    assert [each["ImportArn"] for each in listed] == arns[::-1]
    of_one = buckets.call("ListImports", TableArn=buckets.arn("table2"))["ImportSummaryList"]
    assert [each["ImportArn"] for each in of_one] == [arns[2]]


@pytest.mark.parametrize("steps", range(14))
@pytest.mark.parametrize("form", ["DYNAMODB_JSON", "ION", "CSV"])
def test_a_restart_goes_on_where_it_was(buckets: Buckets, form: str, steps: int, small_batches: None) -> None:
    """Every record is counted once: a bad one at the beginning of each object tells."""
    for part in range(3):
        numbers = range(part * 20, part * 20 + 20)
        if form == "CSV":
            data = "p,s\n1\n" + "".join(f"p{number % 7},{number}\n" for number in numbers)
        elif form == "ION":
            data = "{Item:{}}" + "".join(f'{{Item:{{p:"p{number % 7}",s:{number}}}}}\n' for number in numbers)
        else:
            data = "{\n" + "".join(
                f'{{"Item":{{"p":{{"S":"p{number % 7}"}},"s":{{"N":"{number}"}}}}}}\n' for number in numbers
            )
        buckets.write(f"in/{part}", gzip.compress(data.encode()))
    arn = buckets.start_import("in/", form, InputCompressionType="GZIP")
    buckets.step(steps)
    buckets.restart()
    assert buckets.imported(arn)["ImportStatus"] == "IN_PROGRESS" or steps > 9
    buckets.step(1)
    buckets.restart()
    buckets.finish()
    description = buckets.imported(arn)
    assert description.items() >= INVALID_ITEMS.items()
    assert counts(description) == (63, 60, 3)
    check(buckets, {name: {each: found[each] for each in ("p", "s")} for name, found in items_of(0, 60).items()})


@pytest.mark.parametrize("restart", [True, False])
@pytest.mark.parametrize("failing", range(1, 7))
def test_a_store_that_fails_once_is_asked_again(
    buckets: Buckets, failing: int, restart: bool, small_batches: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also between the making of the table and the record that tells of it."""
    buckets.write("in/a.json", numbered(0, 20))
    arn = buckets.start_import("in/")
    begin, left = buckets.store.begin, [failing]

    def refuse() -> Any:
        left[0] -= 1
        if left[0] == 0:
            raise StoreError("the disk is gone for a moment")
        return begin()

    try:
        monkeypatch.setattr(buckets.store, "begin", refuse)
    except AttributeError:
        pytest.skip("a compiled store's methods can't be replaced")
    for _ in range(10):
        try:
            buckets.step(1)
        except StoreError:
            break
    monkeypatch.undo()
    if restart:
        buckets.restart()
    buckets.finish()
    assert counts(buckets.imported(arn)) == (20, 20, 0)
    check(buckets, items_of(0, 20))


def test_a_restart_without_buckets_fails_cleanly(buckets: Buckets, small_batches: None) -> None:
    buckets.write("in/a.json", numbered(0, 20))
    arn = buckets.start_import("in/")
    buckets.step(2)
    buckets.restart()
    buckets.engine.objects = None
    buckets.finish()
    assert buckets.imported(arn)["ImportStatus"] == "FAILED"
    assert buckets.describe("imported")["TableStatus"] == "ACTIVE"
    check(buckets, items_of(0, 7))


def test_a_new_table_takes_its_time(buckets: Buckets) -> None:
    buckets.engine.settings = type(buckets.settings)(table_transition_seconds=30, s3_folder=str(buckets.folder))
    buckets.write("in/a.json", numbered(0, 20))
    buckets.import_("in/")
    assert buckets.describe("imported")["TableStatus"] == "CREATING"
    buckets.clock.advance(30)
    check(buckets, items_of(0, 20))
