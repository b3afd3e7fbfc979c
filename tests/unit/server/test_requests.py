"""How requests arrive: bodies, heads, versions, pipelines, and what is refused."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from dynamometer.server.server import new_event_loop
from tests.unit.server.running import Client, Running, request, running


@pytest.fixture
def server() -> Iterator[Running]:
    with running() as started:
        yield started


@pytest.fixture
def client(server: Running) -> Client:
    return server.connect()


@pytest.mark.parametrize("make_loop", [asyncio.new_event_loop, new_event_loop])
def test_an_answer_has_the_heads_of_the_service(make_loop: type[asyncio.AbstractEventLoop]) -> None:
    with running(loop=make_loop()) as server:
        client = server.connect()
        client.post(b"hello")
        status, headers, body = client.read_answer()
    assert (status, body) == (200, b"hello")
    assert headers == {
        "server": "Server",
        "date": "Tue, 14 Nov 2023 22:13:20 GMT",
        "connection": "keep-alive",
        "content-type": "text/plain",
        "content-length": "5",
    }


def test_the_service_gets_names_in_lower_case_and_the_query(server: Running, client: Client) -> None:
    client.post(b"a", "X-Amz-Target: DynamoDB_20120810.GetItem", target="/?a=b%20c")
    client.read_answer()
    method, target, headers, body = server.service.requests[0]
    assert (method, target, body) == ("POST", "/?a=b%20c", b"a")
    assert headers[b"x-amz-target"] == b"DynamoDB_20120810.GetItem"


def test_one_connection_serves_many_requests(server: Running, client: Client) -> None:
    for body in (b"a", b"b", b"c"):
        client.post(body)
        assert client.read_answer()[2] == body


def test_pipelined_requests_are_answered_in_order(client: Client) -> None:
    bodies = [b"%d" % number for number in range(50)]
    client.send(b"".join(request(body) for body in bodies))
    assert [client.read_answer()[2] for _ in bodies] == bodies


def test_a_request_may_come_byte_by_byte(client: Client) -> None:
    for byte in request(b"slow", "X-Long: " + "y" * 300):
        client.send(bytes([byte]))
    assert client.read_answer()[2] == b"slow"


def test_a_chunked_body_is_put_together(server: Running, client: Client) -> None:
    client.send(b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n")
    client.send(b"3\r\nabc\r\n2\r\nde\r\n0\r\nX-Trailer: t\r\n\r\n")
    assert client.read_answer()[2] == b"abcde"
    assert b"x-trailer" not in server.service.requests[0][2]


def test_a_client_that_asks_is_told_to_send_its_body(client: Client) -> None:
    client.send(b"POST / HTTP/1.1\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n")
    assert client.read_answer()[0] == 100
    client.send(b"ok")
    assert client.read_answer()[::2] == (200, b"ok")


def test_http_1_0_is_answered_and_closed(client: Client) -> None:
    client.send(b"POST / HTTP/1.0\r\nContent-Length: 1\r\nExpect: 100-continue\r\n\r\na")
    status, headers, body = client.read_answer()
    assert (status, headers["connection"], body) == (200, "close", b"a")
    assert client.read_to_end() == b""


def test_http_1_0_is_kept_when_asked_for(client: Client) -> None:
    for _ in range(2):
        client.send(b"GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
        assert client.read_answer()[1]["connection"] == "keep-alive"


def test_connection_close_is_obeyed(client: Client) -> None:
    client.post(b"last", "Connection: close")
    status, headers, body = client.read_answer()
    assert (status, headers["connection"], body) == (200, "close", b"last")
    assert client.read_to_end() == b""


def test_a_client_that_stops_sending_still_gets_its_answers(client: Client) -> None:
    client.send(request(b"a") + request(b"b"))
    client.socket.shutdown(1)
    assert [client.read_answer()[2] for _ in range(2)] == [b"a", b"b"]
    assert client.read_to_end() == b""


def test_head_is_answered_without_its_body(client: Client) -> None:
    client.send(request(method="HEAD", target="/abc") + request(b"next"))
    assert client.read_answer(has_body=False)[1]["content-length"] == "4"
    assert client.read_answer()[2] == b"next"


@pytest.mark.parametrize("method", ["GET", "OPTIONS", "PUT", "DELETE", "PATCH"])
def test_every_method_reaches_the_service(server: Running, client: Client, method: str) -> None:
    client.send(request(method=method))
    client.read_answer()
    assert server.service.requests[0][0] == method


def test_an_offer_to_upgrade_is_declined_by_answering(client: Client) -> None:
    upgrade = ("Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", "HTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA")
    client.send(request(b"a", *upgrade) * 2000 + request(b"b"))
    assert [client.read_answer()[2] for _ in range(2001)] == [b"a"] * 2000 + [b"b"]


def test_lines_of_one_header_are_joined_but_for_accept_encoding(server: Running, client: Client) -> None:
    client.post(b"", "X-A: 1", "x-a: 2", "Accept-Encoding: identity", "Accept-Encoding: gzip")
    client.read_answer()
    headers = server.service.requests[0][2]
    assert headers[b"x-a"] == b"1,2"
    assert headers[b"accept-encoding"] == b"identity"


def test_a_head_just_below_the_limit_is_accepted(client: Client) -> None:
    for byte_count in (15_000, 16_000):
        data = request(b"ok", "X-Long: " + "x" * byte_count)
        client.send(data[:8000])
        client.send(data[8000:])
        assert client.read_answer()[0] == 200


@pytest.mark.parametrize(
    "data",
    [
        request(b"", "X-A: " + "x" * 8192, "X-B: " + "y" * 8192),
        request(target="/" + "x" * 17_000),
        b"POST / HTTP/1.1\r\nX-Endless: " + b"x" * 200_000,
        b"POST /" + b"x" * 200_000,
        b"CONNECT a.example:443 HTTP/1.1\r\n\r\n",
        b"this is not HTTP\r\n\r\n",
        b"POST / HTTP/1.1\r\nContent-Length: nine\r\n\r\n",
        b"POST / HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"POST / HTTP/9.9\r\n\r\n",
        b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    ],
)
def test_what_is_malformed_or_too_long_is_refused_and_closed(server: Running, client: Client, data: bytes) -> None:
    client.send(request(b"good"))
    assert client.read_answer()[2] == b"good"
    client.send(data)
    status, headers, _ = client.read_answer()
    assert (status, headers["connection"]) == (400, "close")
    assert client.read_to_end() == b""
    assert len(server.service.requests) == 1


def test_requests_before_a_malformed_one_are_answered(client: Client) -> None:
    client.send(request(b"a") + request(b"b") + b"rubbish\r\n\r\n")
    assert [client.read_answer()[::2] for _ in range(3)] == [(200, b"a"), (200, b"b"), (400, b"")]


def test_a_body_over_16_mib_is_refused_before_it_is_sent(server: Running, client: Client) -> None:
    client.send(b"POST / HTTP/1.1\r\nContent-Length: 17000000\r\nExpect: 100-continue\r\n\r\n")
    assert client.read_answer()[::2] == (413, b"")
    assert server.service.requests == []


def test_a_client_that_sends_its_large_body_anyway_can_read_the_refusal(client: Client) -> None:
    client.send(request(b" " * 17_000_000))
    assert client.read_answer()[0] == 413
    assert client.read_to_end() == b""


def test_a_chunked_body_over_16_mib_is_refused(server: Running, client: Client) -> None:
    client.send(b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n")
    chunk = b"100000\r\n" + b" " * 0x100000 + b"\r\n"
    for _ in range(17):
        client.send(chunk)
    assert client.read_answer()[0] == 413
    assert server.service.requests == []


def test_a_body_of_16_mib_is_accepted(server: Running, client: Client) -> None:
    client.post(b" " * (16 * 1024 * 1024))
    assert client.read_answer()[0] == 200


def test_a_bug_is_an_internal_error_and_the_connection_lives(client: Client) -> None:
    client.post(target="/raise")
    status, headers, body = client.read_answer()
    assert (status, headers["connection"]) == (500, "keep-alive")
    assert b"InternalServerError" in body
    client.post(b"on")
    assert client.read_answer()[2] == b"on"
