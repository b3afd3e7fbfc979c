"""Print the version."""

from __future__ import annotations

import argparse

from dynamometer import __version__
from dynamometer.engine import commit


def add_options(parser: argparse.ArgumentParser) -> None:
    """None."""


def run(arguments: argparse.Namespace) -> int:
    """Print it, and whether what requests pass through is compiled."""
    print(f"dyno {__version__}{'' if commit.__file__.endswith('.py') else ' (compiled)'}")
    return 0
