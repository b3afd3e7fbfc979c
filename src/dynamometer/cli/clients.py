"""Clients for the commands that work on any endpoint, Amazon's too: boto3, imported only when one of them runs.

Credentials, region, profile and endpoint are found as every AWS tool finds them. An endpoint that is given by hand
needs neither credentials nor region: a server on one's own machine takes any.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event
from typing import Any

from dynamometer.base.clock import SystemClock
from dynamometer.cli.failures import CommandError

POLL_SECONDS_MIN = 0.05
POLL_SECONDS_MAX = 5.0
ENDPOINT_VARIABLES = ("AWS_ENDPOINT_URL_DYNAMODB", "AWS_ENDPOINT_URL")


def add_endpoint(parser: argparse.ArgumentParser) -> None:
    """Where the tables are."""
    group = parser.add_argument_group("endpoint")
    group.add_argument(
        "--endpoint-url",
        metavar="URL",
        help="such as http://127.0.0.1:8000 (default: AWS_ENDPOINT_URL_DYNAMODB, otherwise the service itself)",
    )
    group.add_argument("--region", metavar="NAME", help="AWS region (default: as the AWS CLI has it)")
    group.add_argument("--profile", metavar="NAME", help="profile of the AWS configuration")
    group.add_argument("--quiet", action="store_true", help="no progress on standard error")


def connect(arguments: argparse.Namespace, service: str = "dynamodb") -> Any:
    """A boto3 client of the endpoint. Raises CommandError when it can't be made."""
    import boto3
    from botocore.exceptions import BotoCoreError

    endpoint = arguments.endpoint_url or next(
        (os.environ[each] for each in ENDPOINT_VARIABLES if each in os.environ), ""
    )
    try:
        session = boto3.Session(profile_name=arguments.profile, region_name=arguments.region)
        options: dict[str, Any] = {}
        if arguments.endpoint_url:
            options["endpoint_url"] = arguments.endpoint_url
        if endpoint and session.region_name is None:
            options["region_name"] = "us-east-1"
        if endpoint and session.get_credentials() is None:
            options |= {"aws_access_key_id": "local", "aws_secret_access_key": "local"}
        return session.client(service, **options)
    except (BotoCoreError, ValueError) as error:
        raise CommandError(_what_is_missing(error)) from error


def _what_is_missing(error: Exception) -> str:
    name = type(error).__name__
    if name == "NoRegionError":
        return "no region is configured: give --region, or --endpoint-url for a server of your own"
    if name == "ProfileNotFound":
        return f"{error}: `aws configure list-profiles` lists them"
    return f"no client can be made: {error}"


@contextmanager
def plain_errors(endpoint: Any) -> Iterator[None]:
    """Say in plain words what went wrong between us and the endpoint, a client or its URL."""
    from botocore.exceptions import BotoCoreError, ClientError

    where = endpoint if isinstance(endpoint, str) else endpoint.meta.endpoint_url
    try:
        yield
    except ClientError as error:
        answer = error.response.get("Error", {})
        raise CommandError(
            f"{error.operation_name} was refused: {answer.get('Code')}: {answer.get('Message') or 'no message'}"
        ) from error
    except BotoCoreError as error:
        name = type(error).__name__
        if name in ("NoCredentialsError", "PartialCredentialsError"):
            text = "no AWS credentials are configured: run `aws configure`, or give --endpoint-url for your own server"
        elif name in ("EndpointConnectionError", "ConnectTimeoutError", "ConnectionClosedError"):
            text = f"nothing answers at {where}: start the server, or give another --endpoint-url"
        else:
            text = " ".join(str(error).split())  # botocore writes several lines
        raise CommandError(text) from error


class Progress:
    """One line on the terminal that tells how far something is; lines of their own where there is no terminal."""

    def __init__(self, quiet: bool = False) -> None:
        self._quiet = quiet
        self._clock = SystemClock()
        self._start = self._clock.now()
        self._shown = ""
        self._on_terminal = sys.stderr.isatty()

    @property
    def seconds(self) -> float:
        """How long it has taken up to now."""
        return self._clock.now() - self._start

    def show(self, text: str) -> None:
        """Replace the line. Away from a terminal, the same text is not said twice."""
        if self._quiet:
            return
        if self._on_terminal:
            line = f"{text}, {self.seconds:.0f} s"[: shutil.get_terminal_size().columns - 1]  # a wrapped line stays
            print(f"\r{line:<{len(self._shown)}}", end="", file=sys.stderr, flush=True)
            self._shown = line
        elif text != self._shown:
            print(text, file=sys.stderr, flush=True)
            self._shown = text

    def end(self) -> None:
        """Leave the line as it is."""
        if self._on_terminal and self._shown:
            print(file=sys.stderr, flush=True)


def wait_until(look: Callable[[], tuple[bool, str]], progress: Progress) -> None:
    """Look again and again, less and less often, until `look` says that it is done; its text is the progress."""
    pause = POLL_SECONDS_MIN
    try:
        while True:
            done, text = look()
            progress.show(text)
            if done:
                return
            Event().wait(pause)
            pause = min(pause * 1.5, POLL_SECONDS_MAX)
    finally:
        progress.end()
