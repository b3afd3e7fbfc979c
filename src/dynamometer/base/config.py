"""Every setting on one page, and the one way in which they are read.

A value comes from the last of these that names it: the default, the configuration file (TOML), the environment, the
command line. A setting has one name everywhere: `idle_timeout_seconds` here and in the file, DYNO_IDLE_TIMEOUT_SECONDS
in the environment, --idle-timeout-seconds on the command line. A name that is not known is an error, never ignored: a
misspelt setting that silently does nothing costs more than a refused start.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import Field, dataclass, field, fields
from pathlib import Path
from typing import Any

from dynamometer.base.limits import ITEM_COLLECTION_BYTES_MAX

ENVIRONMENT_PREFIX = "DYNO_"
CONFIG_VARIABLE = "DYNO_CONFIG"
CONFIG_FILE = "dyno.toml"

DEFAULT = "default"
COMMAND_LINE = "command line"


class SettingsError(Exception):
    """A setting can't be used; the message names it, where it came from, and what is allowed."""


def _setting(
    default: Any, about: str, *, low: float | None = None, high: float | None = None, choices: tuple[str, ...] = ()
) -> Any:
    return field(default=default, metadata={"about": about, "low": low, "high": high, "choices": choices})


@dataclass(frozen=True, slots=True)
class Settings:
    """What the operator may choose. Making one checks it."""

    host: str = _setting("127.0.0.1", "address to listen on; 0.0.0.0 or :: for every network of this machine")
    port: int = _setting(8000, "port to listen on; 0 takes a free one and prints it", low=0, high=65535)
    data: str = _setting("data", "folder that keeps the tables; it is made if it is not there")
    in_memory: bool = _setting(False, "keep everything in memory and forget it at the end")
    durability: str = _setting(
        "fsync",
        "when a write is acknowledged: fsync (it survives a power cut) or os (it survives this process)",
        choices=("fsync", "os"),
    )
    table_transition_seconds: float = _setting(
        0.0, "how long tables and indexes stay CREATING, UPDATING and DELETING", low=0, high=86400
    )
    ttl_lag_seconds: float = _setting(
        120.0, "how long after its expiry an item is deleted by time to live", low=0, high=7 * 86400
    )
    recovery_lag_seconds: float = _setting(
        300.0, "how far behind now the latest moment is that point-in-time recovery restores", low=0, high=86400
    )
    kinesis_folder: str | None = _setting(
        None, "folder for Kinesis streaming destinations: a file for each data stream, a record on each line"
    )
    kinesis_endpoint: str | None = _setting(
        None, "URL of the Kinesis that streaming destinations are delivered to, if not to a folder"
    )
    s3_folder: str | None = _setting(
        None, "folder that stands for S3 in exports, imports and bulk puts: its sub-folders are the buckets"
    )
    s3_endpoint: str | None = _setting(
        None, "URL of the S3-compatible service for exports, imports and bulk puts; credentials as for any AWS client"
    )
    replication_lag_seconds: float = _setting(
        1.0, "how long a write to a global table takes to the other regions, at the least", low=0, high=86400
    )
    replicated_conflict_seconds: float = _setting(
        0.0,
        "how long a write to a strongly consistent global table keeps other regions from its item",
        low=0,
        high=86400,
    )
    peers: str | None = _setting(
        None, "regions that other servers have, as region=URL pairs with commas between, for global tables"
    )
    replication_secret: str | None = _setting(None, "what this server and its peers know each other by; not shown")
    item_collection_limit_bytes: int = _setting(
        ITEM_COLLECTION_BYTES_MAX, "largest item collection of a table with a local secondary index", low=1
    )
    shared_world: bool = _setting(
        False, "show every account and region the same tables; otherwise each has its own, as on AWS"
    )
    require_signature: bool = _setting(True, "refuse requests without an AWS signature; any key and secret will do")
    max_connections: int = _setting(10_000, "connections at once; further ones are refused with 503", low=1)
    request_timeout_seconds: float = _setting(
        60.0, "how long a client may take to send a request, or to take its answer", low=0.01
    )
    idle_timeout_seconds: float = _setting(300.0, "how long a connection without a request is kept open", low=0.01)
    tls_cert: str | None = _setting(None, "certificate chain (PEM); with tls_key, the server speaks HTTPS")
    tls_key: str | None = _setting(None, "private key (PEM) of tls_cert")
    log_level: str = _setting("warning", "least severe messages to log", choices=("debug", "info", "warning", "error"))

    def __post_init__(self) -> None:
        for each in fields(self):
            _check(each, getattr(self, each.name))
        if peers_of(self.peers) and self.replication_secret is None:
            raise SettingsError("peers is set but replication_secret is not: both servers need the same one")
        if (self.tls_cert is None) != (self.tls_key is None):
            missing, given = ("tls_key", "tls_cert") if self.tls_key is None else ("tls_cert", "tls_key")
            raise SettingsError(f"{given} is set but {missing} is not: HTTPS needs both")
        if self.kinesis_folder is not None and self.kinesis_endpoint is not None:
            raise SettingsError("kinesis_folder and kinesis_endpoint are both set: choose one place for the records")
        if self.s3_folder is not None and self.s3_endpoint is not None:
            raise SettingsError("s3_folder and s3_endpoint are both set: choose one place for the buckets")
        if self.s3_endpoint is not None and not self.s3_endpoint.startswith(("http://", "https://")):
            raise SettingsError(f"s3_endpoint is {self.s3_endpoint!r}, but must be a URL such as http://127.0.0.1:9000")


