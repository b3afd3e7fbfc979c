"""Power cuts for a process under test: files are cut back to what was synced, or to anywhere behind it."""

from __future__ import annotations

import random
import shutil
import subprocess
import sys
from pathlib import Path

_SOURCE = Path(__file__).with_name("synced.c")
_APPENDED = ("*.log", "*.sst", "MANIFEST-*")
"""What RocksDB only ever appends to: cutting such a file is what a power cut does to it."""


class Power:
    """The notes of what one folder's processes have synced. Needs Linux and a C compiler."""

    @staticmethod
    def library(folder: Path) -> Path | None:
        """The compiled `synced.c`, or None where it can't be made."""
        compiler = shutil.which("cc")
        if compiler is None or not sys.platform.startswith("linux"):
            return None
        made = folder / "synced.so"
        subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", str(made), str(_SOURCE), "-ldl"], check=True)
        return made

    def __init__(self, library: Path, notes: Path) -> None:
        self._notes = notes
        self.environment = {"LD_PRELOAD": str(library), "SYNCED_FILE": str(notes)}

    def synced(self) -> dict[str, int]:
        """Up to which byte each file was synced."""
        synced: dict[str, int] = {}
        for line in self._notes.read_text().splitlines():
            size, _, path = line.partition(" ")
            synced[path] = max(synced.get(path, 0), int(size))
        return synced

    def cut(self, folder: Path, rng: random.Random) -> int:
        """Take from the folder's files what was not synced, or a part of it; how many bytes were taken."""
        synced = self.synced()
        taken = 0
        for file in [file for pattern in _APPENDED for file in (folder / "db").glob(pattern)]:
            size = file.stat().st_size
            kept = synced.get(str(file), 0)
            if kept < size:
                kept = rng.choice([kept, rng.randint(kept, size)])
                with file.open("r+b") as opened:
                    opened.truncate(kept)
                taken += size - kept
        return taken
