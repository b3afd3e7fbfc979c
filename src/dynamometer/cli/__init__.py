"""The command line: `dyno COMMAND`. Each command is one module, imported only when it is the one that runs."""

from __future__ import annotations

import sys
from collections.abc import Sequence

COMMANDS = {
    "serve": "start the server",
    "backup": "back up a table of any endpoint, or list and delete backups",
    "restore": "restore a backup, or a table's past, into a new table",
    "export": "export a table of any endpoint to a bucket",
    "import": "import a new table of any endpoint from a bucket",
    "check": "check the data of a folder",
    "conflicts": "show the updates that global tables have lost",
    "config": "show every setting, its value, and where it came from",
    "version": "print the version",
}

MODULES = {"import": "import_table"}
"""Commands whose module has another name: these are words of Python's own."""

EXIT_OK = 0
EXIT_PROBLEM = 1
"""The command did its work and found something wrong."""
EXIT_ERROR = 2
"""The command could not do its work."""
EXIT_INTERRUPTED = 130


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; the exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    if not arguments or arguments[0] in ("-h", "--help", "help"):
        print(_usage())
        return EXIT_OK if arguments else EXIT_ERROR
    name = "version" if arguments[0] in ("-V", "--version") else arguments[0]
    if name not in COMMANDS:
        print(_unknown(name), file=sys.stderr)
        return EXIT_ERROR
    try:
        return _run(name, arguments[1:])
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else EXIT_ERROR
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        sys.stderr.close()  # who read our output has gone; Python would complain about that at exit
        return EXIT_OK
    except Exception as error:
        from dynamometer.cli.failures import explain

        print(f"dyno {name}: {explain(error)}", file=sys.stderr)
        return EXIT_ERROR


def _run(name: str, arguments: list[str]) -> int:
    from importlib import import_module

    from dynamometer.cli.parser import Parser

    command = import_module(f"dynamometer.cli.{MODULES.get(name, name)}")
    parser = Parser(name, command.__doc__)
    command.add_options(parser)
    result = command.run(parser.parse_args(arguments))
    assert isinstance(result, int)
    return result


def _usage() -> str:
    lines = [f"  {name:<11}{about}" for name, about in COMMANDS.items()]
    return "\n".join(
        ["usage: dyno COMMAND [OPTIONS]", "", *lines, "", "dyno COMMAND --help tells a command's options."]
    )


def _unknown(name: str) -> str:
    import difflib

    close = difflib.get_close_matches(name, COMMANDS, n=1)
    hint = f"did you mean {close[0]}?" if close else "`dyno --help` lists them."
    return f"dyno: there is no command {name!r}; {hint}"
