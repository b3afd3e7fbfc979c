"""Print the version."""

from __future__ import annotations

import argparse

from dynamometer import __version__


def add_options(parser: argparse.ArgumentParser) -> None:
    """None."""


def run(arguments: argparse.Namespace) -> int:
    """Print it."""
    print(f"dyno {__version__}")
    return 0
