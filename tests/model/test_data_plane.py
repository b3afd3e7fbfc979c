"""The engine beside the reference model: same answers, same refusals, same units, on every store and through a socket.

`make test` takes a short look, `pytest -m soak tests/model` a long one: DYNAMOMETER_MODEL_EXAMPLES examples an engine.
A failure prints the shortest run of steps that shows it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from dynamometer.inprocess import local
from tests.model.drivers import Http, InProcess
from tests.model.machine import Driver
from tests.model.reading import Reading
from tests.model.serving import serving

ENGINES = ["memory", "rocksdb", "http"]
SHORT = {"memory": 200, "rocksdb": 80, "http": 80}
SOAK_EXAMPLES = int(os.environ.get("DYNAMOMETER_MODEL_EXAMPLES", "1000"))


@pytest.fixture
def driver(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Driver]:
    match request.param:
        case "http":
            with serving() as port:
                yield Http(port)
        case "rocksdb":
            with local(tmp_path / "data", durability="os") as engine:
                yield InProcess(engine)
        case "memory":
            with local() as engine:
                yield InProcess(engine)


@pytest.mark.slow
@pytest.mark.parametrize("driver", ENGINES, indirect=True)
def test_the_engine_does_what_the_model_does(driver: Driver, request: pytest.FixtureRequest) -> None:
    examples = SHORT[request.node.callspec.params["driver"]]
    run(driver, settings(max_examples=examples, stateful_step_count=25, derandomize=True))


@pytest.mark.soak
@pytest.mark.parametrize("driver", ENGINES, indirect=True)
def test_the_engine_does_what_the_model_does_for_long(driver: Driver) -> None:
    run(driver, settings(max_examples=SOAK_EXAMPLES, stateful_step_count=60))


def run(driver: Driver, profile: settings, phases: Sequence[Phase] = (Phase.generate, Phase.shrink)) -> None:
    class Machine(Reading):
        connect = staticmethod(lambda: driver)

    quick = settings(
        profile,
        deadline=None,
        suppress_health_check=list(HealthCheck),
        phases=phases,
        print_blob=True,
    )
    run_state_machine_as_test(Machine, settings=quick)  # type: ignore[no-untyped-call]
