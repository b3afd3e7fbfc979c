"""Exports: the documented layout, the table of any moment, what changed between two, and a restart in the middle."""

from __future__ import annotations

import gzip
import re

import pytest

from dynamometer.base.errors import (
    ExportConflictException,
    ExportNotFoundException,
    InvalidExportTimeException,
    PointInTimeRecoveryUnavailableException,
    TableNotFoundException,
    ValidationException,
)
from dynamometer.engine.transfers import window
from dynamometer.model import ion
from dynamometer.model.values import normalize_item
from tests.unit.engine.buckets import BUCKET, Buckets
from tests.unit.engine.past import COUNT, item, name_of
from tests.unit.engine.tables import Body, key, types

INCREMENTAL = {"ExportType": "INCREMENTAL_EXPORT"}


@pytest.fixture
def kept(buckets: Buckets) -> Buckets:
    """A table of some items, whose past is kept."""
    buckets.make()
    buckets.keep()
    buckets.fill(60)
    return buckets


def since(start: float, end: float | None = None, **more: str) -> Body:
    times = {"ExportFromTime": start} | ({} if end is None else {"ExportToTime": end})
    return INCREMENTAL | {"IncrementalExportSpecification": times | more}


def test_the_layout_is_the_documented_one(kept: Buckets) -> None:
    kept.clock.advance(0.25)
    description = kept.export(S3Prefix="some/where")
    label = description["ExportArn"].rpartition("/")[2]
    assert re.fullmatch(r"\d{14}-[0-9a-f]{8}", label)
    assert description["ExportArn"] == f"{kept.arn()}/export/{label}"
    found = sorted(str(path.relative_to(kept.bucket)) for path in kept.bucket.rglob("*") if path.is_file())
    folder = f"some/where/AWSDynamoDB/{label}"
    data = [name for name in found if "/data/" in name]
    assert len(data) == 4, "one file for each partition"
    assert all(re.fullmatch(re.escape(folder) + r"/data/[a-z2-7]{26}\.json\.gz", name) for name in data)
    assert [name for name in found if name not in data] == [
        f"{folder}/_started",
        f"{folder}/manifest-files.json",
        f"{folder}/manifest-files.md5",
        f"{folder}/manifest-summary.json",
        f"{folder}/manifest-summary.md5",
    ]
    assert (kept.bucket / folder / "_started").read_bytes() == b""
    assert kept.manifest(description["ExportManifest"]) == {
        "version": "2020-06-30",
        "exportArn": description["ExportArn"],
        "startTime": "2023-11-14T22:13:20.250Z",
        "endTime": "2023-11-14T22:13:20.250Z",
        "tableArn": kept.arn(),
        "tableId": kept.describe()["TableId"],
        "exportTime": "2023-11-14T22:13:20.250Z",
        "s3Bucket": BUCKET,
        "s3Prefix": "some/where",
        "s3SseAlgorithm": "AES256",
        "s3SseKmsKeyId": None,
        "manifestFilesS3Key": f"{folder}/manifest-files.json",
        "billedSizeBytes": kept.describe()["TableSizeBytes"],
        "itemCount": 60,
        "outputFormat": "DYNAMODB_JSON",
        "exportType": "FULL_EXPORT",
    }


def test_a_full_export_has_every_item_once(kept: Buckets) -> None:
    assert kept.exported_items(kept.export()) == kept.items()


def test_an_empty_table_still_has_its_files(buckets: Buckets) -> None:
    buckets.make()
    buckets.keep()
    description = buckets.export()
    assert buckets.lines(description) == []
    assert len(list(buckets.bucket.rglob("*.json.gz"))) == 4


def test_an_export_is_described(kept: Buckets) -> None:
    answer = kept.call("ExportTableToPointInTime", TableArn=kept.arn(), S3Bucket=BUCKET, ClientToken="token")
    running = answer["ExportDescription"]
    assert running["ExportStatus"] == "IN_PROGRESS"
    assert "EndTime" not in running and "ExportManifest" not in running
    kept.finish()
    done = kept.exported(running["ExportArn"])
    assert done["ExportStatus"] == "COMPLETED"
    assert done["EndTime"] == kept.clock.now()
    assert done["TableId"] == kept.describe()["TableId"]
    assert (done["ItemCount"], done["BilledSizeBytes"]) == (60, kept.describe()["TableSizeBytes"])
    again = kept.call("ExportTableToPointInTime", TableArn=kept.arn(), S3Bucket=BUCKET, ClientToken="token")
    assert again["ExportDescription"] == done
    with pytest.raises(ExportConflictException):
        kept.call("ExportTableToPointInTime", TableArn=kept.arn(), S3Bucket="other", ClientToken="token")
    kept.clock.advance(8 * 3600)
    kept.start_export(ClientToken="token", S3Prefix="anything")


