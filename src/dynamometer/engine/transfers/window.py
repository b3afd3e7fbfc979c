"""What happened to the items of a range between two changes of the log: each item's first image and its last.

    log      a: 1 -> 2     b: - -> 1     a: 2 -> 3     b: 1 -> -
    effect   a: 1 -> 3     b: - -> -

The log is in the order of time, the effect is wanted in the order of places, and there may be more of it than fits in
memory. So the log is read once for a range of places, and whenever that collects too much, the upper half of the places
is dropped and the range made smaller: the caller goes on behind it with another reading.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from dynamometer.engine.log import Change, ChangeLog, decode
from dynamometer.storage.interface import View

STEP_CHANGES = 1000
MEMORY_BYTES = 32 << 20
_PLACE = slice(1, 5)


@dataclass(slots=True)
class Effect:
    """An item's image before its first change, that after its last, and the number of its last change."""

    before: bytes | None
    after: bytes | None
    sequence: int


class Window:
    """The effects on places with low <= place < high (None: to the end), of changes with start <= number < end."""

    def __init__(
        self,
        log: ChangeLog,
        view: View,
        table: int,
        start: int,
        end: int,
        low: bytes = b"",
        high: bytes | None = None,
        memory_bytes: int = MEMORY_BYTES,
    ) -> None:
        self.low = low
        self.high = high
        """Up to where the effects are complete; it may fall while the log is read."""
        self.effects: dict[bytes, Effect] = {}
        self._size = 0
        self._memory_bytes = memory_bytes
        self._entries: Iterator[tuple[int, bytes]] = log.entries(view, table, start, end) if start < end else iter(())

    def step(self) -> bool:
        """Read a piece of the log; whether it was the last."""
        for _ in range(STEP_CHANGES):
            entry = next(self._entries, None)
            if entry is None:
                return True
            place_end = 9 + int.from_bytes(entry[1][_PLACE], "big")
            place = entry[1][9:place_end]
            if place >= self.low and (self.high is None or place < self.high):
                self._take(decode(*entry))
        return False

    def _take(self, change: Change) -> None:
        effect = self.effects.get(change.place)
        if effect is None:
            self.effects[change.place] = Effect(change.before, change.after, change.sequence)
            self._size += len(change.place) + len(change.before or b"") + len(change.after or b"") + 200
            if self._size > self._memory_bytes and len(self.effects) > 1:
                self._shrink()
        else:
            self._size += len(change.after or b"") - len(effect.after or b"")
            effect.after, effect.sequence = change.after, change.sequence

    def _shrink(self) -> None:
        places = sorted(self.effects)
        self.high = places[len(places) // 2]
        for place in places[len(places) // 2 :]:
            effect = self.effects.pop(place)
            self._size -= len(place) + len(effect.before or b"") + len(effect.after or b"") + 200
