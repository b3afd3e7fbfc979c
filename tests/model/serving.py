"""A real server in a process of its own, for as long as a test needs it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit


@contextmanager
def serving(*options: str) -> Iterator[int]:
    """The port of a server, in memory unless `options` name a folder."""
    read_end, write_end = os.pipe()
    storage = () if "--data" in options else ("--in-memory",)
    command = [sys.executable, "-m", "dynamometer.cli", "serve", "--port", "0", "--ready-fd", str(write_end)]
    server = subprocess.Popen([*command, *storage, *options], pass_fds=[write_end], stdout=subprocess.DEVNULL)
    os.close(write_end)
    try:
        with os.fdopen(read_end) as ready:
            port = urlsplit(ready.readline().strip()).port
        assert port is not None, "the server did not start"
        yield port
    finally:
        server.terminate()
        server.wait(timeout=20)
