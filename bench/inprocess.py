"""A test suite's view: calls a second through an unchanged boto3 client in process, and what a fresh engine costs.

    python bench/inprocess.py [--seconds 3]

Beside it moto's mock, which is what most suites use, when it is installed (pip install -e '.[bench]'). The same client,
the same item, one thread, no socket. What a fixture pays in each test to have tables of its own:

    fresh          an engine without tables, for a client that is kept
    fresh_table    the same, then one table and one item
    fresh_client   an engine and a new boto3 client
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

import boto3
import run
import workload
from workload import TABLE

BATCH_SECONDS = 0.02
Measured = dict[str, float]


def main() -> None:
    """Measure each library that is installed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=3.0, help="length of each measurement")
    options = parser.parse_args()
    os.environ |= dict.fromkeys(("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"), "bench") | {"AWS_REGION": "us-east-1"}
    rows = {"dynamometer": _measure(Dynamometer, options.seconds)}
    _show("dynamometer", rows["dynamometer"])
    try:
        rows["moto"] = _measure(Moto, options.seconds)
    except ModuleNotFoundError:
        print("moto is left out: pip install moto")
    else:
        _show("moto", rows["moto"])
        _show("ratio", {name: rows["dynamometer"][name] / value for name, value in rows["moto"].items()})
    run.save("inprocess", {"options": vars(options), "rows": rows})


class Library:
    """What is measured: a client whose tables can be made to go away."""

    def __init__(self) -> None:
        self.client = self.fresh_client()

    def fresh_client(self) -> Any:
        """A new engine with a new client."""
        raise NotImplementedError

    def fresh(self) -> None:
        """No tables any more, for the same client."""
        raise NotImplementedError

    def close(self) -> None:
        """Leave nothing behind."""


class Dynamometer(Library):
    """This project."""

    def fresh_client(self) -> Any:
        import dynamometer

        self._engine = dynamometer.local()
        return self._engine.client("dynamodb")

    def fresh(self) -> None:
        self._engine.reset()


class Moto(Library):
    """moto's mock_aws."""

    def fresh_client(self) -> Any:
        from moto import mock_aws

        self._mock = mock_aws()
        self._mock.start()
        return boto3.client("dynamodb", "us-east-1")

    def fresh(self) -> None:
        self._mock.stop()
        self._mock.start()

    def close(self) -> None:
        self._mock.stop()


def _measure(kind: type[Library], seconds: float) -> Measured:
    library = kind()
    client, item, key = library.client, workload.item(42), workload.key(42)

    def table() -> None:
        library.fresh()
        client.create_table(**workload.CREATE_TABLE)
        client.put_item(TableName=TABLE, Item=item)

    table()
    assert client.get_item(TableName=TABLE, Key=key)["Item"] == item
    measured = {
        "get_item_per_second": 1 / _cost(lambda: client.get_item(TableName=TABLE, Key=key), seconds),
        "put_item_per_second": 1 / _cost(lambda: client.put_item(TableName=TABLE, Item=item), seconds),
        "query_20_per_second": 1 / _query_cost(client, seconds),
        "fresh_us": _cost(library.fresh, seconds) * 1e6,
        "fresh_table_us": _cost(table, seconds) * 1e6,
    }
    library.close()
    measured["fresh_client_us"] = _cost(lambda: kind().close(), seconds) * 1e6
    return measured


def _query_cost(client: Any, seconds: float) -> float:
    for line in range(20):
        client.put_item(TableName=TABLE, Item=workload.item(workload.CUSTOMERS * line + 7))
    body = workload.query(7)
    assert client.query(**body)["Count"] == 20
    return _cost(lambda: client.query(**body), seconds)


def _cost(call: Callable[[], object], seconds: float) -> float:
    """Seconds a call, the best of many batches: whatever else the machine did is not the call's cost."""
    call()
    started = time.perf_counter()
    call()
    best = time.perf_counter() - started
    batch = max(1, int(BATCH_SECONDS / best))
    deadline = started + seconds
    while time.perf_counter() < deadline:
        started = time.perf_counter()
        for _ in range(batch):
            call()
        best = min(best, (time.perf_counter() - started) / batch)
    return best


def _show(name: str, measured: Measured) -> None:
    digits = 1 if name == "ratio" else 0
    print(f"{name:12} " + "  ".join(f"{key} {value:,.{digits}f}" for key, value in measured.items()), flush=True)


if __name__ == "__main__":
    main()
