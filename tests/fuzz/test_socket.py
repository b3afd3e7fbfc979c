"""The same over real connections to a real process: broken HTTP, half requests, and then a healthy client.

The server must answer the healthy client at once, never log a traceback, and be no larger at the end.
"""

from __future__ import annotations

import contextlib
import os
import re
import select
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from tests.fuzz import cases, harness

SEED = int(os.environ.get("FUZZ_SEED", "1"))
ROUNDS = 150
REQUESTS = 400
ANSWER_SECONDS_MAX = 2.0
START_SECONDS_MAX = 20.0
GROWTH_MIB_MAX = 40.0
HEALTHY = (
    b"POST / HTTP/1.1\r\nHost: localhost\r\nX-Amz-Target: DynamoDB_20120810.ListTables\r\n"
    b"Content-Type: application/x-amz-json-1.0\r\nX-Amz-Date: 20250101T000000Z\r\nAuthorization: %b\r\n"
    b"Content-Length: 2\r\nConnection: close\r\n\r\n{}" % cases.AUTHORIZATION
)


class Process:
    """A `dyno serve` in memory, on a port of its own."""

    def __init__(self, log: Path) -> None:
        self.log = log
        reader, writer = os.pipe()
        command = [
            sys.executable,
            "-m",
            "dynamometer",
            "serve",
            "--in-memory",
            "--port",
            "0",
            "--ready-fd",
            str(writer),
        ]
        with log.open("wb") as out:
            self.process = subprocess.Popen(command, pass_fds=(writer,), stdout=out, stderr=out, cwd=log.parent)
        os.close(writer)
        ready, _, _ = select.select([reader], [], [], START_SECONDS_MAX)
        url = os.read(reader, 200).decode() if ready else ""
        os.close(reader)
        assert url, log.read_text()
        self.port = int(re.findall(r":(\d+)", url)[-1])

    def connect(self) -> socket.socket:
        connection = socket.create_connection(("127.0.0.1", self.port), timeout=ANSWER_SECONDS_MAX)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return connection

    def memory_mib(self) -> float:
        pages = int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 1024**2

    def assert_healthy(self, after: str) -> None:
        """A new client gets its answer in time."""
        started = time.monotonic()
        with self.connect() as connection:
            connection.sendall(HEALTHY)
            answer = _read(connection)
        assert answer.startswith(b"HTTP/1.1 200 OK\r\n"), f"after {after}: {answer[:300]!r}"
        assert time.monotonic() - started < ANSWER_SECONDS_MAX, f"after {after}"

    def assert_quiet(self) -> None:
        """It still runs and has logged no failure."""
        assert self.process.poll() is None, self.log.read_text()[-3000:]
        assert "Traceback" not in self.log.read_text(), self.log.read_text()[-3000:]


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Process]:
    process = Process(tmp_path / "log")
    try:
        yield process
        process.assert_quiet()
    finally:
        process.process.kill()
        process.process.wait()


def test_broken_http_harms_nobody_else(server: Process) -> None:
    _break(server, SEED, range(ROUNDS))


def test_fuzzed_bodies_are_answered_over_a_socket(server: Process) -> None:
    _ask(server, SEED, range(REQUESTS))


@pytest.mark.soak
def test_broken_http_and_fuzzed_bodies_for_minutes(server: Process) -> None:
    seed = int(os.environ.get("FUZZ_SEED", Random().randrange(10**9)))
    deadline = time.monotonic() + float(os.environ.get("SOAK_SECONDS", "120"))
    start, before = 0, 0.0
    while time.monotonic() < deadline:
        _break(server, seed, range(start, start + ROUNDS))
        _ask(server, seed, range(start, start + REQUESTS), ("random_bytes",))
        start += REQUESTS
        before = before or server.memory_mib()
    assert server.memory_mib() - before < GROWTH_MIB_MAX


def _break(server: Process, seed: int, numbers: range) -> None:
    held: list[socket.socket] = []
    for number in numbers:
        rng = Random(f"{seed}/http/{number}")
        connection = server.connect()
        with contextlib.suppress(OSError):
            for part in _broken(rng):
                connection.sendall(part)
        _part_ways(rng, connection, held)
        if number % 10 == 0:
            server.assert_healthy(f"http {seed}/{number}")
    for connection in held:
        connection.close()
    server.assert_healthy(f"http {seed}/{numbers.stop}")


