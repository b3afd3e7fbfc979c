"""What it costs a PutItem that somebody follows the table: a stream, recovery, time to live, insights.

    python bench/following.py [--items 20000] [--rounds 3]

The embedded store without fsync, the whole protocol without a socket; processor time of the one thread that serves, so
that the store's own threads and other programs do not count. Each round measures every kind in turn; the smallest of
the rounds counts. Inserts are new items, overwrites change one attribute of each.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

import orjson
import run
import workload

from dynamometer.base.config import Settings
from dynamometer.engine.engine import Engine
from dynamometer.storage.rocksdb import RocksStore
from dynamometer.wire.service import Service

HEADERS = {b"content-type": b"application/x-amz-json-1.0"}
STREAM = {"StreamSpecification": {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"}}
FOLLOWERS: dict[str, list[tuple[str, dict[str, Any]]]] = {
    "nobody": [],
    "stream": [("UpdateTable", STREAM)],
    "recovery": [
        (
            "UpdateContinuousBackups",
            {"PointInTimeRecoverySpecification": {"PointInTimeRecoveryEnabled": True}},
        )
    ],
    "time to live": [("UpdateTimeToLive", {"TimeToLiveSpecification": {"Enabled": True, "AttributeName": "expires"}})],
    "insights": [("UpdateContributorInsights", {"ContributorInsightsAction": "ENABLE"})],
}


def main() -> None:
    """Measure each kind of follower."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--items", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    best: dict[str, dict[str, float]] = {}
    for _ in range(options.rounds):
        for name, requests in FOLLOWERS.items():
            measured = _measure(requests, options.items)
            kept = best.setdefault(name, measured)
            best[name] = {kind: min(kept[kind], us) for kind, us in measured.items()}
    for name, row in best.items():
        print(
            f"{name:13}"
            + "".join(f"  {kind} {us:6.1f} us ({us / best['nobody'][kind] - 1:+4.0%})" for kind, us in row.items())
        )
    run.save("following", {"options": vars(options), "rows": best})


def _measure(requests: list[tuple[str, dict[str, Any]]], items: int) -> dict[str, float]:
    """Microseconds of processor time of an insert and of an overwrite."""
    folder = tempfile.mkdtemp(prefix="dynamometer-bench-")
    try:
        settings = Settings(require_signature=False)
        engine = Engine(RocksStore(folder, "os"), settings=settings)
        service = Service(engine, settings)
        _send(service, "CreateTable", orjson.dumps(workload.CREATE_TABLE))
        for operation, body in requests:
            _send(service, operation, orjson.dumps({"TableName": workload.TABLE} | body))
        engine.run_jobs(100)
        measured = {}
        for kind, total in (("insert", 1), ("overwrite", 2)):
            bodies = [_put(number, total) for number in range(items)]
            begin = time.thread_time()
            for body in bodies:
                _send(service, "PutItem", body)
            measured[kind] = (time.thread_time() - begin) / items * 1e6
        engine.close()
        return measured
    finally:
        shutil.rmtree(folder)


def _put(number: int, total: int) -> bytes:
    item = workload.item(number) | {"total": {"N": str(total)}, "expires": {"N": str(4_000_000_000 + number)}}
    return orjson.dumps({"TableName": workload.TABLE, "Item": item})


def _send(service: Service, operation: str, body: bytes) -> None:
    headers = HEADERS | {b"x-amz-target": b"DynamoDB_20120810." + operation.encode()}
    response = service.handle("POST", "/", headers, body)
    if response.status != 200:
        raise SystemExit(f"{operation} was refused: {response.body.decode()}")


if __name__ == "__main__":
    main()
