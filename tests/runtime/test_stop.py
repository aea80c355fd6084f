"""SIGTERM while several parts of a program wait for it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from tensorplane.stop import EXIT_SAVED
from tests.runtime.launching import LIBRARY
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


@pytest.mark.parametrize("between", ["", "sys.modules['tensorflow'] = sys"])
@pytest.mark.parametrize("saves", ["first", "second"])
def test_a_request_that_is_idle_does_not_end_one_that_saves(saves: str, between: str) -> None:
    command = [sys.executable, "-c", _PROGRAM.format(between=between, saves=saves)]
    environment = {**os.environ, "PYTHONPATH": str(LIBRARY)}
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "trains\n"
        process.send_signal(signal.SIGTERM)
        assert process.stdout.readline() == "saved\n"
        process.kill()


def test_with_nothing_unsaved_the_process_ends_at_once() -> None:
    program = "import time; from tensorplane.stop import *; StopRequest(); StopRequest(); print(); time.sleep(600)"
    environment = {**os.environ, "PYTHONPATH": str(LIBRARY), "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen([sys.executable, "-c", program], env=environment, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.terminate()
        assert process.wait(PATIENT_SECONDS) == EXIT_SAVED
