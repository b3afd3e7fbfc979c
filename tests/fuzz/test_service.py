"""Whatever is sent, only the service's own errors come back: no 500, no endless work, nothing that piles up.

Seconds here; minutes with `pytest -m soak tests/fuzz`, for SOAK_SECONDS (120) from a random FUZZ_SEED, which is printed
by a failure. A failing case is made again by FUZZ_SEED and its number.
"""

from __future__ import annotations

import gc
import os
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from dynamometer.engine.check import Checker
from dynamometer.wire.service import Service
from tests.fuzz import cases, harness

SEED = int(os.environ.get("FUZZ_SEED", "1"))
CASES = 4000
CASES_PER_SERVICE = 500
GROWTH_MIB_MAX = 12.0


@pytest.mark.parametrize("kind", list(cases.KINDS))
def test_only_the_services_errors_come_back(kind: str) -> None:
    for service, numbers in _services(CASES):
        _run(service, kind, SEED, numbers)


@pytest.mark.soak
@pytest.mark.parametrize("kind", list(cases.KINDS))
def test_only_the_services_errors_come_back_for_minutes(kind: str) -> None:
    seed = int(os.environ.get("FUZZ_SEED", Random().randrange(10**9)))
    deadline = time.monotonic() + float(os.environ.get("SOAK_SECONDS", "120"))
    start = 0
    while time.monotonic() < deadline:
        service = harness.fresh()
        _run(service, kind, seed, range(start, start + CASES_PER_SERVICE))
        start += CASES_PER_SERVICE


def test_requests_that_store_nothing_leave_nothing_behind() -> None:
    targets = {name: each for name, each in harness.implemented().items() if name in ("GetItem", "Query", "Scan")}
    service = harness.fresh()

    def send(start: int, count: int) -> None:
        for number in range(start, start + count):
            rng = Random(f"{SEED}/growth/{number}")
            case = cases.shaped(SEED, number, targets)
            region = b"us-east-1" if rng.random() < 0.5 else b"us-%d" % number
            authorization = case.headers[b"authorization"].replace(b"FUZZ", b"FUZZ%d" % number)
            case.headers[b"authorization"] = authorization.replace(b"us-east-1", region)
            harness.send(service, case)

    send(0, 5000)
    before = _memory_mib()
    send(5000, 8000)
    assert _memory_mib() - before < GROWTH_MIB_MAX


def _services(count: int) -> Iterator[tuple[Service, range]]:
    for start in range(0, count, CASES_PER_SERVICE):
        yield harness.fresh(), range(start, start + CASES_PER_SERVICE)


def _run(service: Service, kind: str, seed: int, numbers: range) -> None:
    """Cases of one kind, then: does all that is stored still agree?"""
    targets = harness.implemented()
    for number in numbers:
        harness.send(service, cases.KINDS[kind](seed, number, targets))
    while service.engine.run_jobs():
        pass
    findings = list(Checker(service.engine.store, service.engine.catalog.tables()).findings())
    assert not findings, f"{kind} {seed}/{numbers.start}-{numbers.stop}: {findings[:5]}"


def _memory_mib() -> float:
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1024**2