def peers_of(text: str | None) -> dict[str, str]:
    """The setting `peers`: URLs by region. Raises SettingsError."""
    peers = {}
    for part in (text or "").split(","):
        region, _, url = part.strip().partition("=")
        if not part.strip():
            continue
        if not region or not url.startswith(("http://", "https://")):
            raise SettingsError(f"peers has {part.strip()!r}, but must be region=URL pairs with commas between")
        peers[region] = url
    return peers


@dataclass(frozen=True, slots=True)
class Loaded:
    """The settings in force, and where each value came from."""

    settings: Settings
    sources: dict[str, str]


SETTINGS: dict[str, Field[Any]] = {each.name: each for each in fields(Settings)}


def environment_name(name: str) -> str:
    """The environment variable of a setting."""
    return ENVIRONMENT_PREFIX + name.upper()


def option_name(name: str) -> str:
    """The command-line option of a setting."""
    return "--" + name.replace("_", "-")


def load(arguments: Mapping[str, object], environment: Mapping[str, str], config: str | None = None) -> Loaded:
    """Read every source. `arguments` holds the options that were given, by setting name; `config` is --config."""
    values: dict[str, object] = {}
    sources = dict.fromkeys(SETTINGS, DEFAULT)
    ranks = dict.fromkeys(SETTINGS, 0)
    for rank, (table, origin) in enumerate(_tables(arguments, environment, config), start=1):
        for name, (value, label) in table.items():
            values[name] = _parse(SETTINGS[name], value, label)
            sources[name] = origin or label
            ranks[name] = rank
    _settle_data_or_memory(values, sources, ranks)
    return Loaded(Settings(**values), sources)  # type: ignore[arg-type]


_Table = dict[str, tuple[object, str]]
"""Setting name to its value and what to call that value in a message."""


def _tables(
    arguments: Mapping[str, object], environment: Mapping[str, str], config: str | None
) -> list[tuple[_Table, str]]:
    """The sources in rising order of precedence, each with a name of its own or with those of its values."""
    command_line: _Table = {name: (value, option_name(name)) for name, value in arguments.items()}
    return [
        (_from_file(config or environment.get(CONFIG_VARIABLE)), ""),
        (_from_environment(environment), ""),
        (command_line, COMMAND_LINE),
    ]


