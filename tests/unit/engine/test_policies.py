"""Resource policies: what is a policy, what is the same one, and whose revision a change expects."""

from __future__ import annotations

import json
from typing import Any

import pytest
from botocore.exceptions import ClientError

import dynamometer
from dynamometer.base.clock import ManualClock
from tests.unit.engine.tables import ACCOUNT, INVALID, REGION, Tables

ARN = f"arn:aws:dynamodb:{REGION}:{ACCOUNT}:table/abc"
DOCUMENT = f"{INVALID}Invalid policy document: "
NOT_FOUND = "Resource-based policy not found for the provided ResourceArn: "


def policy(**changes: Any) -> str:
    """A policy with one statement; None takes a member out of it."""
    statement = {
        "Sid": "reader",
        "Effect": "Allow",
        "Principal": {"AWS": "111122223333"},
        "Action": ["dynamodb:GetItem"],
        "Resource": ARN,
    } | changes
    kept = {name: value for name, value in statement.items() if value is not None}
    return json.dumps({"Version": "2012-10-17", "Statement": [kept]}, indent=2)


@pytest.fixture
def tables() -> Tables:
    tables = Tables()
    tables.create()
    return tables


def put(tables: Tables, text: str, arn: str = ARN, **more: Any) -> str:
    revision: str = tables.call("PutResourcePolicy", ResourceArn=arn, Policy=text, **more)["RevisionId"]
    return revision


def get(tables: Tables, arn: str = ARN) -> Any:
    return tables.call("GetResourcePolicy", ResourceArn=arn)


def refused(tables: Tables, text: str, **more: Any) -> str | None:
    name, message = tables.refused("PutResourcePolicy", ResourceArn=ARN, Policy=text, **more)
    assert name == "ValidationException"
    return message


def test_policy_is_given_back_in_one_form(tables: Tables) -> None:
    revision = put(tables, policy())
    assert get(tables) == {
        "Policy": '{"Version":"2012-10-17","Statement":[{"Sid":"reader","Effect":"Allow","Principal":{"AWS":'
        f'"arn:aws:iam::111122223333:root"}},"Action":"dynamodb:GetItem","Resource":"{ARN}"}}]}}',
        "RevisionId": revision,
    }
    assert len(revision) == 13


@pytest.mark.parametrize(
    "same",
    [
        policy(),
        json.dumps(json.loads(policy())),
        policy(Action="dynamodb:GetItem"),
        policy(Principal={"AWS": ["111122223333", "arn:aws:iam::111122223333:root"]}),
        policy(Effect="allow"),
        json.dumps({"Statement": json.loads(policy())["Statement"][0], "Version": "2012-10-17"}),
    ],
)
def test_same_policy_keeps_its_revision(tables: Tables, same: str) -> None:
    revision = put(tables, policy())
    tables.clock.advance(1)
    assert put(tables, same) == revision


def test_another_policy_is_a_later_revision(tables: Tables) -> None:
    first = put(tables, policy())
    second = put(tables, policy(Action="dynamodb:Query"))
    assert int(second) > int(first)
    assert int(put(tables, policy())) > int(second)


def test_policy_without_a_version_reads_back_with_the_old_one(tables: Tables) -> None:
    put(tables, json.dumps({"Statement": json.loads(policy())["Statement"]}))
    assert json.loads(get(tables)["Policy"])["Version"] == "2008-10-17"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", DOCUMENT + "This policy contains invalid Json"),
        ("{not json", DOCUMENT + "This policy contains invalid Json"),
        ("[]", DOCUMENT + "This policy contains invalid Json"),
        ('{"Version":"2012-10-17","Statement":[]}', DOCUMENT + "Could not parse the policy: Statement is empty!"),
        ('{"Version":"2012-10-17"}', DOCUMENT + "Could not parse the policy: Statement is empty!"),
        (policy(Resource=None), DOCUMENT + "Missing required field Resource"),
        (policy(Action=None), DOCUMENT + "Missing required field Action"),
        (policy(Principal=None), DOCUMENT + "Missing required field Principal"),
        (policy(Effect="Maybe"), DOCUMENT + "Missing required field Effect"),
        (policy(Principal="111122223333"), DOCUMENT + "Syntax error"),
        (policy(Action=[]), DOCUMENT + "Syntax error"),
        (policy(Colour="red"), DOCUMENT + "Syntax error"),
        (
            policy(Action=["dynamodb:GetRecords", "dynamodb:DescribeStream"]),
            DOCUMENT + 'The following action names are invalid: "dynamodb:GetRecords", "dynamodb:DescribeStream"',
        ),
        (
            policy(Principal="*"),
            "Resource-based policy grants unbounded access in one or more elements. Please revise the policy to "
            "ensure least-privilege form of access",
        ),
        (policy() + " " * 20480, INVALID + "Maximum policy size of 20480 bytes exceeded"),
    ],
)
def test_what_is_no_policy(tables: Tables, text: str, message: str) -> None:
    assert refused(tables, text) == message
    assert tables.refused("GetResourcePolicy", ResourceArn=ARN)[0] == "PolicyNotFoundException"


