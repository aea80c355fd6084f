"""A worker that stops answering in the middle of `fit` ends the other one in time, with one line and a free restart.

`make test` takes one stop of each way to call `fit`; TENSORPLANE_STOPS are more, and TENSORPLANE_SEED is which.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from tensorplane.checkpoints.files import CheckpointFiles
from tensorplane.watchdog import EXIT_SILENT
from tests.runtime.launching import LIBRARY, environments
from tests.support.environment import of_machine
from tests.support.waiting import PATIENT_SECONDS, eventually

_PROGRAM = Path(__file__).with_name("fit_program.py")
_NOTICED_SECONDS = 20
_STOPS = int(os.environ.get("TENSORPLANE_STOPS", "1"))


@contextmanager
def _endless(folder: Path, settings: Mapping[str, str]) -> Iterator[list[subprocess.Popen[str]]]:
    """Two workers whose `fit` does not end by itself."""
    fixed = {**of_machine(), "PYTHONPATH": str(LIBRARY), "TF_CPP_MIN_LOG_LEVEL": "2", "EPOCHS": "100000"}
    fixed |= {"CHECKPOINT_DIR": str(folder), "CHECKPOINT_STEPS": "5", "FILES": str(folder.parent), **settings}
    workers = [
        subprocess.Popen(
            [sys.executable, str(_PROGRAM)],
            env={**fixed, **of_task},
            text=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )
        for of_task in environments(2)
    ]
    try:
        yield workers
    finally:
        for worker in workers:
            worker.kill()
            worker.wait()
            if worker.stderr:
                worker.stderr.close()


@pytest.mark.parametrize("settings", [{}, {"BY_HAND": "1"}], ids=["tensorplane.fit", "model.fit"])
def test_silent_worker_ends_fit_in_time_with_a_line_that_names_it(tmp_path: Path, settings: Mapping[str, str]) -> None:
    chance = random.Random(os.environ.get("TENSORPLANE_SEED", "1") + str(settings))
    for number in range(_STOPS):
        victim, folder = chance.randint(0, 1), tmp_path / f"run-{number}"
        with _endless(folder, settings) as workers:
            eventually(lambda folder=folder: CheckpointFiles(folder).steps())  # type: ignore[misc]
            time.sleep(chance.uniform(0, 1))
            workers[victim].send_signal(signal.SIGSTOP)
            began = time.monotonic()
            assert workers[1 - victim].wait(PATIENT_SECONDS) == EXIT_SILENT
            assert time.monotonic() - began <= _NOTICED_SECONDS
            errors = workers[1 - victim].stderr
            said = errors.read() if errors else ""
            (line,) = [line for line in said.splitlines() if "does not answer" in line]
            assert line.startswith(f"tensorplane: worker {victim} (127.0.0.1:")
            assert "Traceback" not in said
