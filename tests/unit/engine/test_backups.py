"""On-demand backups and restores from them: consistent while the table serves, and whole after a restart."""

from __future__ import annotations

import pytest

from dynamometer.engine import keyspace
from dynamometer.engine.backups import SYSTEM_BACKUP_SECONDS
from dynamometer.engine.check import check
from tests.unit.engine.past import COUNT, Past, in_memory, item, name_of
from tests.unit.engine.tables import ACCOUNT, INVALID, REGION, Body, index, key, units

BACKUP_ARN = f"arn:aws:dynamodb:{REGION}:{ACCOUNT}:table/abc/backup/"


@pytest.fixture
def full(past: Past) -> Past:
    past.make()
    past.fill()
    return past


def restore(past: Past, arn: str, target: str = "target", **overrides: object) -> Body:
    answer: Body = past.call("RestoreTableFromBackup", TargetTableName=target, BackupArn=arn, **overrides)
    return answer["TableDescription"]  # type: ignore[no-any-return]


def test_a_backup_is_described(past: Past) -> None:
    past.make(StreamSpecification={"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"})
    past.fill(10)
    past.call("UpdateTimeToLive", TableName="abc", TimeToLiveSpecification={"Enabled": True, "AttributeName": "ttl"})
    table = past.describe()
    details = past.call("CreateBackup", TableName=table["TableArn"], BackupName="first")["BackupDetails"]
    arn = details["BackupArn"]
    assert arn.startswith(BACKUP_ARN)
    assert len(arn.removeprefix(BACKUP_ARN)) == len("01489602797149-73d8d5bc")
    assert details == {
        "BackupArn": arn,
        "BackupName": "first",
        "BackupSizeBytes": table["TableSizeBytes"],
        "BackupStatus": "CREATING",
        "BackupType": "USER",
        "BackupCreationDateTime": past.clock.now(),
    }
    described = past.call("DescribeBackup", BackupArn=arn)["BackupDescription"]
    assert described["BackupDetails"] == details | {"BackupStatus": "AVAILABLE"}
    assert described["SourceTableDetails"] == {
        "TableName": "abc",
        "TableId": table["TableId"],
        "TableArn": table["TableArn"],
        "TableSizeBytes": table["TableSizeBytes"],
        "KeySchema": key("p", "s"),
        "TableCreationDateTime": table["CreationDateTime"],
        "ProvisionedThroughput": units(0, 0),
        "ItemCount": 10,
        "BillingMode": "PAY_PER_REQUEST",
    }
    features = described["SourceTableFeatureDetails"]
    assert features["LocalSecondaryIndexes"] == [index("local", "p", "l")]
    assert [each["IndexName"] for each in features["GlobalSecondaryIndexes"]] == ["global"]
    assert features["StreamDescription"] == {"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"}
    assert features["TimeToLiveDescription"] == {"TimeToLiveStatus": "ENABLED", "AttributeName": "ttl"}


def test_a_backup_shows_its_moment_whatever_is_written_meanwhile(full: Past) -> None:
    before = full.items()
    arn = full.backup()
    assert full.status(arn) == "CREATING"
    for number in range(0, COUNT + 50, 2):
        full.put(**item(number) | {"text": {"S": "changed"}})
    for number in range(1, COUNT, 10):
        full.call("DeleteItem", TableName="abc", Key={"p": {"S": f"p{number % 7}"}, "s": {"N": str(number)}})
    full.finish()
    assert full.status(arn) == "AVAILABLE"
    restore(full, arn)
    full.finish()
    assert full.checked("target") == before


def test_a_backup_survives_its_table_and_a_restart(full: Past) -> None:
    before, arn = full.items(), full.backup()
    full.finish()
    full.delete()
    full.restart()
    assert full.status(arn) == "AVAILABLE"
    restore(full, arn, "abc")
    full.finish()
    assert full.checked("abc") == before


def test_a_copy_that_a_restart_cut_off_begins_again(full: Past) -> None:
    arn = full.backup()
    full.put(**item(9999))
    full.restart()
    assert full.status(arn) == "CREATING"
    full.check()
    full.finish()
    restore(full, arn)
    full.finish()
    # the copy is of the restart's moment: the table's, by now
    assert full.checked("target") == full.items()
    assert (
        full.call("DescribeBackup", BackupArn=arn)["BackupDescription"]["SourceTableDetails"]["ItemCount"] == COUNT + 1
    )


