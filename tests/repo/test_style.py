"""The rules of the code that a machine can see. A failure says the rule and what to do instead.

Which package may import which is in .importlinter; the rest of the style is ruff's and mypy's (`make lint`).
"""

from __future__ import annotations

import ast
import re

from tests.repo.sources import imports, package_trees, text_files

FUNCTION_LINES_MAX = 70
FILE_LINES_MAX = 600

HOMES = {
    "time": (("base/clock.py", "storage/sync_logs.py"), "ask a base.clock Clock, so that tests can move time"),
    "random": (("base/rng.py",), "take a base.rng source of chance, so that a seed repeats a run"),
    "secrets": (("base/rng.py",), "take a base.rng source of chance"),
    "rocksdict": (("storage/rocksdb.py",), "use the storage interface"),
    "sortedcontainers": (("storage/memory.py",), "use the storage interface"),
    "boto3": (
        ("inprocess/", "pytest_plugin.py", "patterns/", "consumers/", "objects/s3.py", "cli/clients.py", "kinesis.py"),
        "the tower below knows no client",
    ),
    "botocore": (
        ("inprocess/", "pytest_plugin.py", "patterns/", "consumers/", "objects/s3.py", "cli/clients.py", "kinesis.py"),
        "model/shapes.py reads its data files",
    ),
    "uvloop": (("server/",), "sockets are the server's"),
    "httptools": (("server/",), "sockets are the server's"),
    "asyncio": (("server/", "cli/serve.py"), "the engine is synchronous; concurrency is the caller's"),
    "socket": (("server/",), "sockets are the server's"),
    "argparse": (("cli/",), "the command line is cli's"),
}
"""Libraries that only one place may import: where, and what to do elsewhere."""

IMPURE = {"utcnow", "today", "uuid1", "uuid4", "urandom"}
"""Calls that read the clock or draw from the system's chance, whatever they are imported as."""

FORBIDDEN_TEXT = {
    r"(?<![\w.`~*])/(?:work|root|home)/\w": "a path of somebody's machine",
    r"\b(?:pypi\.org|pythonhosted\.org|registry\.npmjs|static\.crates|proxy\.golang)": "the host of a package index: "
    "the index is the machine's own configuration",
    r"\b(?:TO" r"DO|FIX" r"ME|XX" r"X)\b": "a note to self: do it, or say in words what is missing",
    r"\b(?:Cla" r"ude|Chat" r"GPT|Co" r"pilot|Anthro" r"pic)\b": "who or what typed it is of no interest to a reader",
}
"""Patterns that no file of the repository may hold, and why. (Split where they would find themselves.)"""


def test_functions_fit_a_screen() -> None:
    offences = [
        f"{path}:{node.lineno} {node.name} has {lines} lines: split it"
        for path, tree in package_trees().items()
        for node in ast.walk(tree)
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
        and (lines := (node.end_lineno or node.lineno) - node.lineno + 1) > FUNCTION_LINES_MAX
    ]
    assert not offences


def test_modules_fit_a_head() -> None:
    offences = [
        f"{path} has {lines} lines: it has more than one subject"
        for path, tree in package_trees().items()
        if (lines := max((node.end_lineno or 0 for node in tree.body), default=0)) > FILE_LINES_MAX
    ]
    assert not offences


def test_modules_say_what_they_are_for() -> None:
    offences = [path for path, tree in package_trees().items() if tree.body and not ast.get_docstring(tree)]
    assert not offences, "these have no docstring at their head"


def test_libraries_stay_where_they_belong() -> None:
    offences = []
    for path, tree in package_trees().items():
        for name in imports(tree):
            homes, instead = HOMES.get(name.partition(".")[0], ((path,), ""))
            if not path.startswith(homes):
                offences.append(f"{path} imports {name}: {instead}")
    assert not offences


def test_only_the_clock_reads_the_clock_and_only_rng_draws() -> None:
    offences = [
        f"{path}:{node.lineno} {ast.unparse(node)}: ask a base.clock Clock or a base.rng source of chance"
        for path, tree in package_trees().items()
        if path not in ("base/clock.py", "base/rng.py")
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and (node.attr in IMPURE or ast.unparse(node).endswith("datetime.now"))
    ]
    assert not offences


def test_no_error_is_logged_with_its_text() -> None:
    offences = [
        f"{path}:{node.lineno} logs an error's own text, which may quote an item: log base.errors.where of it"
        for path, tree in package_trees().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and not path.startswith("cli/")
        and (ast.unparse(node.func) == "log.exception" or any(each.arg == "exc_info" for each in node.keywords))
    ]
    assert not offences


def test_files_hold_nothing_that_does_not_belong() -> None:
    offences = [
        f"{path}:{number} has {found[0]!r}: {reason}"
        for path, text in text_files().items()
        for number, line in enumerate(text.splitlines(), start=1)
        for pattern, reason in FORBIDDEN_TEXT.items()
        if (found := re.search(pattern, line))
    ]
    assert not offences


def test_every_folder_of_tests_is_a_package() -> None:
    folders = {path.rpartition("/")[0] for path in text_files() if path.startswith("tests/") and path.endswith(".py")}
    offences = [folder for folder in sorted(folders) if f"{folder}/__init__.py" not in text_files()]
    assert not offences, "these need an __init__.py, or equal names in two folders collide"
