"""The parser of one command's options: argparse, but its complaints are one sentence with the next step."""

from __future__ import annotations

import argparse
import difflib
from typing import NoReturn

_UNKNOWN = "unrecognized arguments: "


class _Formatter(argparse.HelpFormatter):
    """Keeps the paragraphs of a description apart, each wrapped to the terminal."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        return "\n\n".join(super(_Formatter, self)._fill_text(each, width, indent) for each in text.split("\n\n"))


class Parser(argparse.ArgumentParser):
    """Options of `dyno COMMAND`. Names are written out in full: an abbreviation breaks when an option is added."""

    def __init__(self, command: str, about: str | None) -> None:
        super().__init__(
            prog=f"dyno {command}",
            description=about,
            allow_abbrev=False,
            formatter_class=_Formatter,
        )

    def error(self, message: str) -> NoReturn:
        """Say what is wrong and end with 2. The list of all options would bury it."""
        if message.startswith(_UNKNOWN):
            message = self._unknown(message.removeprefix(_UNKNOWN).split()[0])
        self.exit(2, f"{self.prog}: {message}; `{self.prog} --help` tells what it takes\n")

    def _unknown(self, word: str) -> str:
        if not word.startswith("-"):
            return f"{word!r} is one word too many"
        name = word.partition("=")[0]
        close = difflib.get_close_matches(name, self._option_string_actions, n=1, cutoff=0.7)
        return f"there is no option {name}" + (f" (did you mean {close[0]}?)" if close else "")
