"""Start the server and serve until SIGTERM or Ctrl-C. A first signal stops in good order, a second one at once."""

from __future__ import annotations

import argparse
import asyncio
import logging
import os
import sys
from pathlib import Path

from dynamometer import __version__
from dynamometer.base.clock import SystemClock
from dynamometer.base.config import Settings
from dynamometer.cli.failures import CommandError, listening
from dynamometer.cli.options import add_settings, read_settings
from dynamometer.cli.stores import open_store
from dynamometer.server.server import Server, new_event_loop

FILES_PER_STORE = 512
"""Files that the store and the program itself may have open beside the connections."""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Every setting, and what only a program that starts us needs."""
    add_settings(parser)
    parser.add_argument(
        "--ready-fd",
        type=int,
        metavar="N",
        help="write the server's URL and a newline to this open file when it listens",
    )


def run(arguments: argparse.Namespace) -> int:
    """Open the store, listen, serve, close the store."""
    settings = read_settings(arguments).settings
    logging.basicConfig(
        level=settings.log_level.upper(), stream=sys.stderr, format="%(asctime)s %(levelname)s %(name)s: %(message)s"
    )
    _raise_file_limit(settings.max_connections + FILES_PER_STORE)
    from dynamometer.engine.engine import Engine
    from dynamometer.kinesis import open_sink
    from dynamometer.objects import open_objects
    from dynamometer.peering import open_transport
    from dynamometer.server.tls import context
    from dynamometer.wire.service import Service

    tls = context(settings)
    clock = SystemClock()
    sink, objects = open_sink(settings, is_waiting=False), open_objects(settings)
    engine = Engine(
        open_store(settings),
        clock,
        settings=settings,
        objects=objects,
        sink=sink,
        transport=open_transport(settings),
    )
    try:
        service = Service(engine, settings)
        server = Server(service.handle, engine.store, settings, clock, engine.run_jobs, tls)
        with asyncio.Runner(loop_factory=new_event_loop) as runner:
            runner.run(_serve(server, settings, arguments.ready_fd))
    finally:
        engine.close()
    return 0


async def _serve(server: Server, settings: Settings, ready_fd: int | None) -> None:
    try:
        await server.start()
    except OSError as error:
        raise listening(error, settings.host, settings.port) from error
    await server.run(lambda: _announce(_url(settings, server.port), settings, ready_fd))


def _announce(url: str, settings: Settings, ready_fd: int | None) -> None:
    print(_banner(url, settings), flush=True)
    if ready_fd is None:
        return
    try:
        os.write(ready_fd, f"{url}\n".encode())
        os.close(ready_fd)
    except OSError as error:
        raise CommandError(f"--ready-fd {ready_fd} can't be written to: {error.strerror}") from error


def _url(settings: Settings, port: int) -> str:
    host = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}.get(settings.host, settings.host)
    scheme = "https" if settings.tls_cert else "http"
    return f"{scheme}://[{host}]:{port}" if ":" in host else f"{scheme}://{host}:{port}"


def _banner(url: str, settings: Settings) -> str:
    if settings.in_memory:
        kept = "in memory: they are gone when this process ends"
    else:
        after = "on disk" if settings.durability == "fsync" else "with the operating system, not yet on disk"
        kept = f"in {Path(settings.data).absolute()}\n           a write is acknowledged once it is {after}"
    return f"""Dynamometer {__version__} is ready at {url}

  tables   {kept}
  stop     Ctrl-C

Paste this where your program runs. Any key and secret will do, but each key
and each region has tables of its own, so use the same ones everywhere.

  export AWS_ENDPOINT_URL_DYNAMODB={url}
  export AWS_ENDPOINT_URL_DYNAMODB_STREAMS={url}
  export AWS_REGION=us-east-1 AWS_DEFAULT_REGION=us-east-1
  export AWS_ACCESS_KEY_ID=local AWS_SECRET_ACCESS_KEY=local

Then boto3, the AWS command line and every current SDK find it by themselves;
older ones have to be told where it is:

  boto3.client("dynamodb", endpoint_url="{url}")
  aws dynamodb list-tables --endpoint-url {url}
"""


def _raise_file_limit(wanted: int) -> None:
    """Each connection is an open file, and the usual soft limit is far below what the system allows."""
    try:
        import resource
    except ImportError:
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    target = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    if soft != resource.RLIM_INFINITY and soft < target:
        resource.setrlimit(resource.RLIMIT_NOFILE, (target, hard))
