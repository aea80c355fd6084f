"""SIGTERM while several parts of a program wait for it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tensorplane.stop import EXIT_SAVED
from tests.runtime.launching import IN_PODS
from tests.support.waiting import PATIENT_SECONDS

_PROGRAM = """
import sys, time
from tensorplane.stop import StopRequest

first = StopRequest()
{between}
second = StopRequest()
with {saves}.deferred():
    print("trains", flush=True)
    while not {saves}.came:
        time.sleep(0.01)
    print("saved", flush=True)
print("idle", flush=True)
time.sleep(600)
"""


@contextmanager
def _running(program: str) -> Iterator[subprocess.Popen[str]]:
    environment = {**os.environ, "PYTHONPATH": IN_PODS, "PYTHONUNBUFFERED": "1"}
    command = [sys.executable, "-c", program]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


@pytest.mark.parametrize("between", ["", "sys.modules['tensorflow'] = sys"])
@pytest.mark.parametrize("saves", ["first", "second"])
def test_a_request_that_is_idle_does_not_end_one_that_saves(saves: str, between: str) -> None:
    with _running(_PROGRAM.format(between=between, saves=saves)) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "trains\n"
        process.terminate()
        assert process.stdout.readline() == "saved\n"


def test_with_nothing_unsaved_the_process_ends_at_once() -> None:
    program = "import time; from tensorplane.stop import *; StopRequest(); StopRequest(); print(); time.sleep(600)"
    with _running(program) as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.terminate()
        assert process.wait(PATIENT_SECONDS) == EXIT_SAVED


_FORKS = """
import os, signal, time
from tensorplane.stop import StopRequest

StopRequest()
reads, writes = os.pipe()
child = os.fork()
if child == 0:
    StopRequest()
    os.write(writes, b"1")
    time.sleep(600)
os.read(reads, 1)
os.kill(child, signal.SIGTERM)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


def test_a_forked_child_stops_too() -> None:
    with _running(_FORKS) as process:
        assert process.communicate(timeout=PATIENT_SECONDS)[0] == f"{EXIT_SAVED}\n"
