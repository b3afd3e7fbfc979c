"""Streams: which changes become records, what is in them, and how they are read."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dynamometer.base.clock import ManualClock
from tests.unit.engine.streaming import HOUR, Streaming, brief

BOTH = "NEW_AND_OLD_IMAGES"
ONE_UNIT = {"ReadCapacityUnits": 1, "WriteCapacityUnits": 1}


@pytest.fixture
def at() -> Iterator[Streaming]:
    made = Streaming()
    yield made
    made.db.close()


# --- Records ---


@pytest.mark.parametrize("view_type", ["KEYS_ONLY", "NEW_IMAGE", "OLD_IMAGE", BOTH])
def test_a_record_has_the_images_of_its_view_type(at: Streaming, view_type: str) -> None:
    arn = at.create(view_type)
    old = {"p": {"S": "a"}, "v": {"N": "1"}}
    new = {"p": {"S": "a"}, "v": {"N": "2"}}
    at.put("a", v={"N": "1.0"})
    at.put("a", v={"N": "2"})
    at.delete("a")
    has_new, has_old = view_type in ("NEW_IMAGE", BOTH), view_type in ("OLD_IMAGE", BOTH)
    images = [
        {name: record["dynamodb"][name] for name in ("NewImage", "OldImage") if name in record["dynamodb"]}
        for record in at.read(arn)
    ]
    expected: list[tuple[Any, Any]] = [(old, None), (new, old), (None, new)]
    assert images == [
        ({"NewImage": after} if has_new and after else {}) | ({"OldImage": before} if has_old and before else {})
        for after, before in expected
    ]


def test_a_whole_record(at: Streaming) -> None:
    """Sizes as in the developer guide's sample: 26 bytes for an id and a message."""
    arn = at.create()
    at.client.put_item(TableName="tab", Item={"p": {"S": "1"}, "Message": {"S": "New item!"}})
    at.client.put_item(TableName="tab", Item={"p": {"S": "1"}, "Message": {"S": "This item has changed"}})
    first, second = at.read(arn)
    assert (len(first["eventID"]), first["eventID"] != second["eventID"]) == (32, True)
    assert {name: first[name] for name in ("eventName", "eventVersion", "eventSource", "awsRegion")} == {
        "eventName": "INSERT",
        "eventVersion": "1.1",
        "eventSource": "aws:dynamodb",
        "awsRegion": "us-east-1",
    }
    assert "userIdentity" not in first
    change = first["dynamodb"]
    assert change["ApproximateCreationDateTime"].timestamp() == at.clock.now()
    assert (change["StreamViewType"], change["SizeBytes"]) == (BOTH, len("p1") * 2 + len("MessageNew item!"))
    assert second["dynamodb"]["SizeBytes"] == len("p1") * 3 + len("MessageNew item!MessageThis item has changed")
    numbers = [record["dynamodb"]["SequenceNumber"] for record in (first, second)]
    assert numbers == sorted(numbers) and all(21 <= len(number) <= 40 for number in numbers)


def test_another_order_inside_a_value_is_a_change(at: Streaming) -> None:
    """The bytes are the same and their order is not: of members that is nothing, of letters it is."""
    arn = at.create()
    at.put("a", v={"S": "ab"}, w={"S": "c"})
    at.put("a", v={"S": "ba"}, w={"S": "c"})
    at.put("a", v={"S": "c"}, w={"S": "ba"})
    assert [record["eventName"] for record in at.read(arn)] == ["INSERT", "MODIFY", "MODIFY"]


def test_what_changes_nothing_leaves_no_record(at: Streaming) -> None:
    arn = at.create()
    value = {"M": {"x": {"N": "1"}, "y": {"SS": ["a", "b"]}}}
    at.put("a", v=value)
    at.put("a", v={"M": {"y": {"SS": ["b", "a"]}, "x": {"N": "1.0"}}})
    at.client.put_item(TableName="tab", Item={"v": value, "p": {"S": "a"}})
    at.update("a", "SET v.x = :x", x={"N": "1"})
    at.update("missing", "REMOVE v")
    at.delete("missing")
    at.client.transact_write_items(
        TransactItems=[
            {"ConditionCheck": {"TableName": "tab", "Key": {"p": {"S": "a"}}, "ConditionExpression": "v <> p"}}
        ]
    )
    with pytest.raises(at.client.exceptions.ConditionalCheckFailedException):
        at.client.delete_item(TableName="tab", Key={"p": {"S": "a"}}, ConditionExpression="attribute_not_exists(p)")
    assert brief(at.read(arn)) == [("INSERT", "a")]


