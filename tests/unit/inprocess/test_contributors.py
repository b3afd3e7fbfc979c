"""Contributor insights read in process."""

from __future__ import annotations

import pytest

import dynamometer
from dynamometer.base.errors import ResourceNotFoundException


def test_the_most_frequent_keys_of_a_table() -> None:
    with dynamometer.local() as db:
        client = db.client()
        client.create_table(
            TableName="abc",
            BillingMode="PAY_PER_REQUEST",
            AttributeDefinitions=[{"AttributeName": "p", "AttributeType": "S"}],
            KeySchema=[{"AttributeName": "p", "KeyType": "HASH"}],
        )
        assert db.contributors("abc") == {}
        client.update_contributor_insights(TableName="abc", ContributorInsightsAction="ENABLE")
        for p in ("a", "b", "b"):
            client.put_item(TableName="abc", Item={"p": {"S": p}})
        assert [(each.key, each.count) for each in db.contributors("abc")["PKC"]] == [(("b",), 2), (("a",), 1)]
        with pytest.raises(ResourceNotFoundException):
            db.contributors("abc", "nope")
