"""The files of the repository, as git knows them."""

from __future__ import annotations

import ast
import subprocess
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "dynamometer"
_TEXT = {".py", ".md", ".toml", ".lua", ".sh", ".cfg", ".yml", ".yaml", ".txt", ""}


@cache
def text_files() -> dict[str, str]:
    """Every text file under version control by its path from the root."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    paths = [name for name in listed.split("\0") if name and Path(name).suffix in _TEXT]
    return {name: (ROOT / name).read_text(encoding="utf-8") for name in paths if (ROOT / name).is_file()}


@cache
def package_trees() -> dict[str, ast.Module]:
    """Every module of the package, parsed, by its path inside the package."""
    return {
        path.relative_to(PACKAGE).as_posix(): ast.parse(path.read_text(encoding="utf-8"))
        for path in sorted(PACKAGE.rglob("*.py"))
    }


def imports(tree: ast.Module) -> set[str]:
    """The full names of the modules that a module imports, anywhere in it."""
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module)
    return names