def _from_file(given: str | None) -> _Table:
    """A file that was asked for must be there; dyno.toml in the working folder is optional."""
    path = Path(given or CONFIG_FILE)
    if given is None and not path.is_file():
        return {}
    import tomllib

    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise SettingsError(f"configuration file {path} does not exist") from None
    except OSError as error:
        raise SettingsError(f"configuration file {path} can't be read: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingsError(f"configuration file {path} is not TOML: {error}") from None
    for key in table:
        if key not in SETTINGS:
            raise SettingsError(f"{path} sets {key!r}, which is not a setting{_nearest(key, list(SETTINGS))}")
    return {key: (value, f"{key} in {path}") for key, value in table.items()}


def _from_environment(environment: Mapping[str, str]) -> _Table:
    known = {environment_name(name): name for name in SETTINGS}
    table: _Table = {}
    for variable, value in environment.items():
        if not variable.startswith(ENVIRONMENT_PREFIX) or variable == CONFIG_VARIABLE:
            continue
        if variable not in known:
            hint = _nearest(variable, list(known))
            raise SettingsError(f"environment variable {variable} is not a setting{hint}")
        table[known[variable]] = (value, variable)
    return table


def _nearest(name: str, known: list[str]) -> str:
    import difflib

    close = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
    return f"; did you mean {close[0]}?" if close else "; `dyno config` lists them all"


def _settle_data_or_memory(values: dict[str, object], sources: dict[str, str], ranks: dict[str, int]) -> None:
    """A folder that was asked for beats an in-memory setting from further away; neither silently loses the other."""
    if not values.get("in_memory") or "data" not in values:
        return
    if ranks["data"] == ranks["in_memory"]:
        raise SettingsError(f"data and in_memory are both set ({sources['data']}); choose one")
    if ranks["data"] > ranks["in_memory"]:
        values["in_memory"] = False
        sources["in_memory"] = sources["data"]


_TRUE = frozenset({"1", "true", "yes", "on"})
_FALSE = frozenset({"0", "false", "no", "off"})


def _parse_bool(text: str) -> bool:
    lower = text.strip().lower()
    if lower in _TRUE or lower in _FALSE:
        return lower in _TRUE
    raise ValueError


_PARSERS: dict[str, tuple[Callable[[str], object], str]] = {
    "str": (str, "a text"),
    "str | None": (str, "a text"),
    "int": (int, "a whole number"),
    "float": (float, "a number"),
    "bool": (_parse_bool, "true or false"),
}
"""By the type as written in the class (annotations are texts here): how to read a text, and what to ask for."""

_TYPES: dict[str, tuple[type, ...]] = {
    "str": (str,),
    "str | None": (str, type(None)),
    "int": (int,),
    "float": (float, int),
    "bool": (bool,),
}


def _parse(setting: Field[Any], value: object, label: str) -> object:
    """A value of the setting's type, from text where the source has only text."""
    kind = str(setting.type)
    if isinstance(value, str):
        parser, wanted = _PARSERS[kind]
        try:
            value = parser(value)
        except ValueError:
            raise SettingsError(f"{label} is {value!r}, but must be {wanted}") from None
    try:
        _check(setting, value)
    except SettingsError as error:
        raise SettingsError(str(error).replace(setting.name, label, 1)) from None
    return value


def _check(setting: Field[Any], value: object) -> None:
    kind, name = str(setting.type), setting.name
    if not isinstance(value, _TYPES[kind]) or (isinstance(value, bool) and kind != "bool"):
        raise SettingsError(f"{name} is {value!r}, but must be {_PARSERS[kind][1]}")
    low, high, choices = (setting.metadata[key] for key in ("low", "high", "choices"))
    if choices and value not in choices:
        raise SettingsError(f"{name} is {value!r}, but must be {' or '.join(choices)}")
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        if low is not None and not value >= low:
            raise SettingsError(f"{name} is {value}, but must be at least {low}")
        if high is not None and value > high:
            raise SettingsError(f"{name} is {value}, but must be at most {high}")
    if value == "":
        raise SettingsError(f"{name} is empty")
