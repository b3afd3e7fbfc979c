"""A server process of our own, and a client for it that sends one request at a time and knows what was answered."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import orjson


class Gone(Exception):
    """The server went away before it answered: the request may have been carried out or not."""


class Refused(Exception):
    """The server answered with an error; `name` is the service's name of it."""

    def __init__(self, body: dict[str, Any]) -> None:
        self.name = str(body["__type"]).rpartition("#")[2]
        super().__init__(f"{self.name}: {body.get('message') or body.get('Message')}")
        self.body = body


class Server:
    """`dyno serve` on a folder. It listens on a free port; `url` waits for it to say which."""

    def __init__(self, folder: Path, environment: dict[str, str] | None = None) -> None:
        self._url = ""
        self._ready, write = os.pipe()
        command = [sys.executable, "-m", "dynamometer", "serve", "--data", str(folder), "--port", "0"]
        command += ["--no-require-signature", "--durability", "fsync", "--ready-fd", str(write)]
        self._log = (folder.parent / f"{folder.name}.log").open("ab")
        self._process = subprocess.Popen(
            command,
            pass_fds=[write],
            stdout=subprocess.DEVNULL,
            stderr=self._log,
            env=_without_settings() | (environment or {}),
        )
        os.close(write)

    def url(self) -> str:
        """Where it listens."""
        if not self._url:
            self._url = os.read(self._ready, 200).decode().strip()
        if not self._url:
            log = Path(self._log.name).read_text()[-2000:]
            raise AssertionError(f"the server ended by itself with {self._process.wait()}: {log}")
        return self._url

    @property
    def pid(self) -> int:
        return self._process.pid

    def kill(self) -> None:
        """SIGKILL: the process gets no chance to do anything more."""
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        """SIGTERM: it ends in good order."""
        self._end(signal.SIGTERM)
        assert self._process.returncode == 0, f"stopping ended with {self._process.returncode}"

    def _end(self, how: signal.Signals) -> None:
        self._process.send_signal(how)
        self._process.wait(30)
        os.close(self._ready)
        self._log.close()


def _without_settings() -> dict[str, str]:
    """The environment, without what would be a setting of the server."""
    return {name: value for name, value in os.environ.items() if not name.startswith("DYNO_")}


class Client:
    """One connection. Nothing is tried again: whoever asks has to know whether the answer came."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self._connection = HTTPConnection(parts.hostname or "", parts.port, timeout=30)

    def call(self, operation: str, **body: Any) -> dict[str, Any]:
        """The answer. Raises Gone, or Refused."""
        headers = {"X-Amz-Target": f"DynamoDB_20120810.{operation}", "Content-Type": "application/x-amz-json-1.0"}
        try:
            self._connection.request("POST", "/", orjson.dumps(body), headers)
            response = self._connection.getresponse()
            answer: dict[str, Any] = orjson.loads(response.read())
        except (OSError, HTTPException, orjson.JSONDecodeError) as error:
            self._connection.close()
            raise Gone from error
        if response.status != 200:
            if response.status >= 500:
                raise AssertionError(f"{operation} was answered with {response.status}: {answer}")
            raise Refused(answer)
        return answer

    def everything(self, table: str, index: str | None = None) -> list[dict[str, Any]]:
        """All items of a table or index."""
        request: dict[str, Any] = {"TableName": table, "ConsistentRead": index is None}
        if index is not None:
            request["IndexName"] = index
        items: list[dict[str, Any]] = []
        while True:
            page = self.call("Scan", **request)
            items += page["Items"]
            if "LastEvaluatedKey" not in page:
                return items
            request["ExclusiveStartKey"] = page["LastEvaluatedKey"]

    def close(self) -> None:
        self._connection.close()