def test_the_order_of_a_list_is_a_change(at: Streaming) -> None:
    arn = at.create()
    at.put("a", v={"L": [{"N": "1"}, {"N": "2"}]})
    at.put("a", v={"L": [{"N": "2"}, {"N": "1"}]})
    assert brief(at.read(arn)) == [("INSERT", "a"), ("MODIFY", "a")]


def test_an_update_of_a_missing_item_inserts_it(at: Streaming) -> None:
    arn = at.create()
    at.update("a", "SET v = :v", v={"N": "1"})
    at.client.update_item(TableName="tab", Key={"p": {"S": "b"}})
    at.update("a", "SET v = :v", v={"N": "2"})
    assert sorted(brief(at.read(arn))) == [("INSERT", "a"), ("INSERT", "b"), ("MODIFY", "a")]
    [bare] = [record for record in at.read(arn) if record["dynamodb"]["Keys"]["p"]["S"] == "b"]
    assert bare["dynamodb"]["NewImage"] == {"p": {"S": "b"}}


def test_batches_and_transactions_leave_a_record_for_each_item(at: Streaming) -> None:
    arn = at.create()
    put: Any = [{"PutRequest": {"Item": {"p": {"S": key}}}} for key in "abc"]
    at.client.batch_write_item(RequestItems={"tab": put})
    at.client.transact_write_items(
        TransactItems=[
            {"Put": {"TableName": "tab", "Item": {"p": {"S": "d"}}}},
            {"Delete": {"TableName": "tab", "Key": {"p": {"S": "a"}}}},
        ]
    )
    with pytest.raises(at.client.exceptions.TransactionCanceledException):
        at.client.transact_write_items(
            TransactItems=[
                {"Put": {"TableName": "tab", "Item": {"p": {"S": "e"}}}},
                {"ConditionCheck": {"TableName": "tab", "Key": {"p": {"S": "b"}}, "ConditionExpression": "p = v"}},
            ]
        )
    assert sorted(brief(at.read(arn))) == [("INSERT", key) for key in "abcd"] + [("REMOVE", "a")]


def test_an_item_is_in_one_shard_and_its_records_are_in_order(at: Streaming) -> None:
    arn = at.create()
    for number in range(20):
        for key in "abcdefgh":
            at.put(key, n={"N": str(number)})
    by_shard = {shard["ShardId"]: at.read_shard(arn, shard["ShardId"], limit=7) for shard in at.shards(arn)}
    assert len(by_shard) == 4
    places: dict[str, set[str]] = {}
    for shard_id, records in by_shard.items():
        numbers: dict[str, list[int]] = {}
        for record in records:
            key = record["dynamodb"]["Keys"]["p"]["S"]
            places.setdefault(key, set()).add(shard_id)
            numbers.setdefault(key, []).append(int(record["dynamodb"]["NewImage"]["n"]["N"]))
        assert all(found == list(range(20)) for found in numbers.values())
        sequences = [record["dynamodb"]["SequenceNumber"] for record in records]
        assert sequences == sorted(set(sequences))
    assert sorted(places) == list("abcdefgh") and all(len(shards) == 1 for shards in places.values())


# --- Turning it on and off ---


def test_a_stream_that_is_disabled_closes_and_stays_readable_for_a_day(at: Streaming) -> None:
    first = at.create("KEYS_ONLY")
    at.put("a")
    at.set_stream(None)
    at.put("b")
    assert at.describe(first)["StreamStatus"] == "DISABLED"
    table = at.client.describe_table(TableName="tab")["Table"]
    assert (table["LatestStreamArn"], "StreamSpecification" in table) == (first, False)
    second = at.set_stream("NEW_IMAGE")
    at.put("c")
    assert second != first
    assert (brief(at.read(first)), brief(at.read(second))) == ([("INSERT", "a")], [("INSERT", "c")])
    assert all("EndingSequenceNumber" in shard["SequenceNumberRange"] for shard in at.shards(first))
    listed = at.streams.list_streams(TableName="tab")["Streams"]
    assert [stream["StreamArn"] for stream in listed] == [first, second]
    at.clock.advance(24 * HOUR - 1)
    assert brief(at.read(first)) == [("INSERT", "a")]
    at.clock.advance(2)
    assert at.refused(at.streams.describe_stream, StreamArn=first) == (
        "ResourceNotFoundException",
        f"Requested resource not found: Stream: {first} not found",
    )
    assert [stream["StreamArn"] for stream in at.streams.list_streams()["Streams"]] == [second]


