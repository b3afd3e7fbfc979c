"""The commands, run in this process where they end by themselves."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from dynamometer import __version__
from dynamometer.base.config import SETTINGS
from dynamometer.cli import COMMANDS, EXIT_ERROR, EXIT_OK, main


@pytest.fixture(autouse=True)
def empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in SETTINGS:
        monkeypatch.delenv(f"DYNO_{name.upper()}", raising=False)
    return tmp_path


@pytest.mark.parametrize("arguments", [["version"], ["--version"], ["-V"]])
def test_version(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == EXIT_OK
    assert capsys.readouterr().out in (f"dyno {__version__}\n", f"dyno {__version__} (compiled)\n")


def test_help_lists_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == EXIT_OK
    usage = capsys.readouterr().out
    assert all(f"  {name} " in usage for name in COMMANDS)
    assert main([]) == EXIT_ERROR


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_that_fits_a_terminal(
    command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert main([command, "--help"]) == EXIT_OK
    text = capsys.readouterr().out
    assert f"usage: dyno {command}" in text
    assert max(map(len, text.splitlines())) <= 80


def test_help_of_serve_explains_every_setting(capsys: pytest.CaptureFixture[str]) -> None:
    main(["serve", "--help"])
    text = "".join(capsys.readouterr().out.split())
    for name, setting in SETTINGS.items():
        assert f"--{name.replace('_', '-')}" in text
        assert "".join(setting.metadata["about"].split()) in text


def test_an_unknown_command_is_answered_with_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["serv"]) == EXIT_ERROR
    assert capsys.readouterr().err == "dyno: there is no command 'serv'; did you mean serve?\n"


def test_config_shows_each_value_and_its_source(
    empty_folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (empty_folder / "dyno.toml").write_text("max_connections = 5\n")
    monkeypatch.setenv("DYNO_LOG_LEVEL", "info")
    assert main(["config", "--port", "9", "--in-memory"]) == EXIT_OK
    rows = {line.split()[0]: line.split(maxsplit=2)[1:] for line in capsys.readouterr().out.splitlines()}
    assert rows.keys() == {"setting", *SETTINGS}
    assert rows["port"] == ["9", "command line"]
    assert rows["in_memory"] == ["true", "command line"]
    assert rows["log_level"] == ["info", "DYNO_LOG_LEVEL"]
    assert rows["max_connections"] == ["5", "max_connections in dyno.toml"]
    assert rows["tls_cert"] == ["-", "default"]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["serve", "--port", "x"], "--port is 'x', but must be a whole number"),
        (["serve", "--in-memory", "--tls-cert", "no.pem", "--tls-key", "no.key"], "does not exist"),
        (["serve", "--in-memory", "--host", "203.0.113.1", "--port", "0"], "give --host an address of this machine"),
        (["serve", "--in-memory", "--port", "0", "--ready-fd", "999"], "--ready-fd 999 can't be written to"),
        (["serve", "--data", "strange"], "is not a Dynamometer data folder"),
        (["check", "nowhere"], "nowhere is not a folder"),
        (["check"], "data is not a folder"),
        (["serve", "--prot", "1"], "there is no option --prot (did you mean --port?); `dyno serve --help` tells"),
        (["serve", "here"], "'here' is one word too many"),
        (["check", "--data", "strange"], "strange is not a Dynamometer data folder"),
    ],
)
def test_what_goes_wrong_is_one_sentence(
    empty_folder: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], sentence: str
) -> None:
    (empty_folder / "strange").mkdir()
    (empty_folder / "strange" / "thesis.doc").touch()
    assert main(arguments) == EXIT_ERROR
    error = capsys.readouterr().err
    assert sentence in error
    assert error.startswith(f"dyno {arguments[0]}: ")
    assert "Traceback" not in error and error.count("\n") == 1


def test_a_port_in_use_is_explained(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        assert main(["serve", "--in-memory", "--port", str(port)]) == EXIT_ERROR
    assert f"port {port} on 127.0.0.1 is in use by another program: stop it, or" in capsys.readouterr().err


def test_a_bug_is_called_one(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("dynamometer.cli.config.read_settings", lambda _: 1 / 0)
    assert main(["config"]) == EXIT_ERROR
    assert "ZeroDivisionError: division by zero. This is a bug" in capsys.readouterr().err
