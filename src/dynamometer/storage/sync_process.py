"""The process that syncs the logs while this one works on, as seen from here.

A process and not a thread: a thread that comes back from its sync has to get the interpreter from the thread that is
busy answering requests, and until it has, each of the two disturbs the other several times a request
(docs/decisions/0010).
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from dynamometer.storage import sync_logs
from dynamometer.storage.folder import folder_error


class SyncProcessGone(Exception):
    """The process does not answer any more."""


class SyncProcess:
    """One sync at a time: `ask`, and when there is something to read at `answers`, `answer`."""

    def __init__(self, folder: Path) -> None:
        """Start it for the logs in a folder. Raises OSError."""
        self._folder = folder
        self._process = subprocess.Popen(
            [sys.executable or "python3", "-I", "-S", sync_logs.__file__, str(folder)],
            bufsize=0,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            process_group=0,  # out of reach of what a terminal sends to the server
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._asks, self._answers = self._process.stdin, self._process.stdout
        self.answers = self._answers.fileno()
        """The file descriptor to watch."""

    def ask(self) -> None:
        """Ask for a sync of all that was written before. Raises SyncProcessGone."""
        try:
            self._asks.write(b"s")
        except BrokenPipeError as error:
            raise SyncProcessGone from error

    def answer(self) -> None:
        """Return when what was asked for is done. Raises StoreError when it failed, SyncProcessGone."""
        answer = self._answers.read(1)
        if not answer:
            raise SyncProcessGone
        if answer != b"\0":
            number = answer[0]
            raise folder_error(self._folder, OSError(number, os.strerror(number)))

    def close(self) -> None:
        """Let it end, after the sync that it is at."""
        self._asks.close()
        self._process.wait()
        self._answers.close()