def test_everyone_may_be_denied_or_allowed_on_a_condition(tables: Tables) -> None:
    put(tables, policy(Principal="*", Effect="Deny"))
    put(tables, policy(Principal="*", Condition={"StringEquals": {"aws:PrincipalOrgID": "o-1"}}))


def test_statement_names_are_unique(tables: Tables) -> None:
    statement = json.loads(policy())["Statement"][0]
    text = json.dumps({"Version": "2012-10-17", "Statement": [statement, statement]})
    assert refused(tables, text) == DOCUMENT + "The Statement Ids in the policy are not unique"


def test_table_without_a_policy(tables: Tables) -> None:
    assert tables.refused("GetResourcePolicy", ResourceArn=ARN) == ("PolicyNotFoundException", NOT_FOUND + ARN)
    assert tables.call("DeleteResourcePolicy", ResourceArn=ARN) == {}
    expected = f"{NOT_FOUND}Requested update for policy with revision id 123, but table abc has no associated policy."
    for operation, more in (("PutResourcePolicy", {"Policy": policy()}), ("DeleteResourcePolicy", {})):
        assert tables.refused(operation, ResourceArn=ARN, ExpectedRevisionId="123", **more) == (
            "PolicyNotFoundException",
            expected,
        )


def test_change_of_another_revision_is_refused(tables: Tables) -> None:
    old = put(tables, policy(), ExpectedRevisionId="NO_POLICY")
    new = put(tables, policy(Action="dynamodb:Query"), ExpectedRevisionId=old)
    assert tables.refused("PutResourcePolicy", ResourceArn=ARN, Policy=policy(), ExpectedRevisionId=old) == (
        "PolicyNotFoundException",
        f"{NOT_FOUND}Requested update for policy with revision id {old}, but the policy associated to target table "
        f"abc has revision id {new}.",
    )
    assert tables.refused("PutResourcePolicy", ResourceArn=ARN, Policy=policy(), ExpectedRevisionId="NO_POLICY") == (
        "PolicyNotFoundException",
        f"{NOT_FOUND}Requested policy update expecting none to be present for table abc, but a policy exists with "
        f"revision id {new}.",
    )
    assert get(tables)["RevisionId"] == new


def test_deletion_leaves_a_revision(tables: Tables) -> None:
    revision = put(tables, policy())
    tables.clock.advance(5)
    assert tables.call("DeleteResourcePolicy", ResourceArn=ARN, ExpectedRevisionId=revision) == {"RevisionId": revision}
    trace = tables.call("DeleteResourcePolicy", ResourceArn=ARN)["RevisionId"]
    assert int(trace) == int(revision) + 5000
    assert tables.refused("GetResourcePolicy", ResourceArn=ARN)[0] == "PolicyNotFoundException"
    assert int(put(tables, policy(), ExpectedRevisionId="NO_POLICY")) > int(trace)


def test_policy_survives_a_restart_and_goes_with_its_table(tables: Tables) -> None:
    put(tables, policy())
    before = get(tables)
    tables.open()
    assert get(tables) == before
    tables.delete()
    tables.create()
    assert tables.refused("GetResourcePolicy", ResourceArn=ARN)[0] == "PolicyNotFoundException"


