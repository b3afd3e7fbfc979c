"""The fixtures, each in a test run of its own."""

from __future__ import annotations

import pytest

pytest_plugins = ["pytester"]

HEAD = """
import boto3, pytest
TABLE = dict(
    TableName="things",
    BillingMode="PAY_PER_REQUEST",
    KeySchema=[dict(AttributeName="id", KeyType="HASH")],
    AttributeDefinitions=[dict(AttributeName="id", AttributeType="S")],
)
"""


def run(pytester: pytest.Pytester, tests: str, *options: str) -> pytest.RunResult:
    pytester.makepyfile(HEAD + tests)
    return pytester.runpytest("-p", "no:cacheprovider", *options)


def test_each_test_has_an_engine_of_its_own(pytester: pytest.Pytester) -> None:
    tests = """
@pytest.mark.parametrize("number", range(3))
def test_fresh(number, dynamodb_client, dynamodb_resource):
    assert dynamodb_client.list_tables()["TableNames"] == []
    dynamodb_client.create_table(**TABLE)
    dynamodb_resource.Table("things").put_item(Item={"id": "a"})
    assert dynamodb_client.scan(TableName="things")["Count"] == 1
"""
    run(pytester, tests).assert_outcomes(passed=3)


def test_clients_are_made_once_unless_a_test_changes_them(pytester: pytest.Pytester) -> None:
    tests = """
seen = []
@pytest.mark.parametrize("number", range(4))
def test_client(number, dynamodb_client):
    if number == 1:
        dynamodb_client.meta.events.register("after-call.dynamodb", lambda **_: None)
    seen.append(dynamodb_client)
    if number == 3:
        assert seen[0] is seen[1]
        assert seen[1] is not seen[2]
        assert seen[2] is seen[3]
"""
    run(pytester, tests).assert_outcomes(passed=4)


def test_the_engine_runs_on_the_tests_clock(pytester: pytest.Pytester) -> None:
    tests = """
def created(client):
    return client.describe_table(TableName="things")["Table"]["CreationDateTime"].timestamp()

def test_clock(dynamodb_client, dynamometer_clock):
    start = dynamometer_clock.now()
    dynamometer_clock.advance(3600)
    dynamodb_client.create_table(**TABLE)
    assert created(dynamodb_client) == start + 3600

def test_system_clock(dynamodb_client):
    import time
    dynamodb_client.create_table(**TABLE)
    assert abs(created(dynamodb_client) - time.time()) < 60
"""
    run(pytester, tests).assert_outcomes(passed=2)


def test_everywhere_routes_code_that_makes_its_own_clients(pytester: pytest.Pytester) -> None:
    tests = """
def code_under_test():
    boto3.client("dynamodb", region_name="us-east-1").create_table(**TABLE)

def test_routed(dynamodb_everywhere, dynamodb_client):
    import botocore.endpoint
    assert hasattr(botocore.endpoint.Endpoint._send, "__wrapped__")
    code_under_test()
    assert dynamodb_client.list_tables()["TableNames"] == ["things"]

def test_no_longer_routed(dynamodb_client):
    import botocore.endpoint
    assert not hasattr(botocore.endpoint.Endpoint._send, "__wrapped__")
    assert dynamodb_client.list_tables()["TableNames"] == []
"""
    run(pytester, tests).assert_outcomes(passed=2)


def test_settings_come_from_the_ini_file_and_the_marker(pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\ndynamometer_settings =\n    region_name = 'eu-west-1'\n    shared_world = true\n")
    tests = """
def test_ini(dynamometer):
    assert dynamometer.region_name == "eu-west-1"
    assert dynamometer.settings.shared_world

@pytest.mark.dynamometer(region_name="us-west-2", shared_world=False)
def test_marker(dynamometer, dynamodb_client):
    assert dynamodb_client.meta.region_name == "us-west-2"
    assert not dynamometer.settings.shared_world
"""
    run(pytester, tests, "--strict-markers").assert_outcomes(passed=2)


@pytest.mark.parametrize(
    ("line", "message"), [("nonsense = 1", "'nonsense' is not a setting"), ("nonsense", "name = value")]
)
def test_wrong_settings_say_so(pytester: pytest.Pytester, line: str, message: str) -> None:
    pytester.makeini(f"[pytest]\ndynamometer_settings =\n    {line}\n")
    result = run(pytester, "def test_it(dynamometer): pass")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines([f"*{message}*"])


def test_tests_that_do_not_ask_import_nothing(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("def test_it():\n    import sys\n    assert 'boto3' not in sys.modules\n")
    pytester.runpytest_subprocess("-p", "no:cacheprovider").assert_outcomes(passed=1)


def test_the_fixtures_are_listed_with_what_they_are_for(pytester: pytest.Pytester) -> None:
    result = pytester.runpytest("--fixtures")
    result.stdout.fnmatch_lines(["dynamodb_client*", "*boto3 client*"])
