"""How long from the command to the first right answer, and how much memory an idle server takes.

python bench/startup.py [--peers dynamometer,dynamometer-memory,dynamodb-local,dynalite] [--rounds 5]
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

import peers
import run
from client import Client
from peers import PEERS, Peer

SETTLE_SECONDS = 1.0


def main() -> None:
    """Start each peer a few times."""
    answering = [name for name, peer in PEERS.items() if peer.answers]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peers", type=lambda text: text.split(","), default=answering)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    rows = []
    for name in options.peers:
        try:
            rows.append(_measure(PEERS[name], options.rounds))
        except peers.Missing as missing:
            print(f"{name} is left out: {missing}", flush=True)
    run.save("startup", {"options": vars(options), "rows": rows})


def _measure(peer: Peer, rounds: int) -> dict[str, Any]:
    seconds, memory = [], []
    for _ in range(rounds):
        started = time.perf_counter()
        with peers.running(peer) as server:
            Client(server.port).call("ListTables", {})
            seconds.append(time.perf_counter() - started)
            time.sleep(SETTLE_SECONDS)
            memory.append(server.memory_mib())
    row = {
        "peer": peer.name,
        "first_answer_seconds": round(statistics.median(seconds), 3),
        "idle_memory_mib": round(statistics.median(memory)),
    }
    print(f"{peer.name:20} first answer {row['first_answer_seconds']} s  idle {row['idle_memory_mib']} MiB", flush=True)
    return row


if __name__ == "__main__":
    main()
