"""What a client may not do for ever, and how the server stops."""

from __future__ import annotations

import ssl
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from dynamometer.base.config import Settings, SettingsError
from dynamometer.server.tls import context
from tests.unit.server.running import SECONDS, Running, request, running

HERE = Path(__file__).parent
CERT, KEY = str(HERE / "localhost.pem"), str(HERE / "localhost.key")


@pytest.fixture
def hasty() -> Iterator[Running]:
    with running(request_timeout_seconds=0.08, idle_timeout_seconds=0.08) as started:
        yield started


@pytest.mark.parametrize("data", [b"", b"POST / HT", b"POST / HTTP/1.1\r\nX-A: 1\r\n", request(b"body")[:-1]])
def test_a_client_that_takes_too_long_is_let_go(hasty: Running, data: bytes) -> None:
    client = hasty.connect()
    client.send(data)
    assert client.read_to_end() == b""


def test_a_connection_in_use_is_not_idle(hasty: Running) -> None:
    client = hasty.connect()
    for _ in range(10):
        client.post(b"a")
        assert client.read_answer()[0] == 200
        assert client.hears_nothing(0.03)


def test_a_client_that_never_reads_is_let_go(hasty: Running) -> None:
    hasty.service.answer_bytes = 1 << 20
    client = hasty.connect()
    client.send(request() * 50)
    assert client.read_answer()[0] == 200
    assert _until_settled(hasty) < 50
    assert client.read_to_end().count(b"HTTP/1.1 200 OK") < 50


def _until_settled(server: Running) -> int:
    """The number of requests worked on once the server's connections are gone."""
    ended = threading.Event()
    while server.server._connections:
        ended.wait(0.01)
    return len(server.service.requests)


def test_waiting_for_the_disk_is_not_held_against_the_client(hasty: Running) -> None:
    client = hasty.connect()
    client.send(request(b"a", "X-Sequence: 1"))
    assert client.hears_nothing(0.3)
    hasty.store.make_durable(1)
    assert client.read_answer()[2] == b"a"


def test_connections_over_the_limit_are_told_so() -> None:
    with running(max_connections=2) as server:
        first, second, third = (server.connect() for _ in range(3))
        status, headers, body = third.read_answer()
        assert (status, headers["connection"]) == (503, "close")
        assert b"ServiceUnavailable" in body
        assert third.read_to_end() == b""
        third.close()
        for client in (first, second):
            client.post(b"a")
            assert client.read_answer()[0] == 200
        first.close()
        while True:
            fourth = server.connect()
            fourth.post(b"b")
            if fourth.read_answer()[0] == 200:
                return


def test_a_stop_answers_what_was_read_and_closes_what_is_idle() -> None:
    with running() as server:
        idle, partial, waiting = (server.connect() for _ in range(3))
        idle.post()
        idle.read_answer()
        partial.send(request(b"body")[:-1])
        waiting.send(request(b"write", "X-Sequence: 1"))
        assert partial.hears_nothing() and waiting.hears_nothing()
        stopped = server.run(server.server.stop(10 * SECONDS))  # nobody here waits that long
        assert idle.read_to_end() == b""
        with pytest.raises(ConnectionRefusedError):
            server.connect()
        partial.send(b"y")
        status, headers, body = partial.read_answer()
        assert (status, headers["connection"], body) == (200, "close", b"body")
        assert not stopped.done()
        server.store.make_durable(1)
        assert waiting.read_answer()[2] == b"write"
        assert waiting.read_to_end() == b""
        stopped.result(SECONDS)


def test_a_stop_does_not_wait_for_ever() -> None:
    with running() as server:
        client = server.connect()
        client.send(b"POST / HTTP/1.1\r\n")
        assert client.hears_nothing()
        server.run(server.server.stop(0.05)).result(SECONDS)
        assert client.read_to_end() == b""


def test_background_work_runs_until_it_is_done_and_survives_its_errors() -> None:
    left, done = [5], threading.Event()

    def jobs() -> bool:
        left[0] -= 1
        if left[0] == 3:
            raise RuntimeError("a bug")
        if left[0] <= 0:
            done.set()
        return left[0] > 0

    with running(jobs=jobs):
        assert done.wait(SECONDS)


def test_https() -> None:
    client_context = ssl.create_default_context(cafile=CERT)
    with running(tls=context(Settings(tls_cert=CERT, tls_key=KEY))) as server:
        client = server.connect(client_context)
        client.send(request(b"a") + request(b"b" * 100_000))
        assert [len(client.read_answer()[2]) for _ in range(2)] == [1, 100_000]
        client.send(b"rubbish\r\n\r\n")
        assert client.read_answer()[0] == 400
        assert client.read_to_end() == b""


def test_certificates_that_cannot_be_used_are_explained(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="does not exist"):
        context(Settings(tls_cert=str(tmp_path / "none"), tls_key=KEY))
    with pytest.raises(SettingsError, match="can't be used"):
        context(Settings(tls_cert=CERT, tls_key=CERT))
    assert context(Settings()) is None