@pytest.mark.parametrize("steps", range(5))
def test_a_restore_that_a_restart_cut_off_goes_on(full: Past, steps: int) -> None:
    arn = full.backup()
    full.finish()
    restore(full, arn)
    full.engine.run_jobs(steps)
    full.restart()
    full.check()
    full.restart()
    full.finish()
    assert full.checked("target") == full.items()


def test_a_table_is_not_seen_before_it_is_restored(full: Past) -> None:
    arn = full.backup()
    full.finish()
    description = restore(full, arn)
    assert (description["TableStatus"], description["ItemCount"]) == ("CREATING", 0)
    assert description["RestoreSummary"] == {
        "SourceBackupArn": arn,
        "SourceTableArn": full.describe()["TableArn"],
        "RestoreDateTime": full.clock.now(),
        "RestoreInProgress": True,
    }
    assert full.refused("GetItem", TableName="target", Key=item(1))[0] == "ResourceNotFoundException"
    assert full.refused("RestoreTableFromBackup", TargetTableName="target", BackupArn=arn)[0] == "TableInUseException"
    assert full.refused("DeleteTable", TableName="target")[0] == "ResourceInUseException"
    assert full.refused("DeleteBackup", BackupArn=arn)[0] == "BackupInUseException"
    full.finish()
    full.delete("target")
    full.call("DeleteBackup", BackupArn=arn)
    full.check()


def test_what_a_restored_table_does_not_have(past: Past) -> None:
    past.make(
        StreamSpecification={"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"},
        Tags=[{"Key": "a", "Value": "b"}],
        DeletionProtectionEnabled=True,
        TableClass="STANDARD_INFREQUENT_ACCESS",
        SSESpecification={"Enabled": True, "SSEType": "KMS"},
    )
    past.keep()
    past.call("UpdateTimeToLive", TableName="abc", TimeToLiveSpecification={"Enabled": True, "AttributeName": "ttl"})
    restore(past, past.backup())
    past.finish()
    description = past.describe("target")
    assert "LatestStreamArn" not in description
    assert description["DeletionProtectionEnabled"] is False
    assert description["TableClassSummary"]["TableClass"] == "STANDARD_INFREQUENT_ACCESS"
    assert description["SSEDescription"]["Status"] == "ENABLED"
    assert past.call("ListTagsOfResource", ResourceArn=description["TableArn"])["Tags"] == []
    ttl = past.call("DescribeTimeToLive", TableName="target")["TimeToLiveDescription"]
    assert ttl["TimeToLiveStatus"] == "DISABLED"
    continuous = past.call("DescribeContinuousBackups", TableName="target")["ContinuousBackupsDescription"]
    assert continuous["PointInTimeRecoveryDescription"] == {"PointInTimeRecoveryStatus": "DISABLED"}


def test_overrides_of_capacity(past: Past) -> None:
    past.make()
    arn = past.backup()
    keys_only = {"Projection": {"ProjectionType": "KEYS_ONLY"}}
    restore(
        past,
        arn,
        "provisioned",
        BillingModeOverride="PROVISIONED",
        ProvisionedThroughputOverride=units(5, 6),
        GlobalSecondaryIndexOverride=[index("global", "g", **keys_only, ProvisionedThroughput=units(7, 8))],
    )
    past.finish()
    description = past.describe("provisioned")
    assert description["ProvisionedThroughput"] == units(5, 6) | {"NumberOfDecreasesToday": 0}
    assert description["GlobalSecondaryIndexes"][0]["ProvisionedThroughput"]["WriteCapacityUnits"] == 8
    assert "BillingModeSummary" not in description
    restore(past, arn, "limited", OnDemandThroughputOverride={"MaxReadRequestUnits": 10})
    past.finish()
    assert past.describe("limited")["OnDemandThroughput"] == {"MaxReadRequestUnits": 10}