def _ask(server: Process, seed: int, numbers: range, kinds: tuple[str, ...] = tuple(cases.KINDS)) -> None:
    targets = harness.implemented()
    for number in numbers:
        case = cases.KINDS[kinds[number % len(kinds)]](seed, number, targets)
        started = time.monotonic()
        with server.connect() as connection:
            connection.sendall(_encode(case))
            answer = _read(connection)
        unreadable = b"content-encoding" in case.headers and answer.startswith(b"HTTP/1.1 500 ")
        assert re.match(rb"HTTP/1.1 (200|400|403|404|413) ", answer) or unreadable, f"{case.name}: {answer[:300]!r}"
        assert time.monotonic() - started < ANSWER_SECONDS_MAX, case.name


def _encode(case: cases.Case) -> bytes:
    head = b"".join(b"%b: %b\r\n" % (name, value.translate(None, b"\r\n\0")) for name, value in case.headers.items())
    return b"POST / HTTP/1.1\r\n%bContent-Length: %d\r\nConnection: close\r\n\r\n" % (head, len(case.body)) + case.body


def _broken(rng: Random) -> list[bytes]:
    """What is sent on one connection, in the pieces in which it is sent."""
    whole = HEALTHY.replace(b"Connection: close\r\n", b"")
    at = rng.randrange(len(whole))
    return rng.choice(
        (
            [rng.randbytes(rng.choice((1, 100, 5000)))],
            [whole[:at]],
            [whole[:at], whole[at:]],
            [whole[:at] + rng.randbytes(3) + whole[at:]],
            [bytes([byte]) for byte in whole[:200]],
            [whole * 50],
            [whole * 20 + whole[:at]],
            [whole.replace(b"Content-Length: 2", b"Content-Length: " + rng.choice(_LENGTHS))],
            [whole.replace(b"Content-Length: 2", b"Transfer-Encoding: chunked") + rng.choice(_CHUNKS)],
            [whole.replace(b"Host", rng.choice((b"", b" Host", b"Ho st", b"H\x00", b"a" * 40_000)))],
            [b"POST / HTTP/1.1\r\n", *([b"X-%d: y\r\n" % number for number in range(3000)])],
            [b"GET " + b"/" * 70_000 + b" HTTP/1.1\r\n\r\n"],
            [
                rng.choice(
                    (
                        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
                        b"\x16\x03\x01\x02\x00",
                        b"POST / HTTP/9.9\r\n\r\n",
                        b"\r\n" * 99,
                    )
                )
            ],
            [whole.replace(b"\r\n", b"\n")],
            [whole.replace(b"Host:", b"Upgrade: h2c\r\nConnection: Upgrade\r\nHost:")],
            [whole.replace(b"Host:", b"Expect: 100-continue\r\nHost:")],
        )
    )


_LENGTHS = (b"0", b"1", b"3", b"-1", b"+2", b"2, 3", b"0x2", b"", b"99999999999999999999", b"17000000", b"\xff")
_CHUNKS = (
    b"2\r\n{}\r\n0\r\n\r\n",
    b"zz\r\n",
    b"fffffffffffffffff\r\n",
    b"2\r\n{}",
    b"-1\r\n",
    b"0\r\nX: y\r\n\r\n",
    b"",
)


def _part_ways(rng: Random, connection: socket.socket, held: list[socket.socket]) -> None:
    """How the client goes on: away, away with a reset, half closed, or silent for the rest of the run."""
    kind = rng.randrange(4)
    if kind == 0:
        connection.close()
    elif kind == 1:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\x00\x00\x00\x00\x00\x00\x00")
        connection.close()
    elif kind == 2:
        with contextlib.suppress(OSError):
            connection.shutdown(socket.SHUT_WR)
        held.append(connection)
    else:
        held.append(connection)


def _read(connection: socket.socket) -> bytes:
    """Everything until the server closes."""
    parts = []
    with contextlib.suppress(ConnectionResetError):
        while part := connection.recv(65536):
            parts.append(part)
    return b"".join(parts)
