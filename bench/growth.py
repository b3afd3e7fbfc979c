"""Does it stay fast when the table grows? Rates, scan speed, memory, disk and restart at rising numbers of items.

    python bench/growth.py [--peer dynamometer] [--items 10000,1000000,5000000] [--seconds 5]

The table is the one of workload.py, without its index, and with as many customers as are needed at
20 orders each. One extra collection of 4 MB is read in pages of 1 MB.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

import peers
import run
import workload
from client import Client
from peers import PEERS, Running
from workload import MARK, TABLE, Body, Operation

CONNECTIONS = 16
LOADERS = 4
SAMPLES = 20_000
ORDERS_OF_A_CUSTOMER = 20
BIG_COLLECTION = "BIG"
BIG_COLLECTION_BYTES = 4_000_000
SCAN_SECONDS_MAX = 10.0


def main() -> None:
    """Grow one table through all sizes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peer", choices=[name for name, peer in PEERS.items() if peer.answers], default="dynamometer")
    parser.add_argument(
        "--items", type=lambda text: [int(each) for each in text.split(",")], default=[10_000, 1_000_000, 5_000_000]
    )
    parser.add_argument("--seconds", type=int, default=5, help="length of each measurement of a rate")
    options = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory(prefix="dyno-bench-") as folder:
        keeps_data = "memory" not in options.peer and options.peer.startswith("dynamometer")
        if keeps_data:
            rows = _grow_with_restarts(options, Path(folder))
        else:
            with peers.running(PEERS[options.peer]) as server:
                _create(Client(server.port))
                for held, items in _steps(options.items):
                    rows.append(_show(_fill_and_measure(server, held, items, options.seconds)))
    run.save("growth", {"options": vars(options), "rows": rows})


def _grow_with_restarts(options: argparse.Namespace, folder: Path) -> list[dict[str, Any]]:
    rows = []
    for held, items in _steps(options.items):
        with peers.running(PEERS[options.peer], folder) as server:
            if not held:
                _create(Client(server.port))
            row = _fill_and_measure(server, held, items, options.seconds)
        started = time.perf_counter()
        with peers.running(PEERS[options.peer], folder) as server:
            Client(server.port).call("GetItem", {"TableName": TABLE, "Key": _key(0)})
            row["restart_seconds"] = round(time.perf_counter() - started, 3)
            row["memory_mib_after_restart"] = round(server.memory_mib())
        rows.append(_show(row))
    return rows


def _steps(sizes: list[int]) -> Iterator[tuple[int, int]]:
    """Pairs of what the table holds and what it is to hold."""
    return zip([0, *sizes], sizes, strict=False)


