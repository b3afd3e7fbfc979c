"""Every operation, every server, the same load, one run: requests a second, latencies, ratios.

    python bench/run.py [--peers floor,dynamometer,...] [--operations get,put,...] [--connections 16,64] [--seconds 6]

What the numbers mean is in bench/README.md. A JSON file with every number and the machine goes to bench/results/.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

import peers
import workload
from client import Client
from peers import HERE, PEERS, Running
from workload import OPERATIONS, Operation

RESULTS = HERE / "results"
IDLE_CPU_SHARE = 0.1


@dataclass(frozen=True, slots=True)
class Row:
    """One measurement."""

    peer: str
    operation: str
    connections: int
    requests_per_second: float
    p50_ms: float
    p99_ms: float
    mb_per_second: float
    refused: int
    broken: int
    cpu_cores: float
    cpu_us: float
    memory_mib: float


def main() -> None:
    """Measure, print, save."""
    options = _options()
    if shutil.which("wrk") is None:
        sys.exit("wrk is missing. Debian, Ubuntu: apt-get install wrk. macOS: brew install wrk.")
    rows: list[Row] = []
    for name in options.peers:
        try:
            with peers.running(PEERS[name]) as server:
                rows += _measure(server, options)
        except peers.Missing as missing:
            print(f"{name} is left out: {missing}", flush=True)
    print_table(rows)
    save("run", {"options": vars(options), "rows": [asdict(row) for row in rows]})


def _options() -> argparse.Namespace:
    def names(text: str) -> list[str]:
        return text.split(",")

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peers", type=names, default=list(PEERS), help=",".join(PEERS))
    parser.add_argument("--operations", type=names, default=list(OPERATIONS), help=",".join(OPERATIONS))
    parser.add_argument("--connections", type=lambda text: [int(each) for each in names(text)], default=[16, 64])
    parser.add_argument("--seconds", type=int, default=6, help="length of each measurement")
    parser.add_argument("--warm-up", type=int, default=2, help="seconds before each that do not count")
    options = parser.parse_args()
    for name in options.peers:
        if name not in PEERS:
            parser.error(f"{name!r} is not a peer: {', '.join(PEERS)}")
    for name in options.operations:
        if name not in OPERATIONS:
            parser.error(f"{name!r} is not an operation: {', '.join(OPERATIONS)}")
    return options


def _measure(server: Running, options: argparse.Namespace) -> list[Row]:
    rows = []
    if server.peer.answers:
        load(Client(server.port))
        check(Client(server.port))
    for connections in options.connections:
        for name in options.operations:
            operation = OPERATIONS[name]
            with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as bodies:
                bodies.write(operation.lines())
                bodies.flush()
                if options.warm_up:
                    wrk(server, operation, bodies.name, connections, options.warm_up)
                drain(server)
                rows.append(wrk(server, operation, bodies.name, connections, options.seconds))
            print(_line(rows[-1]), flush=True)
    return rows


def load(client: Client) -> None:
    """Make the table and fill it."""
    client.call("CreateTable", workload.CREATE_TABLE)
    client.wait_active(workload.TABLE)
    for body in workload.load():
        while body["RequestItems"]:
            body = {"RequestItems": client.call("BatchWriteItem", body).get("UnprocessedItems", {})}


def check(client: Client) -> None:
    """A server that answers quickly and wrongly is not measured."""
    found = client.call("GetItem", workload.get(4242))
    assert found["Item"] == workload.item(4242), found
    orders = [each["sk"]["S"] for each in client.call("Query", workload.query(42))["Items"]]
    assert len(orders) == 20 and orders == sorted(orders, reverse=True), orders
    page = client.call("Query", workload.query_index(4))
    placed = [each["gsk"]["S"] for each in page["Items"]]
    assert len(placed) == 20 and placed == sorted(placed, reverse=True) and "LastEvaluatedKey" in page, placed
    scanned = client.call("Scan", {"TableName": workload.TABLE})
    assert "LastEvaluatedKey" in scanned and 2000 < scanned["Count"] < 4000, scanned["Count"]


def drain(server: Running, seconds_max: float = 60.0) -> None:
    """Wait until the server has finished what the last load left behind, such as compaction."""
    deadline = time.monotonic() + seconds_max
    quiet = 0
    while quiet < 2 and time.monotonic() < deadline:
        before = server.cpu_seconds()
        time.sleep(0.25)
        quiet = quiet + 1 if server.cpu_seconds() - before < 0.25 * IDLE_CPU_SHARE else 0


def wrk(server: Running, operation: Operation, bodies: str, connections: int, seconds: int) -> Row:
    """One run of wrk with one thread."""
    command = ["wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "--timeout", "10s", "-s", str(HERE / "load.lua")]
    seed = f"{time.time_ns():x}"
    cpu, started = server.cpu_seconds(), time.perf_counter()
    ended = subprocess.run(
        [*command, server.url, "--", operation.target, bodies, seed], capture_output=True, text=True, check=False
    )
    elapsed = time.perf_counter() - started
    line = next((line for line in ended.stdout.splitlines() if line.startswith("RESULT ")), None)
    if line is None:
        raise RuntimeError(f"wrk: {ended.stdout}{ended.stderr}")
    result = json.loads(line.removeprefix("RESULT "))
    duration = result["microseconds"] / 1e6
    cpu = server.cpu_seconds() - cpu
    return Row(
        peer=server.peer.name,
        operation=operation.name,
        connections=connections,
        requests_per_second=round(result["requests"] / duration, 1),
        p50_ms=result["p50_us"] / 1000,
        p99_ms=result["p99_us"] / 1000,
        mb_per_second=round(result["bytes"] / duration / 1e6, 1),
        refused=result["refused"],
        broken=result["broken"],
        cpu_cores=round(cpu / elapsed, 2),
        cpu_us=round(cpu / max(1, result["requests"]) * 1e6, 1),
        memory_mib=round(server.memory_mib()),
    )


def _line(row: Row, ratios: str = "") -> str:
    wrong = f"  {row.refused} refused, {row.broken} broken" if row.refused or row.broken else ""
    return (
        f"{row.operation:12} c{row.connections:<4} {row.peer:20} {row.requests_per_second:9,.0f}/s  p50 "
        f"{row.p50_ms:8.2f} ms  p99 {row.p99_ms:8.2f} ms  cpu {row.cpu_cores:4.2f} {row.cpu_us:8.1f} us  "
        f"{row.memory_mib:6.0f} MiB{ratios}{wrong}"
    )


def print_table(rows: list[Row]) -> None:
    """All rows, grouped by operation, each as a ratio to the floor and to DynamoDB Local."""
    rates = {(row.peer, row.operation, row.connections): row.requests_per_second for row in rows}
    print()
    for group in dict.fromkeys((row.connections, row.operation) for row in rows):
        for row in rows:
            if (row.connections, row.operation) == group:
                print(_line(row, _ratios(row, rates)))


def _ratios(row: Row, rates: dict[tuple[str, str, int], float]) -> str:
    text = ""
    if row.refused or row.broken or not PEERS[row.peer].answers:
        return text
    for name, label in (("floor", "of the floor"), ("dynamodb-local", "x DynamoDB Local")):
        rate = rates.get((name, row.operation, row.connections))
        if rate and name != row.peer:
            text += f"  {row.requests_per_second / rate:6.2f} {label}"
    return text


def save(kind: str, content: dict[str, Any]) -> None:
    """Numbers without their machine mean nothing, so it is saved with them."""
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{kind}-{time.strftime('%Y%m%d-%H%M%S')}.json"
    path.write_text(json.dumps({"machine": machine(), **content}, indent=1) + "\n")
    print(f"\nsaved: {path.relative_to(HERE.parent)}")


def machine() -> dict[str, Any]:
    """What it ran on, and which commit."""
    information = Path("/proc/cpuinfo")
    lines = information.read_text().splitlines() if information.exists() else []
    model = next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), "unknown")
    git = subprocess.run(["git", "describe", "--always", "--dirty"], cwd=HERE, capture_output=True, text=True)
    return {
        "processor": model,
        "processors": os.cpu_count(),
        "system": platform.platform(),
        "python": platform.python_version(),
        "commit": git.stdout.strip(),
    }


if __name__ == "__main__":
    main()
