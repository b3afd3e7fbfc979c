"""Check the data of a folder: every item, index entry and counter. Exit code 0: sound, 1: findings, 2: not checked."""

from __future__ import annotations

import argparse
import sys

from dynamometer.cli.stores import data_folder, open_existing


def add_options(parser: argparse.ArgumentParser) -> None:
    """The folder, also by the name that `dyno serve` has for it."""
    where = parser.add_mutually_exclusive_group()
    where.add_argument(
        "folder",
        nargs="?",
        metavar="DIR",
        help="the data folder; no server may be using it (default: the one that `dyno serve` would use here)",
    )
    where.add_argument("--data", metavar="DIR", help="the same")
    parser.add_argument(
        "--salvage", action="store_true", help="cut a damaged log before the damage, giving up what lies behind it"
    )
    parser.add_argument("--quiet", action="store_true", help="no progress on standard error")


def run(arguments: argparse.Namespace) -> int:
    """Print each finding on a line of its own."""
    folder = data_folder(arguments.folder or arguments.data)
    store = open_existing(folder, arguments.salvage)
    from dynamometer.engine.check import check

    found = 0
    try:
        for finding in check(store, progress=_silent if arguments.quiet else _progress):
            print(finding, flush=True)
            found += 1
    finally:
        store.close()
    if found:
        print(f"{folder}: {found} finding{'s' if found > 1 else ''}")
        return 1
    print(f"{folder}: sound")
    return 0


def _progress(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _silent(text: str) -> None:
    """Say nothing."""