def _create(client: Client) -> None:
    body = {name: value for name, value in workload.CREATE_TABLE.items() if name != "GlobalSecondaryIndexes"}
    body["AttributeDefinitions"] = [each for each in body["AttributeDefinitions"] if each["AttributeName"] in "pk sk"]
    client.call("CreateTable", body)
    client.wait_active(TABLE)
    size = len(json.dumps(workload.item(1)))
    big = [
        workload.item(1, {"pk": {"S": BIG_COLLECTION}, "sk": {"S": f"{number:08d}"}})
        for number in range(BIG_COLLECTION_BYTES // size * 2)
    ]
    for start in range(0, len(big), 25):
        _write(client, json.dumps(workload.batch(iter(big[start : start + 25]))).encode())


def _key(number: int) -> Body:
    return {
        "pk": {"S": f"CUSTOMER#{number // ORDERS_OF_A_CUSTOMER:08d}"},
        "sk": {"S": f"ORDER#2025-03-14#{number % ORDERS_OF_A_CUSTOMER:06d}"},
    }


def _item(number: int) -> Body:
    return workload.item(number, _key(number))


def _fill_and_measure(server: Running, held: int, items: int, seconds: int) -> dict[str, Any]:
    started = time.perf_counter()
    _fill(server.port, held, items)
    load_seconds = time.perf_counter() - started
    run.drain(server)
    client = Client(server.port)
    get = _rate(server, Operation("get", "GetItem", lambda: map(_get, _sample(items))), seconds)
    put = _rate(server, Operation("put", "PutItem", lambda: map(_put, _sample(items))), seconds)
    return {
        "items": items,
        "loaded_per_second": round((items - held) / load_seconds),
        "get_per_second": get.requests_per_second,
        "get_p99_ms": get.p99_ms,
        "put_per_second": put.requests_per_second,
        "put_p99_ms": put.p99_ms,
        "query_page_1mb_ms": _page_milliseconds(client),
        "scan_mb_per_second": _scan_rate(client),
        "memory_mib": round(server.memory_mib()),
        "disk_mib": round(server.disk_mib()),
    }


def _sample(items: int) -> list[int]:
    """The same random items in every run."""
    return random.Random(items).choices(range(items), k=SAMPLES)


def _get(number: int) -> Body:
    return {"TableName": TABLE, "Key": _key(number)}


def _put(number: int) -> Body:
    return {"TableName": TABLE, "Item": _item(number) | {"trace": {"S": MARK}}}


def _rate(server: Running, operation: Operation, seconds: int) -> run.Row:
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as bodies:
        bodies.write(operation.lines())
        bodies.flush()
        run.wrk(server, operation, bodies.name, CONNECTIONS, 1)
        row = run.wrk(server, operation, bodies.name, CONNECTIONS, seconds)
    assert not row.refused, row
    return row


def _fill(port: int, held: int, items: int) -> None:
    """Write items `held` to `items` over a few connections."""
    batches = iter(range(held, items, 25))
    lock = threading.Lock()
    failures: list[Exception] = []

    def load() -> None:
        client = Client(port)
        try:
            while not failures:
                with lock:
                    start = next(batches, None)
                if start is None:
                    return
                _write(client, _batch(start, min(start + 25, items)))
        except Exception as failure:
            failures.append(failure)

    threads = [threading.Thread(target=load) for _ in range(LOADERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]


def _batch(start: int, end: int) -> bytes:
    return json.dumps(workload.batch(_item(number) for number in range(start, end))).encode()


def _write(client: Client, body: bytes) -> None:
    while True:
        status, answer = client.send("BatchWriteItem", body)
        if status != 200:
            raise RuntimeError(answer[:300])
        rest = json.loads(answer).get("UnprocessedItems")
        if not rest:
            return
        body = json.dumps({"RequestItems": rest}).encode()


def _page_milliseconds(client: Client) -> float:
    """The median time of a Query page that ends at 1 MB."""
    body = json.dumps(
        {
            "TableName": TABLE,
            "KeyConditionExpression": "pk = :p",
            "ExpressionAttributeValues": {":p": {"S": BIG_COLLECTION}},
        }
    ).encode()
    times = []
    for _ in range(21):
        started = time.perf_counter()
        status, answer = client.send("Query", body)
        times.append(time.perf_counter() - started)
        assert status == 200 and b"LastEvaluatedKey" in answer, answer[:300]
    return round(sorted(times)[10] * 1000, 2)


def _scan_rate(client: Client) -> float:
    """Megabytes of answer a second, from the start of the table for at most ten seconds."""
    body: Body = {"TableName": TABLE}
    started, received, waited = time.perf_counter(), 0, 0.0
    while time.perf_counter() - started < SCAN_SECONDS_MAX:
        encoded, before = json.dumps(body).encode(), time.perf_counter()
        status, answer = client.send("Scan", encoded)
        waited += time.perf_counter() - before
        assert status == 200, answer[:300]
        received += len(answer)
        key = json.loads(answer).get("LastEvaluatedKey")
        if key is None:
            break
        body["ExclusiveStartKey"] = key
    return round(received / waited / 1e6, 1)


def _show(row: dict[str, Any]) -> dict[str, Any]:
    print("  ".join(f"{name} {value:,}" for name, value in row.items()), flush=True)
    return row


if __name__ == "__main__":
    main()