def test_overrides_leave_indexes_out(full: Past) -> None:
    arn = full.backup()
    full.finish()
    restore(full, arn, GlobalSecondaryIndexOverride=[], LocalSecondaryIndexOverride=[])
    full.finish()
    description = full.describe("target")
    assert "GlobalSecondaryIndexes" not in description
    assert "LocalSecondaryIndexes" not in description
    assert {each["AttributeName"] for each in description["AttributeDefinitions"]} == {"p", "s"}
    assert full.items("target") == full.items()
    restore(full, arn, "other", LocalSecondaryIndexOverride=[index("local", "p", "l")], GlobalSecondaryIndexOverride=[])
    full.finish()
    assert len(full.items("other", "local")) == len(full.items("abc", "local"))
    full.check()


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (
            {"BillingModeOverride": "PROVISIONED"},
            "ReadCapacityUnits and WriteCapacityUnits must both be specified when BillingMode is PROVISIONED",
        ),
        (
            {"BillingModeOverride": "PROVISIONED", "ProvisionedThroughputOverride": units(1, 1)},
            "ProvisionedThroughput is not specified for index: global",
        ),
        (
            {"ProvisionedThroughputOverride": units(1, 1)},
            "Neither ReadCapacityUnits nor WriteCapacityUnits can be specified when BillingMode is PAY_PER_REQUEST",
        ),
        (
            {"GlobalSecondaryIndexOverride": [index("other", "g")]},
            "The global secondary index other does not exist in the source table",
        ),
        (
            {"GlobalSecondaryIndexOverride": [index("global", "g")]},
            "The global secondary index global does not match the one of the source table",
        ),
        (
            {"LocalSecondaryIndexOverride": [index("local", "p", "l"), index("local", "p", "l")]},
            "Duplicate index name: local",
        ),
        ({"SSESpecificationOverride": {"Enabled": True, "SSEType": "AES256"}}, "SSEType AES256 is not supported"),
    ],
)
def test_overrides_that_are_refused(overrides: Body, message: str) -> None:
    past = in_memory()
    past.make()
    arn = past.backup()
    refused = past.refused("RestoreTableFromBackup", TargetTableName="target", BackupArn=arn, **overrides)
    assert refused == ("ValidationException", INVALID + message)
    assert past.call("ListTables")["TableNames"] == ["abc"]


def test_what_is_not_there(past: Past) -> None:
    assert past.refused("CreateBackup", TableName="none", BackupName="name") == (
        "TableNotFoundException",
        "Table not found: none",
    )
    arn = f"{BACKUP_ARN}01489602797149-73d8d5bc"
    for operation in ("DescribeBackup", "DeleteBackup"):
        assert past.refused(operation, BackupArn=arn) == ("BackupNotFoundException", f"Backup not found: {arn}")
    assert (
        past.refused("RestoreTableFromBackup", TargetTableName="target", BackupArn=arn)[0] == "BackupNotFoundException"
    )
    past.make()
    arn = past.backup()
    assert past.refused("RestoreTableFromBackup", TargetTableName="abc", BackupArn=arn) == (
        "TableAlreadyExistsException",
        "Table already exists: abc",
    )
    past.world = past.engine.world("999999999999", REGION)
    assert past.refused("DescribeBackup", BackupArn=arn)[0] == "BackupNotFoundException"


def test_a_backup_of_another_region_is_restored(full: Past) -> None:
    before, arn = full.items(), full.backup()
    full.finish()
    full.world = full.engine.world(ACCOUNT, "eu-west-1")
    restore(full, arn, "abc")
    full.finish()
    assert full.checked("abc") == before


def test_a_deleted_backup_is_gone(full: Past) -> None:
    arn = full.backup()
    assert full.refused("DeleteBackup", BackupArn=arn)[0] == "BackupInUseException"
    assert full.refused("DeleteTable", TableName="abc")[0] == "ResourceInUseException"
    full.finish()
    details = full.call("DeleteBackup", BackupArn=arn)["BackupDescription"]["BackupDetails"]
    assert details["BackupStatus"] == "DELETED"
    assert full.refused("DescribeBackup", BackupArn=arn)[0] == "BackupNotFoundException"
    assert list(full.store.range(*keyspace.kept_range())) == []
    full.check()


def test_statuses_take_time_where_they_are_to() -> None:
    past = in_memory(transition_seconds=10.0)
    past.make()
    assert past.refused("CreateBackup", TableName="abc", BackupName="first")[0] == "TableInUseException"
    past.clock.advance(10)
    arn = past.backup()
    past.finish()
    assert past.status(arn) == "CREATING"
    assert past.refused("RestoreTableFromBackup", TargetTableName="target", BackupArn=arn)[0] == "BackupInUseException"
    past.clock.advance(10)
    assert past.status(arn) == "AVAILABLE"
    restore(past, arn)
    past.finish()
    description = past.describe("target")
    assert (description["TableStatus"], description["RestoreSummary"]["RestoreInProgress"]) == ("CREATING", False)
    past.clock.advance(10)
    assert past.describe("target")["TableStatus"] == "ACTIVE"
    assert past.describe("target")["GlobalSecondaryIndexes"][0]["IndexStatus"] == "ACTIVE"