def test_a_deleted_table_leaves_its_stream_for_a_day(at: Streaming) -> None:
    first = at.create()
    at.put("a")
    at.client.delete_table(TableName="tab")
    second = at.create()
    at.put("b")
    assert first != second
    assert (brief(at.read(first)), brief(at.read(second))) == ([("INSERT", "a")], [("INSERT", "b")])
    assert at.describe(first)["StreamStatus"] == "DISABLED"
    at.clock.advance(24 * HOUR + 1)
    at.db.catch_up()
    assert at.refused(at.streams.describe_stream, StreamArn=first)[0] == "ResourceNotFoundException"
    assert [stream["StreamArn"] for stream in at.streams.list_streams()["Streams"]] == [second]


def test_the_states_of_a_stream_take_their_time() -> None:
    at = Streaming(table_transition_seconds=10.0)
    arn = at.create()
    assert at.describe(arn)["StreamStatus"] == "ENABLING"
    at.clock.advance(10)
    assert at.describe(arn)["StreamStatus"] == "ENABLED"
    at.set_stream(None)
    assert at.describe(arn)["StreamStatus"] == "DISABLING"
    at.clock.advance(10)
    assert at.describe(arn)["StreamStatus"] == "DISABLED"


# --- Shards ---


def test_a_shard_is_replaced_by_a_child_after_four_hours(at: Streaming) -> None:
    arn = at.create(ProvisionedThroughput=ONE_UNIT)
    at.put("a")
    at.clock.advance(4 * HOUR + 1)
    at.put("b")
    at.clock.advance(4 * HOUR)
    at.put("c")
    first, second, third = at.shards(arn)
    assert "ParentShardId" not in first
    assert (second["ParentShardId"], third["ParentShardId"]) == (first["ShardId"], second["ShardId"])
    ends = [shard["SequenceNumberRange"].get("EndingSequenceNumber") for shard in (first, second, third)]
    starts = [shard["SequenceNumberRange"]["StartingSequenceNumber"] for shard in (first, second, third)]
    assert ends[2] is None and starts[0] < ends[0] < starts[1] < ends[1] < starts[2]
    assert [brief(at.read_shard(arn, shard["ShardId"])) for shard in (first, second, third)] == [
        [("INSERT", "a")],
        [("INSERT", "b")],
        [("INSERT", "c")],
    ]
    assert "NextShardIterator" not in at.get(at.iterator(arn, first["ShardId"]))
    assert "NextShardIterator" in at.get(at.iterator(arn, third["ShardId"]))
    children = at.describe(arn, ShardFilter={"Type": "CHILD_SHARDS", "ShardId": first["ShardId"]})["Shards"]
    assert [child["ShardId"] for child in children] == [second["ShardId"]]


def test_a_reader_of_an_open_shard_finds_its_end_when_it_is_closed(at: Streaming) -> None:
    arn = at.create(ProvisionedThroughput=ONE_UNIT)
    at.put("a")
    [shard] = at.shards(arn)
    iterator = at.get(at.iterator(arn, shard["ShardId"]))["NextShardIterator"]
    for _ in range(3 * 5):
        at.clock.advance(800)
        iterator = at.get(iterator)["NextShardIterator"]
    at.put("b")
    answer = at.get(iterator)
    assert brief(answer["Records"]) == [("INSERT", "b")]
    for _ in range(3):
        at.clock.advance(800)
        answer = at.get(answer["NextShardIterator"])
        if "NextShardIterator" not in answer:
            break
    assert "NextShardIterator" not in answer
    assert brief(at.read(arn)) == [("INSERT", "a"), ("INSERT", "b")]


