"""What the operator reads when a command can't do its work: one plain sentence with the next step."""

from __future__ import annotations

import errno
import os

from dynamometer.base.config import SettingsError
from dynamometer.base.errors import StoreError


class CommandError(Exception):
    """A command can't go on; the message says why and what to do."""


def explain(error: Exception) -> str:
    """The sentence for an error. An error that nobody foresaw is logged whole and called what it is."""
    if isinstance(error, (CommandError, SettingsError, StoreError)):
        return str(error)
    import logging

    logging.getLogger(__name__).debug("the error in full", exc_info=error)
    return (
        f"stopped by an error of its own, {type(error).__name__}: {error}. "
        "This is a bug; --log-level debug, where the command has it, shows where."
    )


def listening(error: OSError, host: str, port: int) -> CommandError:
    """Why an address can't be listened on."""
    if error.errno == errno.EADDRINUSE:
        return CommandError(
            f"port {port} on {host} is in use by another program: "
            "stop it, or choose another port with --port (0 takes a free one)"
        )
    if error.errno == errno.EACCES:
        return CommandError(f"this user may not listen on port {port}: choose one above 1023 with --port")
    if error.errno in (errno.EMFILE, errno.ENFILE):
        return CommandError("no more files may be opened: raise the limit with `ulimit -n`")
    reason = os.strerror(error.errno) if error.errno and error.errno > 0 else error.strerror or error
    return CommandError(
        f"{host} can't be listened on ({reason}): give --host an address of this machine, such as 127.0.0.1 or 0.0.0.0"
    )
