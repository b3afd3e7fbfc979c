"""Kill the server in the middle of deliveries to Kinesis: every change arrives, and those of an item in order."""

from __future__ import annotations

import json
from itertools import groupby
from pathlib import Path
from threading import Event
from typing import Any

from tests.unit.cli.test_serve import TABLE, Served, serving

ARN = "arn:aws:kinesis:us-east-1:{}:stream/changes"
KEYS = 7
WRITES = 80
ROUNDS = 4
POLLS_MAX = 600


def delivered(folder: Path) -> dict[str, list[int]]:
    """The numbers that arrived for each key. One that is repeated at once was delivered twice."""
    numbers: dict[str, list[int]] = {}
    for path in folder.rglob("*.jsonl"):
        for line in path.read_bytes().splitlines():
            image: Any = json.loads(line)["dynamodb"]["NewImage"]
            numbers.setdefault(image["k"]["S"], []).append(int(image["n"]["N"]))
    return {key: [number for number, _ in groupby(found)] for key, found in numbers.items()}


def cut_last_line(folder: Path) -> None:
    """As if the kill had hit the file in mid-write."""
    for path in folder.rglob("*.jsonl"):
        with path.open("ab") as file:
            file.write(b'{"half a li')


def write(served: Served, number: int, written: dict[str, list[int]]) -> None:
    key = f"key-{number % KEYS}"
    served.request("PutItem", {"TableName": "things", "Item": {"k": {"S": key}, "n": {"N": str(number)}}})
    written.setdefault(key, []).append(number)


def test_every_change_arrives_in_order_across_kills(tmp_path: Path) -> None:
    options = ("--data", "data", "--durability", "os", "--kinesis-folder", "kinesis")
    written: dict[str, list[int]] = {}
    for round_number in range(ROUNDS):
        with serving(tmp_path, *options) as served:
            if round_number == 0:
                described: Any = served.request("CreateTable", TABLE)
                account = described["TableDescription"]["TableArn"].split(":")[4]
                arn = ARN.format(account)
                served.request("EnableKinesisStreamingDestination", {"TableName": "things", "StreamArn": arn})
            for number in range(round_number * WRITES, (round_number + 1) * WRITES):
                write(served, number, written)
            served.process.kill()
        cut_last_line(tmp_path / "kinesis")
    with serving(tmp_path, *options) as served:
        pause = Event()
        for _ in range(POLLS_MAX):
            if delivered(tmp_path / "kinesis") == written:
                break
            pause.wait(0.05)
        assert served.stop()[0] == 0
    assert delivered(tmp_path / "kinesis") == written