@pytest.mark.parametrize("transition_seconds", [0.0, 10.0])
def test_partitions_split_when_throughput_grows_and_stay_when_it_shrinks(transition_seconds: float) -> None:
    at = Streaming(table_transition_seconds=transition_seconds)
    arn = at.create(ProvisionedThroughput=ONE_UNIT)
    at.clock.advance(transition_seconds)
    keys = [f"{number:02}" for number in range(40)]
    for key in keys:
        at.put(key, n={"N": "1"})
    for units in (2500, 1):
        throughput = {"ReadCapacityUnits": 1, "WriteCapacityUnits": units}
        at.client.update_table(TableName="tab", ProvisionedThroughput=throughput)
        at.clock.advance(transition_seconds)
        at.client.describe_table(TableName="tab")
        for key in keys:
            at.put(key, n={"N": f"{units}"}, old={"BOOL": True})
    parent, *children = at.shards(arn)
    assert len(children) == 3 and {child["ParentShardId"] for child in children} == {parent["ShardId"]}
    assert len(at.read_shard(arn, parent["ShardId"])) == 40
    shares = [at.read_shard(arn, child["ShardId"]) for child in children]
    assert sum(map(len, shares)) == 80 and all(shares)
    for share in shares:
        assert len({key for _, key in brief(share)}) == len(share) / 2


