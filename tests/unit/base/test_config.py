"""Settings: what is allowed, which source wins, and what a mistake is answered with."""

from __future__ import annotations

from pathlib import Path

import pytest

from dynamometer.base.config import (
    COMMAND_LINE,
    DEFAULT,
    SETTINGS,
    Settings,
    SettingsError,
    environment_name,
    load,
    option_name,
)


@pytest.fixture(autouse=True)
def empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_every_setting_says_what_it_is_for_and_has_one_name_everywhere() -> None:
    for name, setting in SETTINGS.items():
        assert len(setting.metadata["about"]) > 20
        assert environment_name(name) == f"DYNO_{name.upper()}"
        assert option_name(name) == f"--{name.replace('_', '-')}"


def test_without_any_source_the_defaults_hold() -> None:
    loaded = load({}, {"PATH": "/bin", "DYNO": "a dyno of something else"})
    assert loaded.settings == Settings()
    assert set(loaded.sources.values()) == {DEFAULT}


def test_the_last_source_that_names_a_setting_wins(empty_folder: Path) -> None:
    (empty_folder / "dyno.toml").write_text('host = "file"\nport = 1\nlog_level = "info"\n')
    loaded = load({"port": "3"}, {"DYNO_PORT": "2", "DYNO_HOST": "environment"})
    assert (loaded.settings.host, loaded.settings.port, loaded.settings.log_level) == ("environment", 3, "info")
    assert loaded.sources["port"] == COMMAND_LINE
    assert loaded.sources["host"] == "DYNO_HOST"
    assert loaded.sources["log_level"] == "log_level in dyno.toml"


def test_another_file_can_be_asked_for(empty_folder: Path) -> None:
    (empty_folder / "other.toml").write_text("port = 7\n")
    assert load({}, {}, "other.toml").settings.port == 7
    assert load({}, {"DYNO_CONFIG": "other.toml"}).settings.port == 7


@pytest.mark.parametrize(
    ("text", "value"), [("1", True), ("TRUE", True), ("yes", True), ("on", True), ("0", False), ("off", False)]
)
def test_truth_has_the_usual_words(text: str, value: bool) -> None:
    assert load({}, {"DYNO_SHARED_WORLD": text}).settings.shared_world is value


@pytest.mark.parametrize(
    ("arguments", "environment", "file", "message"),
    [
        ({"port": "x"}, {}, "", "--port is 'x', but must be a whole number"),
        ({"port": "65536"}, {}, "", "--port is 65536, but must be at most 65535"),
        ({"port": "-1"}, {}, "", "--port is -1, but must be at least 0"),
        ({"idle_timeout_seconds": "nan"}, {}, "", "--idle-timeout-seconds is nan, but must be at least 0.01"),
        ({"durability": "never"}, {}, "", "--durability is 'never', but must be fsync or os"),
        ({"host": ""}, {}, "", "--host is empty"),
        ({}, {"DYNO_SHARED_WORLD": "maybe"}, "", "DYNO_SHARED_WORLD is 'maybe', but must be true or false"),
        ({}, {"DYNO_PROT": "1"}, "", "environment variable DYNO_PROT is not a setting; did you mean DYNO_PORT?"),
        ({}, {}, "prot = 1", "dyno.toml sets 'prot', which is not a setting; did you mean port?"),
        ({}, {}, "zzz = 1", "dyno.toml sets 'zzz', which is not a setting; `dyno config` lists them all"),
        ({}, {}, "port = true", "port in dyno.toml is True, but must be a whole number"),
        ({}, {}, "port = 1.5", "port in dyno.toml is 1.5, but must be a whole number"),
        ({}, {}, "in_memory = 1", "in_memory in dyno.toml is 1, but must be true or false"),
        ({}, {}, "port 1", "configuration file dyno.toml is not TOML"),
        ({"tls_cert": "a"}, {}, "", "tls_cert is set but tls_key is not: HTTPS needs both"),
        ({"tls_key": "a"}, {}, "", "tls_key is set but tls_cert is not: HTTPS needs both"),
        ({"data": "a", "in_memory": True}, {}, "", "data and in_memory are both set (command line); choose one"),
        (
            {"s3_folder": "a", "s3_endpoint": "http://a"},
            {},
            "",
            "s3_folder and s3_endpoint are both set: choose one place for the buckets",
        ),
        ({"s3_endpoint": "a:9000"}, {}, "", "s3_endpoint is 'a:9000', but must be a URL such as http://127.0.0.1:9000"),
    ],
)
def test_a_mistake_is_named_with_its_place(
    empty_folder: Path, arguments: dict[str, object], environment: dict[str, str], file: str, message: str
) -> None:
    if file:
        (empty_folder / "dyno.toml").write_text(file)
    with pytest.raises(SettingsError) as raised:
        load(arguments, environment)
    assert message in str(raised.value)


def test_a_file_that_was_asked_for_must_be_there(empty_folder: Path) -> None:
    with pytest.raises(SettingsError, match=r"configuration file none\.toml does not exist"):
        load({}, {}, "none.toml")
    with pytest.raises(SettingsError, match="can't be read"):
        load({}, {}, str(empty_folder))


def test_a_folder_asked_for_closer_by_beats_memory_and_the_other_way_round(empty_folder: Path) -> None:
    (empty_folder / "dyno.toml").write_text("in_memory = true\n")
    assert not load({"data": "a"}, {}).settings.in_memory
    (empty_folder / "dyno.toml").write_text('data = "a"\n')
    assert load({"in_memory": True}, {}).settings.in_memory


def test_settings_made_in_code_are_checked_too() -> None:
    with pytest.raises(SettingsError, match="port is 70000, but must be at most 65535"):
        Settings(port=70000)
    with pytest.raises(SettingsError, match="host is None, but must be a text"):
        Settings(host=None)  # type: ignore[arg-type]
