"""How answers leave: not before their write is durable, in order, no faster than the client reads."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from dynamometer.base.clock import ManualClock
from dynamometer.server.answers import http_date
from tests.unit.server.running import Client, Running, request, running


@pytest.fixture
def server() -> Iterator[Running]:
    with running() as started:
        yield started


@pytest.fixture
def client(server: Running) -> Client:
    return server.connect()


def write(body: bytes, sequence: int) -> bytes:
    return request(body, f"X-Sequence: {sequence}")


def test_a_write_is_acknowledged_when_it_is_durable(server: Running, client: Client) -> None:
    client.send(write(b"a", 1))
    assert client.hears_nothing()
    server.store.make_durable(1)
    assert client.read_answer()[2] == b"a"


def test_answers_behind_a_write_wait_with_it(server: Running, client: Client) -> None:
    client.send(request(b"before") + write(b"write", 3) + request(b"behind"))
    assert client.read_answer()[2] == b"before"
    server.store.make_durable(2)
    assert client.hears_nothing()
    server.store.make_durable(3)
    assert [client.read_answer()[2] for _ in range(2)] == [b"write", b"behind"]


def test_one_sync_releases_every_connection_that_it_made_durable(server: Running) -> None:
    clients = [server.connect() for _ in range(5)]
    for sequence, client in enumerate(clients, start=1):
        client.send(write(b"%d" % sequence, sequence))
        assert client.hears_nothing(0.02)
    server.store.make_durable(3)
    assert [client.read_answer()[2] for client in clients[:3]] == [b"1", b"2", b"3"]
    assert all(client.hears_nothing(0.02) for client in clients[3:])
    server.store.make_durable(5)
    assert [client.read_answer()[2] for client in clients[3:]] == [b"4", b"5"]


def test_writes_of_one_connection_are_released_as_they_become_durable(server: Running, client: Client) -> None:
    client.send(write(b"a", 1) + write(b"b", 2) + write(b"c", 3))
    for sequence, body in ((1, b"a"), (2, b"b"), (3, b"c")):
        assert client.hears_nothing(0.02)
        server.store.make_durable(sequence)
        assert client.read_answer()[2] == body


def test_a_connection_is_not_held_up_by_another_ones_write(server: Running, client: Client) -> None:
    client.send(write(b"a", 1))
    other = server.connect()
    other.post(b"read")
    assert other.read_answer()[2] == b"read"


def test_a_client_that_went_away_does_not_disturb_the_others(server: Running) -> None:
    gone, there = server.connect(), server.connect()
    gone.send(write(b"a", 1))
    assert gone.hears_nothing(0.02)
    gone.close()
    there.send(write(b"b", 2))
    assert there.hears_nothing(0.02)
    server.store.make_durable(2)
    assert there.read_answer()[2] == b"b"


def test_when_the_disk_fails_the_waiting_hear_of_it(server: Running, client: Client) -> None:
    client.send(write(b"safe", 1) + write(b"lost", 2) + request(b"behind"))
    assert client.hears_nothing()
    server.store.durable_sequence = 1
    server.store.fail()
    assert client.read_answer()[::2] == (200, b"safe")
    status, headers, body = client.read_answer()
    assert (status, headers["connection"]) == (500, "close")
    assert b"InternalServerError" in body
    assert client.read_to_end() == b""


def test_what_still_becomes_durable_after_writes_are_refused_is_acknowledged(server: Running, client: Client) -> None:
    client.send(write(b"safe", 1))
    assert client.hears_nothing()
    server.store.fail(rest_is_lost=False)
    assert client.read_answer()[::2] == (200, b"safe")


def test_what_can_never_become_durable_is_refused_at_once(server: Running, client: Client) -> None:
    server.store.fail()
    client.send(write(b"lost", 1))
    assert client.read_answer()[0] == 500


def test_a_client_that_does_not_read_is_not_worked_for(server: Running, client: Client) -> None:
    server.service.answer_bytes = 1 << 20
    client.send(request(b"a") * 200)
    assert client.read_answer()[0] == 200
    answered_unread = len(server.service.requests)
    assert answered_unread < 50
    for _ in range(199):
        assert client.read_answer()[0] == 200
    assert len(server.service.requests) == 200


def test_a_client_may_not_pile_up_unsynced_answers(server: Running, client: Client) -> None:
    server.service.answer_bytes = 1 << 18
    client.send(write(b"a", 1) * 100)
    assert client.hears_nothing()
    assert len(server.service.requests) < 10
    server.store.make_durable(1)
    for _ in range(100):
        assert client.read_answer()[0] == 200


def test_the_date_turns_with_the_clock() -> None:
    clock = ManualClock(1_700_000_000.9)
    with running(clock=clock) as server:
        client = server.connect()
        dates = []
        for _ in range(3):
            client.post()
            dates.append(client.read_answer()[1]["date"])
            clock.advance(0.1)
    assert dates == ["Tue, 14 Nov 2023 22:13:20 GMT"] + ["Tue, 14 Nov 2023 22:13:21 GMT"] * 2


def test_dates_have_english_names_and_two_digits() -> None:
    assert http_date(0) == b"Thu, 01 Jan 1970 00:00:00 GMT"
    assert http_date(951_827_696) == b"Tue, 29 Feb 2000 12:34:56 GMT"
