"""One connection without a socket: however bytes are cut and whenever the disk is done, answers are the same."""

from __future__ import annotations

import asyncio
import re
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from dynamometer.base.clock import ManualClock
from dynamometer.base.config import Settings
from dynamometer.server.connection import Connection
from dynamometer.server.server import Server
from tests.unit.server.running import EchoService, FakeStore, request


class FakeTransport(asyncio.Transport):
    """Keeps what is written."""

    def __init__(self) -> None:
        super().__init__()
        self.written = b""
        self.is_closed = False

    def write(self, data: Any) -> None:
        assert not self.is_closed
        self.written += data

    def close(self) -> None:
        self.is_closed = True

    abort = write_eof = close

    def can_write_eof(self) -> bool:
        return True

    def pause_reading(self) -> None:
        pass

    resume_reading = pause_reading


class FakeLoop:
    """Nothing of what is put off ever happens."""

    def call_soon(self, callback: Any, *arguments: Any) -> None:
        pass


def connect() -> tuple[Connection, FakeTransport, Server, FakeStore]:
    store = FakeStore()
    server = Server(EchoService().handle, store, Settings(), ManualClock())
    server._loop = FakeLoop()  # type: ignore[assignment]
    connection, transport = Connection(server), FakeTransport()
    connection.connection_made(transport)
    return connection, transport, server, store


def bodies(answers: bytes) -> list[bytes]:
    return re.findall(rb"Content-Length: \d+\r\n\r\n([^H]*)", answers)


texts = st.text("abc", min_size=1, max_size=20).map(str.encode)
chunked = texts.map(
    lambda body: b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%b\r\n0\r\n\r\n" % (len(body), body)
)
pieces = st.one_of(
    texts.map(request),
    texts.map(lambda body: request(body, "Connection: Upgrade", "Upgrade: h2c")),
    chunked,
    st.just(b"GET /ab HTTP/1.1\r\nX: y\r\n\r\n"),
    st.just(request(b"", "Connection: close")),
    st.just(b"rubbish\r\n\r\n"),
)


@given(st.lists(pieces, max_size=6).map(b"".join), st.lists(st.integers(1, 40), max_size=60))
def test_how_the_bytes_are_cut_makes_no_difference(data: bytes, cuts: list[int]) -> None:
    whole, whole_transport, *_ = connect()
    whole.data_received(data) if data else None
    cut, cut_transport, *_ = connect()
    at = 0
    for length in [*cuts, len(data)]:
        if at < len(data) and not cut_transport.is_closed:
            cut.data_received(data[at : at + length])
            at += length
    assert cut_transport.written == whole_transport.written
    assert cut_transport.is_closed == whole_transport.is_closed


@given(st.lists(st.binary(max_size=60) | pieces, max_size=8))
def test_no_bytes_make_it_fail(data: list[bytes]) -> None:
    connection, transport, *_ = connect()
    for part in data:
        if part and not transport.is_closed:
            connection.data_received(part)
    assert transport.written == b"" or transport.written.startswith(b"HTTP/1.1 ")
    if b" 400 " in transport.written:
        assert transport.is_closed


@given(st.lists(st.integers(0, 6), min_size=1, max_size=12), st.lists(st.integers(1, 6), max_size=6).map(sorted))
def test_answers_keep_their_order_and_never_come_before_their_write_is_durable(
    sequences: list[int], durable: list[int]
) -> None:
    connection, transport, server, store = connect()
    connection.data_received(
        b"".join(request(b"%d" % number, f"X-Sequence: {sequence}") for number, sequence in enumerate(sequences))
    )
    for point in [0, *durable, 6]:
        store.durable_sequence = point
        server._release()
        answered = bodies(transport.written)
        assert answered == [b"%d" % number for number in range(len(answered))]
        assert all(sequence <= point for sequence in sequences[: len(answered)])
    assert len(answered) == len(sequences)


def test_one_sync_is_asked_for_all_writes_of_a_turn_of_the_loop() -> None:
    turns: list[Any] = []
    connection, _, server, store = connect()
    other, _ = Connection(server), FakeTransport()
    other.connection_made(FakeTransport())
    server._loop.call_soon = turns.append  # type: ignore[method-assign,assignment]
    connection.data_received(request(b"a", "X-Sequence: 1"))
    other.data_received(request(b"b", "X-Sequence: 2"))
    assert store.syncs_asked == 0
    turns.pop()()
    assert (store.syncs_asked, turns) == (1, [])
