"""`dyno serve` as a program: what it prints, what it answers, how it stops, what `dyno check` says afterwards."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

SECONDS = 30


@dataclass
class Served:
    process: subprocess.Popen[str]
    url: str

    def request(self, operation: str, body: dict[str, object]) -> dict[str, object]:
        credential = "Credential=local/20260101/us-east-1/dynamodb/aws4_request"
        headers = {
            "Content-Type": "application/x-amz-json-1.0",
            "X-Amz-Target": f"DynamoDB_20120810.{operation}",
            "X-Amz-Date": "20260101T000000Z",
            "Authorization": f"AWS4-HMAC-SHA256 {credential}, SignedHeaders=host;x-amz-date, Signature={'0' * 64}",
        }
        request = urllib.request.Request(self.url, json.dumps(body).encode(), headers)
        with urllib.request.urlopen(request, timeout=SECONDS) as answer:
            result: dict[str, object] = json.load(answer)
        return result

    def stop(self) -> tuple[int, str, str]:
        self.process.send_signal(signal.SIGTERM)
        out, err = self.process.communicate(timeout=SECONDS)
        return self.process.returncode, out, err


@contextmanager
def serving(folder: Path, *options: str) -> Iterator[Served]:
    reader, writer = os.pipe()
    command = [sys.executable, "-m", "dynamometer", "serve", "--port", "0", "--ready-fd", str(writer), *options]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("DYNO_")}
    with subprocess.Popen(
        command,
        cwd=folder,
        env=environment,
        pass_fds=(writer,),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        os.close(writer)
        try:
            with os.fdopen(reader) as ready:
                yield Served(process, ready.readline().strip())
        finally:
            process.kill()


TABLE: dict[str, object] = {
    "TableName": "things",
    "BillingMode": "PAY_PER_REQUEST",
    "AttributeDefinitions": [{"AttributeName": "k", "AttributeType": "S"}],
    "KeySchema": [{"AttributeName": "k", "KeyType": "HASH"}],
}


def test_it_says_how_to_connect_answers_and_stops(tmp_path: Path) -> None:
    with serving(tmp_path, "--in-memory") as served:
        with urllib.request.urlopen(served.url, timeout=SECONDS) as answer:
            assert answer.read().startswith(b"healthy: ")
        code, out, err = served.stop()
    assert (code, err) == (0, "")
    assert f"is ready at {served.url}\n" in out
    assert f'endpoint_url="{served.url}"' in out
    assert f"aws dynamodb list-tables --endpoint-url {served.url}" in out
    assert "in memory" in out
    assert list(tmp_path.iterdir()) == []


def test_what_it_prints_to_paste_is_all_that_a_client_needs(tmp_path: Path) -> None:
    with serving(tmp_path, "--in-memory") as served:
        _, out, _ = served.stop()
    exports = "\n".join(line for line in out.splitlines() if line.startswith("  export "))
    assert max(map(len, out.splitlines())) <= 80
    look = "import boto3; d, s = boto3.client('dynamodb'), boto3.client('dynamodbstreams'); "
    look += "print(d.meta.endpoint_url, s.meta.endpoint_url, d.meta.region_name)"
    environment = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    environment |= {"AWS_CONFIG_FILE": "none", "AWS_SHARED_CREDENTIALS_FILE": "none"}
    found = subprocess.run(
        ["sh", "-c", f'{exports}\nexec "{sys.executable}" -c "{look}"'],
        env=environment,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=True,
    )
    assert found.stdout.split() == [served.url, served.url, "us-east-1"]


def test_what_was_written_is_there_after_a_restart_and_sound(tmp_path: Path) -> None:
    item = {"k": {"S": "a"}, "n": {"N": "1"}}
    with serving(tmp_path, "--data", "kept") as served:
        served.request("CreateTable", TABLE)
        served.request("PutItem", {"TableName": "things", "Item": item})
        assert served.stop()[0] == 0
    with serving(tmp_path, "--data", "kept") as served:
        assert served.request("GetItem", {"TableName": "things", "Key": {"k": item["k"]}})["Item"] == item
        second = _dyno(tmp_path, "serve", "--data", "kept", "--port", "0")
        assert second.returncode == 2
        assert f"is in use by process {served.process.pid}" in second.stderr
        served.process.kill()
        served.process.wait()
    checked = _dyno(tmp_path, "check", "kept", "--quiet")
    assert (checked.returncode, checked.stdout) == (0, "kept: sound\n")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_either_signal_stops_it(tmp_path: Path, number: signal.Signals) -> None:
    with serving(tmp_path, "--in-memory") as served:
        assert served.url
        served.process.send_signal(number)
        assert served.process.wait(SECONDS) == 0


def test_a_second_signal_does_not_wait_for_clients(tmp_path: Path) -> None:
    with serving(tmp_path, "--in-memory") as served:
        port = int(served.url.rpartition(":")[2])
        with socket.create_connection(("127.0.0.1", port)) as client:
            client.sendall(b"POST / HTTP/1.1\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n1")
            assert client.recv(100).startswith(b"HTTP/1.1 100 ")
            served.process.send_signal(signal.SIGTERM)
            with pytest.raises(subprocess.TimeoutExpired):
                served.process.wait(0.2)
            served.process.send_signal(signal.SIGTERM)
            assert served.process.wait(5) == 0


def _dyno(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "dynamometer.cli", *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