def names(answer: Body) -> list[str]:
    return [each["BackupName"] for each in answer["BackupSummaries"]]


def test_backups_are_listed_in_pages_by_table_type_and_time(past: Past) -> None:
    past.make()
    past.create("other")
    start = past.clock.now()
    for number in range(5):
        past.backup(f"backup{number}")
        past.clock.advance(1)
    past.call("CreateBackup", TableName="other", BackupName="of-other")
    past.keep()
    past.delete()
    everything = [*(f"backup{number}" for number in range(5)), "abc$DeletedTableBackup", "of-other"]
    assert names(past.call("ListBackups", BackupType="ALL")) == everything
    assert names(past.call("ListBackups")) == [name for name in everything if "$" not in name]
    assert names(past.call("ListBackups", BackupType="SYSTEM")) == ["abc$DeletedTableBackup"]
    assert names(past.call("ListBackups", BackupType="AWS_BACKUP")) == []
    assert names(past.call("ListBackups", TableName="abc")) == everything[:5]
    assert names(past.call("ListBackups", TableName="nothing")) == []
    bounds = {"TimeRangeLowerBound": start + 1, "TimeRangeUpperBound": start + 3}
    assert names(past.call("ListBackups", **bounds)) == ["backup1", "backup2"]
    listed, request = [], Body(TableName=past.describe("other")["TableArn"].replace("other", "abc"), Limit=2)
    while True:
        answer = past.call("ListBackups", **request)
        listed.append(names(answer))
        if "LastEvaluatedBackupArn" not in answer:
            break
        request["ExclusiveStartBackupArn"] = answer["LastEvaluatedBackupArn"]
    assert listed == [["backup0", "backup1"], ["backup2", "backup3"], ["backup4"]]


def test_a_deleted_table_with_a_past_leaves_a_system_backup(full: Past) -> None:
    before, table = full.items(), full.describe()
    full.keep()
    full.delete()
    [backup] = full.call("ListBackups", BackupType="SYSTEM")["BackupSummaries"]
    assert backup["BackupName"] == "abc$DeletedTableBackup"
    assert (backup["TableId"], backup["BackupSizeBytes"]) == (table["TableId"], table["TableSizeBytes"])
    assert backup["BackupExpiryDateTime"] == full.clock.now() + SYSTEM_BACKUP_SECONDS
    assert full.refused("DescribeContinuousBackups", TableName="abc")[0] == "TableNotFoundException"
    full.check()
    full.restart()
    full.create()
    full.put(p={"S": "new"})
    restore(full, backup["BackupArn"])
    full.finish()
    assert full.checked("target") == before
    full.clock.advance(SYSTEM_BACKUP_SECONDS)
    assert full.refused("DescribeBackup", BackupArn=backup["BackupArn"])[0] == "BackupNotFoundException"
    full.engine.run_jobs()
    assert list(full.store.range(*keyspace.backup_range())) == []
    assert full.items("target") == before
    full.check()


def test_the_system_backup_of_a_table_that_is_still_being_deleted() -> None:
    past = in_memory(transition_seconds=10.0)
    past.make()
    past.clock.advance(10)
    past.fill(5)
    past.keep()
    past.delete()
    past.restart()
    assert past.describe()["TableStatus"] == "DELETING"
    [backup] = past.call("ListBackups", BackupType="SYSTEM")["BackupSummaries"]
    assert past.refused("DeleteBackup", BackupArn=backup["BackupArn"])[0] == "BackupInUseException"
    past.clock.advance(10)
    past.restart()
    past.check()
    assert past.call("ListTables")["TableNames"] == []
    [backup] = past.call("ListBackups", BackupType="SYSTEM")["BackupSummaries"]
    restore(past, backup["BackupArn"])
    past.finish()
    past.clock.advance(10)
    assert past.checked("target").keys() == {name_of(number) for number in range(5)}


def test_the_checker_sees_what_a_backup_lost(full: Past) -> None:
    full.backup()
    full.finish()
    first = next(iter(full.store.range(*keyspace.kept_range())))[0]
    transaction = full.store.begin()
    transaction.delete(first)
    transaction.put(keyspace.kept_prefix(77) + b"place", b"")
    transaction.commit()
    problems = [str(finding) for finding in check(full.store)]
    assert [problem.partition(": ")[2][:14] for problem in problems] == ["it should have", "it belongs to "]