def test_new_table_may_bring_its_policy(tables: Tables) -> None:
    tables.create("xyz", ResourcePolicy=policy())
    arn = ARN.replace("abc", "xyz")
    assert json.loads(get(tables, arn)["Policy"])["Statement"][0]["Sid"] == "reader"


def test_new_table_with_a_wrong_policy_is_refused() -> None:
    assert Tables().refused_table(ResourcePolicy="{") == DOCUMENT + "This policy contains invalid Json"


def test_stream_has_a_policy_of_its_own(tables: Tables) -> None:
    description = tables.update(StreamSpecification={"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"})
    arn = description["LatestStreamArn"]
    put(tables, policy(Action="dynamodb:GetRecords", Resource=arn), arn)
    assert tables.refused("GetResourcePolicy", ResourceArn=ARN)[0] == "PolicyNotFoundException"
    assert "GetRecords" in get(tables, arn)["Policy"]
    unknown = ARN + "/stream/2000-01-01T00:00:00.000"
    assert tables.refused("GetResourcePolicy", ResourceArn=unknown) == (
        "ResourceNotFoundException",
        "Requested resource not found: Stream: 2000-01-01T00:00:00.000 not found for Table: abc",
    )


@pytest.mark.parametrize(
    ("arn", "name", "message"),
    [
        ("abc", "ValidationException", f"{INVALID}ARNs must start with 'arn:': abc"),
        (
            ARN.replace("abc", "nope"),
            "ResourceNotFoundException",
            "Requested resource not found: Table: nope not found",
        ),
        (
            ARN.replace(ACCOUNT, "999999999999"),
            "ValidationException",
            "This action is only supported by accounts that match the resource owner\u2019s account.",
        ),
        (
            ARN.replace(REGION, "eu-west-1"),
            "ValidationException",
            f"{INVALID}Invalid resource Arn: {ARN.replace(REGION, 'eu-west-1')}",
        ),
        (
            ARN + "/index/gsi",
            "ValidationException",
            f"{INVALID}Invalid resource arn provided, only table or stream is accepted. Provided resource arn: "
            f"{ARN}/index/gsi",
        ),
        (
            ARN + "/backup/0170",
            "ValidationException",
            f"{INVALID}Provided Arn is not a DynamoDB resource arn: {ARN}/backup/0170",
        ),
    ],
)
def test_other_names(tables: Tables, arn: str, name: str, message: str) -> None:
    assert tables.refused("GetResourcePolicy", ResourceArn=arn) == (name, message)
    assert tables.refused("PutResourcePolicy", ResourceArn=arn, Policy=policy()) == (name, message)


def test_change_follows_a_change_after_a_while_where_changes_take_time() -> None:
    tables = Tables(transition_seconds=2)
    tables.create()
    tables.clock.advance(2)
    put(tables, policy())
    assert put(tables, policy())
    name, message = tables.refused("PutResourcePolicy", ResourceArn=ARN, Policy=policy(Action="dynamodb:Query"))
    assert name == "ThrottlingException"
    assert message is not None and message.startswith(
        "Resource-based policy for table abc modified within the previous 15000 milliseconds. Please try again after "
    )
    tables.clock.advance(15)
    put(tables, policy(Action="dynamodb:Query"))


def test_through_a_client() -> None:
    with dynamometer.local(clock=ManualClock()) as db:
        client = db.client()
        arn = client.create_table(
            TableName="abc",
            BillingMode="PAY_PER_REQUEST",
            KeySchema=[{"AttributeName": "p", "KeyType": "HASH"}],
            AttributeDefinitions=[{"AttributeName": "p", "AttributeType": "S"}],
        )["TableDescription"]["TableArn"]
        with pytest.raises(client.exceptions.PolicyNotFoundException):
            client.get_resource_policy(ResourceArn=arn)
        revision = client.put_resource_policy(ResourceArn=arn, Policy=policy())["RevisionId"]
        assert client.get_resource_policy(ResourceArn=arn)["RevisionId"] == revision
        with pytest.raises(ClientError, match="has revision id"):
            client.delete_resource_policy(ResourceArn=arn, ExpectedRevisionId="1")
