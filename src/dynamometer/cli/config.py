"""Show every setting, its value, and where the value came from."""

from __future__ import annotations

import argparse
from dataclasses import asdict

from dynamometer.cli.options import add_settings, read_settings


def add_options(parser: argparse.ArgumentParser) -> None:
    """The same as `dyno serve` takes: this shows what it would run with."""
    add_settings(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print the table."""
    loaded = read_settings(arguments)
    rows = [("setting", "value", "from")]
    for name, value in asdict(loaded.settings).items():
        if name == "replication_secret" and value is not None:
            value = "(set)"
        text = "-" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
        rows.append((name, text, loaded.sources[name]))
    widths = [max(len(row[column]) for row in rows) for column in range(2)]
    for name, text, source in rows:
        print(f"{name:<{widths[0]}}  {text:<{widths[1]}}  {source}")
    return 0
