"""Processor time by who took it: ours is taken off what the processors did, so here they did nothing but that."""

from __future__ import annotations

import subprocess
import sys
import time

import pytest

from bench import quiet
from bench.others import Others
from embedded.cluster import cgroups
from embedded.paths import Instance

SECONDS = 0.6
BUSY = f"import time\nwhile time.process_time() < {SECONDS}: pass"


@pytest.fixture(autouse=True)
def _no_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    """A cluster for benchmarks may run beside the tests; its processor time would count as ours."""
    monkeypatch.setattr(cgroups, "folders", lambda _: [])


def _used(*argv: str) -> float:
    """Seconds that count as ours while a program runs."""
    began = time.monotonic()
    with Others(Instance("bench"), busy=lambda: 0.0) as others:
        subprocess.run(argv, check=True, timeout=30)
        time.sleep(0.5)
    return -others.share * (time.monotonic() - began)


def test_a_program_that_we_waited_for_is_ours() -> None:
    assert _used(sys.executable, "-c", BUSY) == pytest.approx(SECONDS, abs=0.15)


def test_a_program_that_we_did_not_wait_for_is_not() -> None:
    assert _used("setsid", "--fork", sys.executable, "-c", BUSY) < 0.15


def test_processors_are_busy_with_what_we_do() -> None:
    before = quiet.busy_seconds()
    subprocess.run([sys.executable, "-c", BUSY], check=True)
    assert quiet.busy_seconds() - before >= SECONDS - 0.1
