"""A server whose disk is full: writes hear of it, reads go on, and nothing that was acknowledged is lost."""

from __future__ import annotations

import resource
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from dynamometer.engine.check import check
from dynamometer.storage.rocksdb import RocksStore
from tests.crash.server import Client, Server
from tests.crash.workload import create_plain_table

TABLE = "things"
WRITERS = 8
WRITES = 200
FILE_BYTES_MAX = 300_000
"""A limit on the size of files stands in for a full disk: the log can't grow."""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits another process")
def test_a_full_disk_stops_writes_and_nothing_else(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    server = Server(folder)
    client = Client(server.url())
    create_plain_table(client, TABLE)
    resource.prlimit(server.pid, resource.RLIMIT_FSIZE, (FILE_BYTES_MAX, FILE_BYTES_MAX))
    with ThreadPoolExecutor(WRITERS) as threads:
        outcomes = list(threads.map(lambda writer: written(server.url(), writer), range(WRITERS)))
    acknowledged = {name for names in outcomes for name in names}
    assert 0 < len(acknowledged) < WRITERS * WRITES, "the disk got full on the way"
    assert {item["id"]["S"] for item in client.everything(TABLE)} == acknowledged
    assert client.call("GetItem", TableName=TABLE, Key={"id": {"S": min(acknowledged)}})["Item"]
    assert client.call("DescribeTable", TableName=TABLE)["Table"]["ItemCount"] == len(acknowledged)
    server.stop()

    store = RocksStore(folder)
    assert list(check(store)) == []
    store.close()
    server = Server(folder)
    client = Client(server.url())
    assert {item["id"]["S"] for item in client.everything(TABLE)} == acknowledged
    client.call("PutItem", TableName=TABLE, Item={"id": {"S": "room again"}})
    server.stop()


def written(url: str, writer: int) -> list[str]:
    """Write until something is in the way; the names that were acknowledged."""
    client, names = Client(url), []
    for number in range(WRITES):
        name = f"{writer}-{number}"
        try:
            client.call("PutItem", TableName=TABLE, Item={"id": {"S": name}, "text": {"S": "x" * 500}})
        except AssertionError:  # a 5xx
            break
        names.append(name)
    client.close()
    return names
