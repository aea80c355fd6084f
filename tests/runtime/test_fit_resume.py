"""A `fit` on two workers that is killed or stopped, and started again, ends with the bits of one that was not."""

from __future__ import annotations

import os
import random
import re
import subprocess
import sys
import time
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from tensorplane.stop import EXIT_SAVED
from tests.runtime.launching import LIBRARY, environments
from tests.support.environment import of_machine
from tests.support.waiting import PATIENT_SECONDS

_PROGRAM = Path(__file__).with_name("fit_program.py")
_STEPS, _EPOCHS, _EVERY = 36, 4, 5


class Fit:
    """A run of the program on two workers, which can be started several times."""

    def __init__(self, folder: Path, settings: Mapping[str, str]) -> None:
        # The name of the run decides its seed.
        self._checkpoints = folder / "run"
        self.files = folder / "files"
        self._settings = {"CHECKPOINT_STEPS": str(_EVERY), "FILES": str(self.files), **settings}
        self.files.mkdir(parents=True)

    def start(self, **faults: str) -> tuple[list[int], list[str]]:
        """The exit codes and outputs of both workers. `faults` are for worker 1, and with CHIEF for worker 0.

        Once one worker has ended with an error, the other is killed, as JobSet does with the gang.
        """
        faulty = 0 if faults.pop("CHIEF", None) else 1
        workers = []
        for index, environment in enumerate(environments(2)):
            own = faults if index == faulty else {}
            path = {**of_machine(), "PYTHONPATH": str(LIBRARY), "TF_CPP_MIN_LOG_LEVEL": "2"}
            path |= {"CHECKPOINT_DIR": str(self._checkpoints), **self._settings, **environment, **own}
            with (self._checkpoints.parent / f"out-{index}").open("w") as output:
                argv = [sys.executable, str(_PROGRAM)]
                workers.append(subprocess.Popen(argv, env=path, stdout=output, stderr=subprocess.STDOUT))
        codes = _codes(workers)
        return codes, [(self._checkpoints.parent / f"out-{index}").read_text() for index in range(2)]


def _codes(workers: Sequence[subprocess.Popen[bytes]]) -> list[int]:
    deadline = time.monotonic() + PATIENT_SECONDS
    try:
        while any(worker.poll() is None for worker in workers) and time.monotonic() < deadline:
            if any(worker.poll() not in (None, 0, EXIT_SAVED) for worker in workers):
                break
            time.sleep(0.05)
    finally:
        for worker in workers:
            worker.kill()
    return [worker.wait() for worker in workers]


def _result(outputs: Sequence[str]) -> list[str]:
    """Weights and history of each worker."""
    return [line for output in outputs for line in re.findall(r"^(?:weights|history) .*$", output, re.MULTILINE)]


def _whole(folder: Path, settings: Mapping[str, str]) -> list[str]:
    fit = Fit(folder, settings)
    codes, outputs = fit.start()
    assert codes == [0, 0], outputs[0][-3000:]
    _assert_one_worker_wrote(fit.files)
    found = _result(outputs)
    assert len(found) == 4
    # Statistics of BatchNormalization too: `fit` averages them over the workers.
    assert found[:2] == found[2:], "both workers end with the same weights and history"
    steps = re.findall(r"^tensorplane: step=(\d+) ", outputs[0], re.MULTILINE)
    assert steps[-1] == str(_STEPS)
    assert len(set(steps)) == len(steps), "a line for each step, also for the last of an epoch"
    return found


def _assert_one_worker_wrote(files: Path) -> None:
    """The files of Keras' callbacks, whose paths are the same on both workers."""
    with zipfile.ZipFile(files / "best.keras") as model:
        assert model.testzip() is None
    assert len(list((files / "events" / "train").iterdir())) == 1
    assert len((files / "log.csv").read_text().splitlines()) == 1 + _EPOCHS


def _first_number(name: str, output: str) -> int:
    (found,) = re.findall(rf"tensorplane: {name}=(\d+)", output)
    return int(found)


def test_killed_and_stopped_fit_ends_with_the_bits_of_an_undisturbed_one(tmp_path: Path) -> None:
    whole = _whole(tmp_path / "whole", {})
    fit = Fit(tmp_path / "faults", {})
    assert fit.start(KILL_AFTER="13")[0][1] == -9
    codes, outputs = fit.start(KILL_IN_SAVE="5", CHIEF="1")
    assert codes[0] == -9
    assert 13 - _first_number("resumed", outputs[0]) <= _EVERY
    codes, outputs = fit.start(KILL_AFTER="4", GENTLY="1")
    assert codes == [EXIT_SAVED, EXIT_SAVED], outputs[0][-3000:]
    stopped = _first_number("stopped", outputs[0])
    codes, outputs = fit.start()
    assert codes == [0, 0], outputs[0][-3000:]
    assert _first_number("resumed", outputs[0]) == stopped, "SIGTERM loses no step"
    assert _result(outputs) == whole
    # A finished run that is started again trains no step.
    codes, outputs = fit.start()
    assert codes == [0, 0] and _first_number("resumed", outputs[0]) == _STEPS
    assert _result(outputs) == whole


@pytest.mark.nightly
@pytest.mark.parametrize("steps_per_execution", ["1", "3"])
def test_fit_survives_kills_at_random_steps_and_in_saves(tmp_path: Path, steps_per_execution: str) -> None:
    seed = random.Random(os.environ.get("TENSORPLANE_SEED", "1") + steps_per_execution)
    settings = {"STEPS_PER_EXECUTION": steps_per_execution}
    whole = _whole(tmp_path / "whole", settings)
    fit = Fit(tmp_path / "faults", settings)
    for _ in range(int(os.environ.get("TENSORPLANE_KILLS", "10"))):
        fault = {"KILL_AFTER": str(seed.randint(1, 8))} if seed.random() < 0.7 else {"KILL_IN_SAVE": "4", "CHIEF": "1"}
        codes, outputs = fit.start(**fault)
        if codes == [0, 0]:
            break
        assert -9 in codes
    else:
        codes, outputs = fit.start()
    assert codes == [0, 0], outputs[0][-3000:]
    assert _result(outputs) == whole