def test_exports_are_listed_in_falling_order(kept: Buckets) -> None:
    arns = [kept.start_export() for _ in range(5)]
    kept.finish()
    first = kept.call("ListExports", MaxResults=3)
    second = kept.call("ListExports", MaxResults=3, NextToken=first["NextToken"])
    listed = [each["ExportArn"] for each in first["ExportSummaries"] + second["ExportSummaries"]]
    assert listed == sorted(arns, reverse=True)
    assert "NextToken" not in second
    assert kept.call("ListExports", TableArn=kept.arn() + "x")["ExportSummaries"] == []
    kept.clock.advance(91 * 86400)
    assert kept.call("ListExports")["ExportSummaries"] == []
    kept.finish()
    with pytest.raises(ExportNotFoundException):
        kept.exported(arns[0])


@pytest.mark.parametrize("memory_bytes", [window.MEMORY_BYTES, 5000])
def test_the_table_of_a_past_moment(kept: Buckets, memory_bytes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """With little memory, the same in many small ranges."""
    monkeypatch.setattr(window.Window.__init__, "__defaults__", (b"", None, memory_bytes))
    moments = []
    for number in range(4):
        kept.clock.advance(10)
        moments.append((kept.clock.now(), kept.items()))
        kept.clock.advance(10)
        for each in range(number, 60, 4):
            kept.remove(each)
        kept.fill(20 + number, round={"N": str(number)})
        kept.put(**item(100 + number))
    for at, items in moments:
        assert kept.exported_items(kept.export(ExportTime=at)) == items


def test_changes_during_an_export_are_not_in_it(kept: Buckets) -> None:
    before = kept.items()
    arn = kept.start_export()
    for number in range(60):
        kept.step(number % 2)
        kept.put(**item(number) | {"late": {"BOOL": True}})
        kept.put(**item(200 + number))
        kept.remove(59 - number)
    kept.finish()
    assert kept.exported_items(kept.exported(arn)) == before


def test_what_happened_to_each_item(kept: Buckets) -> None:
    kept.clock.advance(1000)
    start = kept.clock.now()
    kept.put(**item(0) | {"v": {"N": "1"}})
    kept.put(**item(0) | {"v": {"N": "2"}})
    kept.remove(1)
    kept.put(**item(100))
    kept.put(**item(101))
    kept.remove(101)
    kept.remove(2)
    kept.put(**item(2))
    kept.clock.advance(900)
    end = kept.clock.now()
    kept.put(**item(102))
    kept.clock.advance(1)
    records = kept.records(kept.export(**since(start, end)))
    changes = {f"{each['Keys']['p']['S']}/{each['Keys']['s']['N']}": each for each in records}
    written = {"WriteTimestampMicros": {"N": f"{start * 1e6:.0f}"}}
    assert {each["Metadata"]["WriteTimestampMicros"]["N"][:13] for each in records} == {f"{start * 1e3:.0f}"}
    for each in records:
        each["Metadata"] = written
    keys = {number: {name: item(number)[name] for name in ("p", "s")} for number in (0, 1, 2, 100)}
    assert changes == {
        name_of(0): {
            "Metadata": written,
            "Keys": keys[0],
            "NewImage": item(0) | {"v": {"N": "2"}},
            "OldImage": item(0),
        },
        name_of(1): {"Metadata": written, "Keys": keys[1], "OldImage": item(1)},
        name_of(2): {"Metadata": written, "Keys": keys[2], "NewImage": item(2), "OldImage": item(2)},
        name_of(100): {"Metadata": written, "Keys": keys[100], "NewImage": item(100)},
    }
    records = kept.records(kept.export(**since(start, end, ExportViewType="NEW_IMAGE")))
    assert not any("OldImage" in each for each in records)
    assert sorted(len(each) for each in records) == [2, 3, 3, 3]


def test_an_incremental_export_has_its_own_manifest_and_a_shared_folder(kept: Buckets) -> None:
    kept.clock.advance(3600)
    kept.put(**item(0) | {"v": {"N": "1"}})
    now = kept.clock.now()
    description = kept.export(S3Prefix="inc", **since(now - 900))
    summary = kept.manifest(description["ExportManifest"])
    assert summary["version"] == "2023-08-01"
    assert "exportTime" not in summary
    assert (summary["exportFromTime"], summary["exportToTime"]) == (
        "2023-11-14T22:58:20.000Z",
        "2023-11-14T23:13:20.000Z",
    )
    assert (summary["outputView"], summary["exportType"]) == ("NEW_AND_OLD_IMAGES", "INCREMENTAL_EXPORT")
    assert len(list((kept.bucket / "inc" / "AWSDynamoDB" / "data").iterdir())) == 4
    assert description["IncrementalExportSpecification"] == {
        "ExportFromTime": now - 900,
        "ExportToTime": now,
        "ExportViewType": "NEW_AND_OLD_IMAGES",
    }


def test_ion_says_the_same(kept: Buckets) -> None:
    kept.put(
        p={"S": "p'\"\\\n"},
        s={"N": "-600"},
        **{"a name": {"L": [{"M": {"null": {"NULL": True}}}, {"BOOL": False}]}},
        sets={"M": {"a": {"SS": ["x", "y"]}, "b": {"NS": ["-0.5", "20"]}, "c": {"BS": ["YQ=="]}}},
    )
    lines = kept.lines(kept.export(ExportFormat="ION"))
    assert all(line.startswith(b"$ion_1_0 {Item:{") for line in lines)
    found = {}
    for struct in ion.read_structs(line.decode() + "\n" for line in lines):
        read = struct["Item"]["M"]
        normalize_item(read)
        found[f"{read['p']['S']}/{read['s']['N']}"] = read
    assert found == kept.items()
    assert len(list(kept.bucket.rglob("*.ion.gz"))) == 4


def test_ion_of_changes(kept: Buckets) -> None:
    kept.clock.advance(3600)
    kept.remove(3)
    (line,) = kept.lines(kept.export(ExportFormat="ION", **since(kept.clock.now() - 900)))
    micros = ion.write_number(f"{kept.clock.now() * 1e6:.0f}")
    assert line.decode() == (
        f"$ion_1_0 {{Record:{{Metadata:{{WriteTimestampMicros:{micros}}},"
        'Keys:{p:"p3",s:3.},OldImage:{p:"p3",s:3.,text:"xxx",g:"g3"}}}'
    )


def test_filters_choose_items_and_attributes(kept: Buckets) -> None:
    values = {":three": {"N": "3"}, ":p": {"S": "p1"}}
    description = kept.export(
        FilterSpecification={
            "FilterExpression": "s > :n",
            "ProjectionExpression": "#p, s",
            "ExpressionAttributeNames": {"#p": "p"},
            "ExpressionAttributeValues": {":n": {"N": "57"}},
        }
    )
    assert kept.exported_items(description) == {
        name_of(number): {name: item(number)[name] for name in ("p", "s")} for number in (58, 59)
    }
    assert description["BilledSizeBytes"] == kept.describe()["TableSizeBytes"]
    chosen = {"KeyConditionExpression": "p = :p AND s > :three", "ExpressionAttributeValues": values}
    description = kept.export(FilterSpecification=chosen)
    assert kept.exported_items(description) == {name_of(n): item(n) for n in range(8, 60, 7)}
    refused = chosen | {"FilterExpression": "s = :three"}
    with pytest.raises(ValidationException, match="Filter Expression can only contain non-primary key attributes"):
        kept.start_export(FilterSpecification=refused)
    refused = chosen | {"ExpressionAttributeValues": values | {":p": {"S": ""}}}
    with pytest.raises(ValidationException, match=r"cannot contain an empty string value\. Key: p"):
        kept.start_export(FilterSpecification=refused)


def test_refusals(buckets: Buckets) -> None:
    buckets.make()
    with pytest.raises(PointInTimeRecoveryUnavailableException) as unavailable:
        buckets.start_export()
    assert unavailable.value.message == "Point in time recovery is not enabled for table 'abc'"
    with pytest.raises(TableNotFoundException, match=r"Table not found: arn:.*:table/abcx"):
        buckets.start_export(TableArn=buckets.arn() + "x")
    buckets.keep()
    now = buckets.clock.now()
    for at in (now - 1, now + 1):
        with pytest.raises(InvalidExportTimeException):
            buckets.start_export(ExportTime=at)
    with pytest.raises(InvalidExportTimeException):
        buckets.start_export(**since(now - 1))
    buckets.clock.advance(2 * 86400)
    for length in (899, 86401):
        with pytest.raises(ValidationException, match="at least 15 minutes and at most 24 hours"):
            buckets.start_export(**since(now, now + length))
    with pytest.raises(ValidationException, match="IncrementalExportSpecification"):
        buckets.start_export(**INCREMENTAL)
    with pytest.raises(ExportNotFoundException):
        buckets.exported(buckets.arn() + "/export/01234567890123-a1b2c3d4")


def test_a_missing_bucket_and_a_bad_prefix_fail_the_export(kept: Buckets) -> None:
    description = kept.export(S3Bucket="nowhere")
    assert description["ExportStatus"] == "FAILED"
    assert description["FailureCode"] == "S3NoSuchBucket"
    assert description["FailureMessage"] == "The specified bucket does not exist"
    description = kept.export(S3Prefix="../../outside")
    assert description["ExportStatus"] == "FAILED"
    assert {path.name for path in kept.folder.parent.iterdir()} <= {"s3", "data"}


def test_without_buckets_nothing_begins(kept: Buckets) -> None:
    kept.engine.objects = None
    with pytest.raises(ValidationException, match="--s3-folder DIR"):
        kept.start_export()


def test_a_table_that_goes_away_fails_the_export(kept: Buckets) -> None:
    arn = kept.start_export()
    kept.step(2)
    kept.forget()
    kept.finish()
    assert kept.exported(arn)["FailureCode"] == "PointInTimeRecoveryUnavailable"
    kept.keep()
    arn = kept.start_export()
    kept.call("DeleteTable", TableName="abc")
    kept.finish()
    assert kept.exported(arn)["FailureCode"] == "TableNotFound"
    assert not list(kept.bucket.rglob("*.unfinished"))


@pytest.mark.parametrize("steps", range(12))
def test_a_restart_goes_on_with_the_same_moment(buckets: Buckets, steps: int) -> None:
    buckets.make()
    buckets.keep()
    buckets.fill(COUNT)
    before = buckets.items()
    arn = buckets.start_export()
    buckets.step(steps)
    buckets.fill(30, late={"BOOL": True})
    buckets.restart()
    buckets.remove(40)
    buckets.finish()
    assert buckets.exported_items(buckets.exported(arn)) == before
    assert len(list(buckets.bucket.rglob("*.json.gz"))) == 4, "an unfinished file was written again, not beside"
    buckets.check()


def test_the_log_is_kept_for_a_running_export(kept: Buckets) -> None:
    before = kept.items()
    arn = kept.start_export()
    kept.step(1)
    kept.fill(60, late={"BOOL": True})
    kept.keep(RecoveryPeriodInDays=1)
    kept.clock.advance(3 * 86400)
    kept.engine.log.trim()
    kept.finish()
    assert kept.exported_items(kept.exported(arn)) == before


def test_a_file_of_the_bucket_is_never_seen_half_written(kept: Buckets) -> None:
    kept.start_export()
    seen = set()
    for _ in range(100):
        seen |= {path.name.rpartition(".")[2] for path in kept.bucket.rglob("*.json.gz*")}
        for path in kept.bucket.rglob("*.json.gz"):
            gzip.decompress(path.read_bytes())
        if not kept.engine.run_jobs():
            break
    assert "gz" in seen


def test_a_table_with_a_binary_key(buckets: Buckets) -> None:
    buckets.create(name="bin", KeySchema=key("b"), AttributeDefinitions=types(b="B"))
    buckets.keep("bin")
    buckets.call("PutItem", TableName="bin", Item={"b": {"B": "/wA="}})
    description = buckets.export(TableArn=buckets.arn("bin"))
    assert buckets.records(description) == [{"Item": {"b": {"B": "/wA="}}}]
