"""Fixtures for tests of code that uses DynamoDB. They cost a test that does not ask for them nothing.

    dynamometer          an engine in memory, fresh for this test (`dynamometer.local()` says what it can do)
    dynamodb_client      a boto3 client of it
    dynamodb_resource    a boto3 resource of it
    dynamometer_clock    a clock that stands still until the test advances it; the test's engine runs on it
    dynamodb_everywhere  the engine again, and every boto3 client in the process talks to it

`@pytest.mark.dynamometer(seed=7, item_collection_limit_bytes=10_000)` gives one test's engine its own settings, the ini
option `dynamometer_settings` (lines of `name = value`) those of all tests.

Making a client of boto3 takes far longer than making an engine. So clients are made once a session, and each test gets
a fresh engine behind them. A client on which a test has registered event handlers is not handed to the next one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from dynamometer.base.clock import ManualClock
    from dynamometer.inprocess import Local

INI_SETTINGS = "dynamometer_settings"
MARKER = "dynamometer"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addini(INI_SETTINGS, "settings of the engine of every test, one `name = value` a line", "linelist")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers", f"{MARKER}(seed=None, region_name='us-east-1', **settings): settings of this test's engine"
    )


class _Pool:
    """One engine's place and the clients before it, for the whole session."""

    def __init__(self) -> None:
        from dynamometer.inprocess import local

        self.local: Local = local()
        self._made: dict[tuple[str, str], tuple[Any, int]] = {}

    def get(self, kind: str) -> Any:
        """The session's client or resource of the region; a new one where the last test changed it."""
        key = (kind, self.local.region_name)
        if key in self._made:
            made, registrations = self._made[key]
            if _registrations(made) == registrations:
                return made
        made = getattr(self.local, kind)("dynamodb")
        self._made[key] = (made, _registrations(made))
        return made


def _registrations(made: Any) -> int:
    """How many event handlers have been registered on a client."""
    client = getattr(made.meta, "client", made)
    return int(client.dynamometer_shortcut.registrations)


@pytest.fixture(scope="session")
def _dynamometer_pool() -> Iterator[_Pool]:
    pool = _Pool()
    yield pool
    pool.local.close()


@pytest.fixture
def dynamometer_clock() -> ManualClock:
    """A clock that moves only by `advance(seconds)`. The engine of the test runs on it."""
    from dynamometer.base.clock import ManualClock

    return ManualClock()


@pytest.fixture
def dynamometer(request: pytest.FixtureRequest, _dynamometer_pool: _Pool) -> Local:
    """An engine in memory that no other test has touched."""
    clock = request.getfixturevalue("dynamometer_clock") if "dynamometer_clock" in request.fixturenames else None
    options = _ini_settings(request.config)
    for marker in reversed(list(request.node.iter_markers(MARKER))):
        options |= marker.kwargs
    try:
        _dynamometer_pool.local.reset(clock, **options)
    except ValueError as error:
        raise pytest.UsageError(str(error)) from None
    return _dynamometer_pool.local


@pytest.fixture
def dynamodb_client(dynamometer: Local, _dynamometer_pool: _Pool) -> Any:
    """A boto3 client of DynamoDB on the test's engine."""
    return _dynamometer_pool.get("client")


@pytest.fixture
def dynamodb_resource(dynamometer: Local, _dynamometer_pool: _Pool) -> Any:
    """A boto3 resource of DynamoDB on the test's engine."""
    return _dynamometer_pool.get("resource")


@pytest.fixture
def dynamodb_everywhere(dynamometer: Local) -> Iterator[Local]:
    """Every DynamoDB client of boto3 in this process, whoever made it, talks to the test's engine."""
    with dynamometer.route_all() as engine:
        yield engine


def _ini_settings(config: pytest.Config) -> dict[str, Any]:
    """The settings of the ini file, which are lines of TOML."""
    lines: list[str] = config.getini(INI_SETTINGS)
    if not lines:
        return {}
    import tomllib

    try:
        return tomllib.loads("\n".join(lines))
    except tomllib.TOMLDecodeError as error:
        raise pytest.UsageError(f"{INI_SETTINGS} is not of the form `name = value`, one a line: {error}") from None
