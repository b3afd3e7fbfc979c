"""`dyno conflicts` shows what global tables have lost."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dynamometer.cli import EXIT_OK, main
from tests.unit.engine.replicas import EU, US, Replicas, number


@pytest.fixture
def folder(tmp_path: Path) -> str:
    replicas = Replicas(tmp_path / "data")
    replicas.create(EU)
    replicas.put(US, "a", v=number(1))
    replicas.put(EU, "a", v=number(2))
    replicas.replicate()
    replicas.delete(US, "a")
    replicas.put(EU, "a", v=number(3))
    replicas.replicate()
    replicas.db.close()
    return str(tmp_path / "data")


def test_each_lost_update_is_shown(folder: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["conflicts", "--data", folder]) == EXIT_OK
    first, lost, to, _, deletion, _ = capsys.readouterr().out.splitlines()
    assert first == 'tab (account 000000000000) {"p":{"S":"a"}}'
    assert lost == '  lost    2023-11-14T22:13:20.000+00:00 us-east-1: {"p":{"S":"a"},"v":{"N":"1"}}'
    assert to == "  to      2023-11-14T22:13:20.000+00:00 eu-west-1"
    assert deletion.endswith("us-east-1: a deletion")


def test_as_json_and_of_one_table(folder: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["conflicts", "--data", folder, "--table", "tab", "--json"]) == EXIT_OK
    conflicts = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [conflict["lost_item"] is None for conflict in conflicts] == [False, True]
    assert main(["conflicts", "--data", folder, "--table", "other"]) == EXIT_OK
    assert capsys.readouterr().out == ""
