"""The documentation is true: its examples run, its links lead somewhere, and every setting is in it."""

from __future__ import annotations

import os
import re
import runpy
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from dynamometer.base.config import SETTINGS, environment_name
from tests.repo.sources import ROOT, text_files

DOCUMENTS = [path for path in text_files() if path.endswith(".md")]
ADDRESS = "http://127.0.0.1:8000"
"""Where the examples expect the server."""


def examples(path: str) -> list[str]:
    """The Python blocks of a document, in order; one that is only to be read says ```python no-run."""
    return re.findall(r"^```python\n(.*?)^```$", text_files()[path], re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server for the examples that need one."""
    reader, writer = os.pipe()
    command = [sys.executable, "-m", "dynamometer", "serve", "--in-memory", "--port", "0", "--ready-fd", str(writer)]
    with subprocess.Popen(command, pass_fds=(writer,), cwd=tmp_path_factory.mktemp("server")) as process:
        os.close(writer)
        with os.fdopen(reader) as ready:
            yield ready.readline().strip()
        process.terminate()


def test_examples_run(server: str, tmp_path: Path) -> None:
    for path in DOCUMENTS:
        script = tmp_path / "examples.py"
        script.write_text("\n".join(examples(path)).replace(ADDRESS, server))
        ran = subprocess.run(
            [sys.executable, str(script)], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
        )
        assert ran.returncode == 0, f"the examples of {path} fail:\n{ran.stderr}"


def test_examples_with_tests_pass(tmp_path: Path) -> None:
    (tmp_path / "pytest.ini").touch()
    for path in DOCUMENTS:
        if "import pytest\n" in (example := "\n".join(examples(path))):
            (tmp_path / f"test_{Path(path).stem}.py").write_text(example)
    assert len(list(tmp_path.glob("test_*.py"))) > 0
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-q"], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
    )
    assert ran.returncode == 0, f"the tests in the documentation fail:\n{ran.stdout}"


@pytest.mark.parametrize("index", ["docs/README.md", "docs/decisions/README.md"])
def test_an_index_names_every_page_below_it(index: str) -> None:
    folder = f"{Path(index).parent.as_posix()}/"
    below = [path.removeprefix(folder) for path in DOCUMENTS if path.startswith(folder) and path != index]
    apart = [page for page in below if page.startswith("decisions/") and page != "decisions/README.md"]
    assert [page for page in below if page not in apart and f"]({page})" not in text_files()[index]] == []


def test_links_lead_somewhere() -> None:
    offences = [
        f"{path} links to {target}, which is not there"
        for path in DOCUMENTS
        for target in re.findall(r"\]\(([^)#\s]+)", _prose(path))
        if "://" not in target and not (ROOT / path).parent.joinpath(target).exists()
    ]
    assert not offences


def _prose(path: str) -> str:
    return re.sub(r"^```.*?^```$", "", text_files()[path], flags=re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("name", SETTINGS)
def test_every_setting_is_documented(name: str) -> None:
    reference = text_files().get("docs/reference/settings.md", "")
    assert f"`{name}`" in reference and f"`{environment_name(name)}`" in reference, (
        f"docs/reference/settings.md lacks {name}: run tools/document-settings"
    )


def test_the_table_of_operations_is_as_the_tool_writes_it() -> None:
    tool = runpy.run_path(str(ROOT / "tools" / "document-operations"))
    text = (ROOT / "docs" / "compatibility.md").read_text(encoding="utf-8")
    assert tool["page"](text) == text, "run tools/document-operations"
