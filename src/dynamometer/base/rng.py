"""The only module that imports random: every source of chance is made from a seed here."""

from __future__ import annotations

import random

Random = random.Random


def seeded(seed: int | None = None) -> Random:
    """A source of chance of its own; without a seed, one from the operating system."""
    return random.Random(seed)
