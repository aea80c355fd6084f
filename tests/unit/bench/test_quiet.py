"""Processor time by who took it: ours is taken off what the processors did, so here they did nothing but that."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from bench import quiet
from bench.quiet import OtherPrograms
from tensorplane.embedded.cluster import cgroups
from tensorplane.embedded.instance import Instance
from tests.support.waiting import eventually

SECONDS = 0.6
BUSY = f"""
import pathlib, sys, time
while time.process_time() < {SECONDS}: pass
pathlib.Path(sys.argv[1]).touch()
"""


@pytest.fixture(autouse=True)
def _no_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    """A cluster for benchmarks may run beside the tests; its processor time would count as ours."""
    monkeypatch.setattr(cgroups, "folders", lambda _: [])


@pytest.fixture
def was_busy(tmp_path: Path) -> Path:
    """The file that the program makes when it has used its time."""
    return tmp_path / "was-busy"


def _used(was_busy: Path, *before: str) -> float:
    """Seconds that count as ours while the program runs, started by `before`."""
    began = time.monotonic()
    with OtherPrograms(Instance("bench"), busy=lambda: 0.0) as others:
        subprocess.run([*before, sys.executable, "-c", BUSY, str(was_busy)], check=True)
        eventually(was_busy.exists)
    return -others.share * (time.monotonic() - began)


def test_a_program_that_we_waited_for_is_ours(was_busy: Path) -> None:
    assert _used(was_busy) >= SECONDS - 0.1


def test_a_program_that_we_did_not_wait_for_is_not(was_busy: Path) -> None:
    assert _used(was_busy, "setsid", "--fork") < SECONDS - 0.1


def test_processors_are_busy_with_what_we_do(was_busy: Path) -> None:
    before = quiet.busy_seconds()
    subprocess.run([sys.executable, "-c", BUSY, str(was_busy)], check=True)
    assert quiet.busy_seconds() - before >= SECONDS - 0.1
