"""A test suite's view: calls a second through an unchanged boto3 client in process, and what a fresh engine costs.

    python bench/inprocess.py [--seconds 3]

Beside it moto's mock, which is what most suites use, when it is installed (pip install -e '.[bench]'). The same client,
the same item, one thread, no socket. A "fresh" figure is what a fixture pays in each test: an engine without tables,
then the same with one table and one item in it.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

import boto3
import run
import workload
from workload import TABLE

BATCH = 50
Measured = dict[str, float]


def main() -> None:
    """Measure each library that is installed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=3.0, help="length of each measurement")
    options = parser.parse_args()
    os.environ |= dict.fromkeys(("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"), "bench") | {"AWS_REGION": "us-east-1"}
    rows = {"dynamometer": _measure(_dynamometer, options.seconds)}
    _show("dynamometer", rows["dynamometer"])
    try:
        rows["moto"] = _measure(_moto, options.seconds)
    except ModuleNotFoundError:
        print("moto is left out: pip install moto")
    else:
        _show("moto", rows["moto"])
        _show("ratio", {name: rows["dynamometer"][name] / value for name, value in rows["moto"].items()})
    run.save("inprocess", {"options": vars(options), "rows": rows})


@contextmanager
def _dynamometer() -> Iterator[Any]:
    import dynamometer

    with dynamometer.local() as engine:
        yield engine.client("dynamodb")


@contextmanager
def _moto() -> Iterator[Any]:
    from moto import mock_aws

    with mock_aws():
        yield boto3.client("dynamodb", "us-east-1")


def _measure(fresh: Callable[[], AbstractContextManager[Any]], seconds: float) -> Measured:
    with fresh() as client:
        client.create_table(**workload.CREATE_TABLE)
        item = workload.item(42)
        client.put_item(TableName=TABLE, Item=item)
        key = workload.key(42)
        assert client.get_item(TableName=TABLE, Key=key)["Item"] == item
        measured = {
            "get_item_per_second": 1 / _cost(lambda: client.get_item(TableName=TABLE, Key=key), seconds),
            "put_item_per_second": 1 / _cost(lambda: client.put_item(TableName=TABLE, Item=item), seconds),
            "query_20_per_second": 1 / _query_cost(client, seconds),
        }

    def empty() -> None:
        with fresh():
            pass

    def used() -> None:
        with fresh() as client:
            client.create_table(**workload.CREATE_TABLE)
            client.put_item(TableName=TABLE, Item=item)

    measured["fresh_us"] = _cost(empty, seconds) * 1e6
    measured["fresh_with_table_us"] = _cost(used, seconds) * 1e6
    return measured


def _query_cost(client: Any, seconds: float) -> float:
    for line in range(20):
        client.put_item(TableName=TABLE, Item=workload.item(workload.CUSTOMERS * line + 7))
    body = workload.query(7)
    assert client.query(**body)["Count"] == 20
    return _cost(lambda: client.query(**body), seconds)


def _cost(call: Callable[[], object], seconds: float) -> float:
    """Seconds a call, the best of the batches: whatever else the machine did is not the call's cost."""
    call()
    best, deadline = float("inf"), time.perf_counter() + seconds
    while time.perf_counter() < deadline:
        started = time.perf_counter()
        for _ in range(BATCH):
            call()
        best = min(best, (time.perf_counter() - started) / BATCH)
    return best


def _show(name: str, measured: Measured) -> None:
    digits = 1 if name == "ratio" else 0
    print(f"{name:12} " + "  ".join(f"{key} {value:,.{digits}f}" for key, value in measured.items()), flush=True)


if __name__ == "__main__":
    main()
