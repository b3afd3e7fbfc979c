"""Show the updates that global tables have lost: what was written where, and to which write it was lost."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import asdict
from datetime import UTC, datetime

import orjson

from dynamometer.cli.stores import data_folder, open_existing
from dynamometer.engine.replication.conflicts import Conflict, read


def add_options(parser: argparse.ArgumentParser) -> None:
    """Where, of which tables, and how."""
    parser.add_argument(
        "--data",
        metavar="DIR",
        help="the data folder; no server may be using it (default: the one that `dyno serve` would use here)",
    )
    parser.add_argument("--table", help="only those of this table")
    parser.add_argument("--account", help="only those of this account")
    parser.add_argument("--json", action="store_true", help="one JSON object a line, with everything that is known")


def run(arguments: argparse.Namespace) -> int:
    """Print each lost update; the exit code is 0 with and without any."""
    store = open_existing(data_folder(arguments.data))
    try:
        for conflict in read(store, arguments.account, arguments.table):
            if arguments.json:
                print(orjson.dumps(asdict(conflict)).decode())
            else:
                print("\n".join(_lines(conflict)), flush=True)
    finally:
        store.close()
    return 0


def _lines(conflict: Conflict) -> Iterator[str]:
    yield f"{conflict.table} (account {conflict.account}) {orjson.dumps(conflict.key).decode()}"
    lost = "a deletion" if conflict.lost_item is None else orjson.dumps(conflict.lost_item).decode()
    yield f"  lost    {_spelled(conflict.lost_at)} {conflict.lost_region}: {lost}"
    yield f"  to      {_spelled(conflict.winning_at)} {conflict.winning_region}"


def _spelled(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")