def test_each_split_partition_has_one_parent(at: Streaming) -> None:
    """From two partitions to three: each is split, so that no shard takes over from two."""
    arn = at.create(ProvisionedThroughput={"ReadCapacityUnits": 1, "WriteCapacityUnits": 1500})
    at.client.update_table(TableName="tab", ProvisionedThroughput={"ReadCapacityUnits": 1, "WriteCapacityUnits": 2500})
    at.client.describe_table(TableName="tab")
    parents, children = at.shards(arn)[:2], at.shards(arn)[2:]
    assert [child["ParentShardId"] for child in children] == [parents[number // 2]["ShardId"] for number in range(4)]


def test_trimmed_shards_are_not_listed(at: Streaming) -> None:
    arn = at.create(ProvisionedThroughput=ONE_UNIT)
    first = at.shards(arn)[0]["ShardId"]
    iterator = at.iterator(arn, first)
    at.clock.advance(28 * HOUR + 1)
    shards = at.shards(arn)
    assert first == shards[0]["ParentShardId"] and first not in [shard["ShardId"] for shard in shards]
    assert len(shards) == 7
    assert at.refused(at.streams.get_records, ShardIterator=iterator)[0] == "ExpiredIteratorException"
    code, message = at.refused(
        at.streams.get_shard_iterator, StreamArn=arn, ShardId=first, ShardIteratorType="TRIM_HORIZON"
    )
    assert code == "ResourceNotFoundException" and message.startswith("Requested resource not found: Shard")


def test_a_stream_of_many_years_is_read_at_once(at: Streaming) -> None:
    arn = at.create()
    at.clock.advance(10 * 365 * 24 * HOUR)
    at.put("a")
    assert len(at.shards(arn)) == 4 * 7
    assert brief(at.read(arn)) == [("INSERT", "a")]


def test_shards_are_listed_in_pages(at: Streaming) -> None:
    arn = at.create()
    at.clock.advance(5 * HOUR)
    everything = [shard["ShardId"] for shard in at.shards(arn)]
    pages, last = [], None
    while True:
        more = {} if last is None else {"ExclusiveStartShardId": last}
        description = at.describe(arn, Limit=3, **more)
        pages.append([shard["ShardId"] for shard in description["Shards"]])
        last = description.get("LastEvaluatedShardId")
        if last is None:
            break
    assert pages == [everything[:3], everything[3:6], everything[6:]]


# --- Iterators ---


@pytest.fixture
def four(at: Streaming) -> tuple[str, str, list[str]]:
    """A stream with one shard and records a to d, a minute apart; ARN, shard, sequence numbers."""
    arn = at.create(ProvisionedThroughput=ONE_UNIT)
    for key in "abcd":
        at.put(key)
        at.clock.advance(60)
    [shard] = at.shards(arn)
    records = at.read(arn)
    return arn, shard["ShardId"], [record["dynamodb"]["SequenceNumber"] for record in records]


def test_iterators_of_every_type(at: Streaming, four: tuple[str, str, list[str]]) -> None:
    arn, shard, numbers = four
    start = at.clock.now() - 240

    def read(kind: str, **more: Any) -> str:
        return "".join(key for _, key in brief(at.get(at.iterator(arn, shard, kind, **more))["Records"]))

    assert read("TRIM_HORIZON") == "abcd"
    assert read("LATEST") == ""
    assert read("AT_SEQUENCE_NUMBER", SequenceNumber=numbers[1]) == "bcd"
    assert read("AFTER_SEQUENCE_NUMBER", SequenceNumber=numbers[1]) == "cd"
    begin = at.shards(arn)[0]["SequenceNumberRange"]["StartingSequenceNumber"]
    assert read("AT_SEQUENCE_NUMBER", SequenceNumber=begin) == "abcd"
    assert read("AT_TIMESTAMP", Timestamp=start + 60) == "bcd"
    assert read("AT_TIMESTAMP", Timestamp=start + 60.001) == "cd"
    assert read("AT_TIMESTAMP", Timestamp=0) == "abcd"
    latest = at.iterator(arn, shard, "LATEST")
    at.put("e")
    assert brief(at.get(latest)["Records"]) == [("INSERT", "e")]


def test_a_page_goes_on_where_the_last_one_ended(at: Streaming, four: tuple[str, str, list[str]]) -> None:
    arn, shard, _ = four
    first = at.get(at.iterator(arn, shard), Limit=3)
    second = at.get(first["NextShardIterator"], Limit=3)
    assert (brief(first["Records"]), brief(second["Records"])) == (
        [("INSERT", "a"), ("INSERT", "b"), ("INSERT", "c")],
        [("INSERT", "d")],
    )
    third = at.get(second["NextShardIterator"])
    at.put("e")
    assert third["Records"] == [] and brief(at.get(third["NextShardIterator"])["Records"]) == [("INSERT", "e")]


def test_a_page_has_up_to_a_mebibyte(at: Streaming) -> None:
    arn = at.create(ProvisionedThroughput={"ReadCapacityUnits": 1, "WriteCapacityUnits": 400})
    for key in "abcd":
        at.put(key, v={"S": "x" * 350_000})
    [shard] = at.shards(arn)
    first = at.get(at.iterator(arn, shard["ShardId"]))
    assert brief(first["Records"]) == [("INSERT", "a"), ("INSERT", "b")]
    assert brief(at.get(first["NextShardIterator"])["Records"]) == [("INSERT", "c"), ("INSERT", "d")]


def test_an_iterator_is_good_for_fifteen_minutes(at: Streaming, four: tuple[str, str, list[str]]) -> None:
    iterator = at.iterator(*four[:2])
    at.clock.advance(15 * 60)
    at.get(iterator)
    at.clock.advance(1)
    assert at.refused(at.streams.get_records, ShardIterator=iterator) == (
        "ExpiredIteratorException",
        "The provided iterator exceeds the maximum age allowed.",
    )


def test_records_are_trimmed_after_a_day(at: Streaming) -> None:
    arn = at.create(ProvisionedThroughput=ONE_UNIT)
    at.put("a")
    at.clock.advance(HOUR)
    at.put("b")
    [shard] = at.shards(arn)
    [a, b] = [record["dynamodb"]["SequenceNumber"] for record in at.read(arn)]
    at.clock.advance(23 * HOUR + 1)
    assert brief(at.read(arn)) == [("INSERT", "b")]
    at.db.catch_up()
    assert len(list(at.db.engine.log.read(at.db.engine.store, 1, 0))) == 1
    body = {"StreamArn": arn, "ShardId": shard["ShardId"], "ShardIteratorType": "AT_SEQUENCE_NUMBER"}
    assert at.refused(at.streams.get_shard_iterator, **body, SequenceNumber=a) == (
        "TrimmedDataAccessException",
        "The data you are trying to access has been trimmed.",
    )
    at_b = at.iterator(arn, shard["ShardId"], "AT_SEQUENCE_NUMBER", SequenceNumber=b)
    at.clock.advance(HOUR - 2)
    at_b = at.iterator(arn, shard["ShardId"], "AT_SEQUENCE_NUMBER", SequenceNumber=b)
    at.clock.advance(2)
    assert at.refused(at.streams.get_records, ShardIterator=at_b)[0] == "TrimmedDataAccessException"


def test_the_trim_horizon_of_an_old_stream_can_be_read_a_little_later(at: Streaming) -> None:
    arn = at.create(ProvisionedThroughput=ONE_UNIT)
    at.clock.advance(23 * HOUR)
    at.put("a")
    at.clock.advance(2 * HOUR)
    shards = at.shards(arn)
    iterators = [at.iterator(arn, shard["ShardId"]) for shard in shards]
    at.clock.advance(5)
    answers = [at.get(iterator) for iterator in iterators]
    assert brief([record for answer in answers for record in answer["Records"]]) == [("INSERT", "a")]


def test_a_reader_of_a_quiet_table_is_never_told_of_trimmed_data(at: Streaming) -> None:
    arn = at.create(ProvisionedThroughput=ONE_UNIT)
    at.put("a")
    at.clock.advance(27 * HOUR)
    iterator = at.iterator(arn, at.shards(arn)[-1]["ShardId"], "LATEST")
    for _ in range(3):
        iterator = at.get(iterator)["NextShardIterator"]
        at.clock.advance(600)


def test_refusals(at: Streaming, four: tuple[str, str, list[str]]) -> None:
    arn, shard, numbers = four
    body = {"StreamArn": arn, "ShardId": shard}
    get = at.streams.get_shard_iterator
    for kind in ("AT_SEQUENCE_NUMBER", "AFTER_SEQUENCE_NUMBER", "AT_TIMESTAMP"):
        assert at.refused(get, **body, ShardIteratorType=kind)[0] == "ValidationException"
    latest = {"ShardIteratorType": "LATEST", "SequenceNumber": numbers[0]}
    assert at.refused(get, **body, **latest)[0] == "ValidationException"
    late = {"ShardIteratorType": "AT_TIMESTAMP", "Timestamp": at.clock.now() + 1}
    assert at.refused(get, **body, **late) == ("ValidationException", "Timestamp must not be in the future")
    beyond = {"ShardIteratorType": "AT_SEQUENCE_NUMBER", "SequenceNumber": "1" + "9" * 18 + "00"}
    assert at.refused(get, **body, **beyond)[0] == "ValidationException"
    iterator = at.iterator(arn, shard)
    assert at.refused(at.streams.get_records, ShardIterator=iterator, Limit=1001)[0] == "ValidationException"
    assert at.refused(at.streams.list_streams, Limit=101)[0] == "ValidationException"
    for text in ("nonsense", f"{arn}|1|AAAA", f"{arn}|1|" + "WyJhIiwtMSwwXQ=="):
        assert at.refused(at.streams.get_records, ShardIterator=text) == (
            "ValidationException",
            "Invalid ShardIterator",
        )


def test_a_stream_belongs_to_its_account_and_region(at: Streaming) -> None:
    arn = at.create()
    elsewhere = at.db.client("dynamodbstreams", region_name="eu-west-1")
    assert elsewhere.list_streams()["Streams"] == []
    assert at.refused(elsewhere.describe_stream, StreamArn=arn)[0] == "ResourceNotFoundException"


def test_streams_are_listed_in_pages(at: Streaming) -> None:
    arns = [at.create(), *[at.set_stream(view) for view in (None, BOTH, None, "KEYS_ONLY")][1::2]]
    first = at.streams.list_streams(Limit=2)
    second = at.streams.list_streams(Limit=2, ExclusiveStartStreamArn=first["LastEvaluatedStreamArn"])
    assert [stream["StreamArn"] for stream in first["Streams"] + second["Streams"]] == arns
    assert "LastEvaluatedStreamArn" not in second


# --- Restarts ---


def test_a_stream_survives_a_restart(tmp_path: Path) -> None:
    at = Streaming(tmp_path)
    arn = at.create()
    at.put("a")
    before = at.shards(arn), at.read(arn)
    at.reopen()
    assert (at.shards(arn), at.read(arn)) == before
    at.put("a", v={"N": "1"})
    after = at.read(arn)
    assert after[:1] == before[1] and after[1]["dynamodb"]["SequenceNumber"] > after[0]["dynamodb"]["SequenceNumber"]
    assert brief(after) == [("INSERT", "a"), ("MODIFY", "a")]
    at.set_stream(None)
    at.reopen()
    assert at.describe(arn)["StreamStatus"] == "DISABLED" and at.read(arn) == after
    at.assert_consistent()
    at.db.close()


def test_no_change_comes_before_a_shard_that_began_before_the_clock_was_set_back(tmp_path: Path) -> None:
    at = Streaming(tmp_path)
    at.create(None)
    at.clock.advance(10 * HOUR)
    arn = at.set_stream(BOTH)
    at.db.close()
    at.clock = ManualClock()
    at.open()
    at.put("a")
    assert brief(at.read(arn)) == [("INSERT", "a")]
    at.db.close()
