"""S10: one case, written in two regions at the same time: who wins, what the user sees, and keys that stay safe."""

from __future__ import annotations

from typing import Any

import pytest
from botocore.exceptions import ClientError

from dynamometer import Local
from dynamometer.base.clock import ManualClock
from tests.figures.tables import make_table

HOME, AWAY = "eu-central-1", "us-east-1"
KEY = {"PK": {"S": "CASE#1"}, "SK": {"S": "STATE"}}


class Cases:
    """The table of cases in both regions."""

    def __init__(self, db: Local, clock: ManualClock) -> None:
        self.db = db
        self.clock = clock
        self.at = {region: db.client("dynamodb", region_name=region) for region in (HOME, AWAY)}
        self.name = make_table(self.at[HOME], "Cases")
        self.at[HOME].describe_table(TableName=self.name)
        self.at[HOME].update_table(TableName=self.name, ReplicaUpdates=[{"Create": {"RegionName": AWAY}}])
        self.db.catch_up()

    def replicate(self) -> None:
        self.clock.advance(2)
        self.db.catch_up()

    def close(self, region: str, by: str, version: int) -> None:
        """A transition from a version, as in one region."""
        self.at[region].update_item(
            TableName=self.name,
            Key=KEY,
            UpdateExpression="SET closedBy = :by, version = :next",
            ConditionExpression="version = :version",
            ExpressionAttributeValues={
                ":by": {"S": by},
                ":version": {"N": str(version)},
                ":next": {"N": str(version + 1)},
            },
        )

    def state(self, region: str) -> dict[str, Any]:
        item: dict[str, Any] = self.at[region].get_item(TableName=self.name, Key=KEY, ConsistentRead=True)["Item"]
        return item

    def begin(self, region: str, command: str) -> bool:
        """Take a command's idempotency key; whether it was free."""
        try:
            self.at[region].put_item(
                TableName=self.name,
                Item={"PK": {"S": command}, "SK": {"S": "RECORD"}, "by": {"S": region}},
                ConditionExpression="attribute_not_exists(PK)",
            )
        except ClientError as error:
            assert error.response["Error"]["Code"] == "ConditionalCheckFailedException"
            return False
        return True


@pytest.fixture
def cases(dynamometer: Local, dynamometer_clock: ManualClock) -> Cases:
    made = Cases(dynamometer, dynamometer_clock)
    made.at[HOME].put_item(TableName=made.name, Item={**KEY, "version": {"N": "1"}})
    made.replicate()
    return made


def test_s10_both_transitions_succeed_and_the_later_one_stays(cases: Cases) -> None:
    """A version condition orders the writers of one region only."""
    cases.close(HOME, "anna", 1)
    cases.clock.advance(0.2)
    cases.close(AWAY, "ben", 1)
    assert (cases.state(HOME)["closedBy"], cases.state(AWAY)["closedBy"]) == ({"S": "anna"}, {"S": "ben"})
    cases.replicate()
    assert cases.state(HOME) == cases.state(AWAY)
    assert cases.state(HOME)["closedBy"] == {"S": "ben"}


def test_s10_the_user_whose_update_was_lost_can_be_told(cases: Cases) -> None:
    cases.close(HOME, "anna", 1)
    cases.clock.advance(0.2)
    cases.close(AWAY, "ben", 1)
    cases.replicate()
    [conflict] = cases.db.conflicts(cases.name)
    assert conflict.key == KEY
    assert conflict.lost_item is not None
    assert (conflict.lost_region, conflict.lost_item["closedBy"]) == (HOME, {"S": "anna"})
    assert conflict.winning_region == AWAY
    assert conflict.winning_at - conflict.lost_at == pytest.approx(0.2)


def test_s10_a_transition_upon_a_replicated_one_loses_nothing(cases: Cases) -> None:
    cases.close(HOME, "anna", 1)
    cases.replicate()
    with pytest.raises(ClientError, match="ConditionalCheckFailed"):
        cases.close(AWAY, "ben", 1)
    cases.close(AWAY, "ben", 2)
    cases.replicate()
    assert cases.state(HOME)["version"] == {"N": "3"}
    assert cases.db.conflicts() == []


def test_s10_an_idempotency_key_holds_in_its_own_region_only(cases: Cases) -> None:
    """The same command, tried again in the other region before replication: it would be carried out twice."""
    assert [cases.begin(HOME, "COMMAND#7"), cases.begin(AWAY, "COMMAND#7")] == [True, True]
    cases.replicate()
    assert len(cases.db.conflicts()) == 1
    # with the region that owns the command in its key, the other one does not take it
    assert [cases.begin(HOME, f"COMMAND#{HOME}#8"), cases.begin(HOME, f"COMMAND#{HOME}#8")] == [True, False]
    cases.replicate()
    assert cases.begin(AWAY, f"COMMAND#{HOME}#8") is False
    assert len(cases.db.conflicts()) == 1
