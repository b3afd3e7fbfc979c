"""The program of the sync process: syncs the logs of a folder whenever it is asked to. Imports nothing of ours.

    python -I -S sync_logs.py FOLDER

Each byte on standard input asks for one sync of all that was written before. Each is answered with one byte on
standard output: 0, or the error number of what failed, after which the program ends. It also ends with its input.

RocksDB hands every write to the operating system before it returns, so whoever syncs the file makes it durable. The
files are looked for at each request: a write may have begun a new log. A log that is gone meanwhile has been written
to a table file, which RocksDB syncs by itself.
"""

from __future__ import annotations

import errno
import os
import signal
import sys
from contextlib import suppress
from threading import Thread
from time import sleep

if sys.platform == "darwin":
    import fcntl

    def datasync(file: int) -> None:
        """As RocksDB does: fsync alone leaves the bytes in the drive's cache."""
        fcntl.fcntl(file, fcntl.F_FULLFSYNC)

else:
    datasync = os.fdatasync

PIECE_BYTES = 1 << 20
PIECE_SECONDS = 0.005


class Logs:
    """The open log files of a folder."""

    def __init__(self, folder: str) -> None:
        self._directory = os.open(folder, os.O_RDONLY)
        self._opened: dict[str, int] = {}

    def sync(self) -> None:
        """Make durable what the logs hold now. Raises OSError."""
        names = {name for name in os.listdir(self._directory) if name.endswith(".log")}  # noqa: PTH208 (iterdir knows no descriptors)
        for name in self._opened.keys() - names:
            Thread(target=let_go, args=(self._opened.pop(name),), daemon=True).start()
        new = names - self._opened.keys()
        for name in new:
            with suppress(FileNotFoundError):
                self._opened[name] = os.open(name, os.O_RDWR, dir_fd=self._directory)
        for file in self._opened.values():
            datasync(file)
        if new:
            sync_names(self._directory)


def let_go(file: int) -> None:
    """Close a removed log. Whoever closes it last frees its blocks, and 16 MB at once hold up syncs for 8 ms."""
    with suppress(OSError):  # of a file that nobody needs: no reason to end, nor to say so
        about = os.fstat(file)
        if about.st_nlink == 0:  # nobody can open it any more
            for size in range(about.st_size - PIECE_BYTES, 0, -PIECE_BYTES):
                os.ftruncate(file, size)
                sleep(PIECE_SECONDS)
    with suppress(OSError):
        os.close(file)


def sync_names(directory: int) -> None:
    """Make the names in an open folder durable. Raises OSError."""
    try:
        os.fsync(directory)
    except OSError as error:
        # Some file systems can't sync a folder, and say so.
        if error.errno != errno.EINVAL:
            raise


def main() -> None:
    """Answer until the other end is closed. Signals to the group are for the server, which still needs this process."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    logs = Logs(sys.argv[1])
    while os.read(0, 1):
        try:
            logs.sync()
        except OSError as error:
            os.write(1, bytes([error.errno or errno.EIO]))
            return
        os.write(1, b"\0")


if __name__ == "__main__":
    main()
