"""A `fit` on two workers that is killed or stopped, and started again, ends with the bits of one that was not."""

from __future__ import annotations

import random
import re
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from tensorplane.stop import EXIT_SAVED
from tests.runtime.launching import environments, gang
from tests.support import counts

_PROGRAM = Path(__file__).with_name("fit_program.py")
_STEPS, _EPOCHS, _EVERY = 36, 4, 5
_KILLS = counts.of(quick=10, nightly=100)


class Fit:
    """A run of the program on two workers, which can be started several times."""

    def __init__(self, folder: Path, steps_per_execution: int = 1) -> None:
        self._folder, self.files, self._known = folder, folder / "files", 0
        # The name of the run decides its seed.
        own = {"CHECKPOINT_DIR": str(folder / "run"), "CHECKPOINT_STEPS": str(_EVERY), "FILES": str(self.files)}
        self._settings = own | {"STEPS_PER_EXECUTION": str(steps_per_execution)}
        # While one checkpoint is written, training goes on to the next.
        self._most_lost = 2 * (_EVERY + steps_per_execution - 1)
        self.files.mkdir(parents=True)

    def start(self, faults: Mapping[str, str] | None = None, *, of: int = 1) -> tuple[list[int], list[str]]:
        """The exit codes and outputs of both workers. `faults` are for one of them."""
        tasks = environments(2)
        tasks[of] |= faults or {}
        with gang(self._folder, _PROGRAM, tasks=tasks, **self._settings) as workers:
            codes = workers.finish()
        resumed = next(iter(_numbers("resumed", workers.output)), 0)
        assert self._known - resumed <= self._most_lost, workers.output
        self._known = max(_numbers("step", workers.output), default=resumed)
        return codes, workers.outputs


def _numbers(name: str, output: str) -> list[int]:
    return [int(number) for number in re.findall(rf"^tensorplane: {name}=(\d+)", output, re.MULTILINE)]


def _result(outputs: Sequence[str]) -> list[str]:
    """Weights and history of each worker."""
    return [line for output in outputs for line in re.findall(r"^(?:weights|history) .*$", output, re.MULTILINE)]


def _whole(folder: Path, steps_per_execution: int = 1) -> list[str]:
    fit = Fit(folder, steps_per_execution)
    codes, outputs = fit.start()
    assert codes == [0, 0], outputs[0][-3000:]
    _assert_one_worker_wrote(fit.files)
    found = _result(outputs)
    assert len(found) == 4
    # Statistics of BatchNormalization too: `fit` averages them over the workers.
    assert found[:2] == found[2:], "both workers end with the same weights and history"
    steps = _numbers("step", outputs[0])
    assert steps[-1] == _STEPS
    assert len(set(steps)) == len(steps), "a line for each step, also for the last of an epoch"
    return found


def _assert_one_worker_wrote(files: Path) -> None:
    """The files of Keras' callbacks, whose paths are the same on both workers."""
    with zipfile.ZipFile(files / "best.keras") as model:
        assert model.testzip() is None
    assert len(list((files / "events" / "train").iterdir())) == 1
    assert len((files / "log.csv").read_text().splitlines()) == 1 + _EPOCHS


def test_killed_and_stopped_fit_ends_with_the_bits_of_an_undisturbed_one(tmp_path: Path) -> None:
    whole = _whole(tmp_path / "whole")
    fit = Fit(tmp_path / "faults")
    assert fit.start({"KILL_IN_SAVE": "5"}, of=0)[0][0] == -9
    codes, outputs = fit.start({"KILL_AFTER": "4", "GENTLY": "1"})
    assert codes == [EXIT_SAVED, EXIT_SAVED], outputs[0][-3000:]
    stopped = _numbers("stopped", outputs[0])
    codes, outputs = fit.start()
    assert codes == [0, 0], outputs[0][-3000:]
    assert _numbers("resumed", outputs[0]) == stopped, "SIGTERM loses no step"
    assert _result(outputs) == whole


@pytest.mark.counted
@pytest.mark.nightly("kills; the test above has one, and a stop")
@pytest.mark.parametrize("steps_per_execution", [1, 3])
def test_fit_survives_kills_at_random_steps_and_in_saves(tmp_path: Path, steps_per_execution: int) -> None:
    chance = random.Random(f"{counts.seed()} {steps_per_execution}")
    whole = _whole(tmp_path / "whole", steps_per_execution)
    left, run = _KILLS, 0
    while left:
        run += 1
        fit = Fit(tmp_path / f"faults-{run}", steps_per_execution)
        left -= _killed(fit, chance, left)
        # A finished run that is started again trains no step.
        for _ in range(2):
            codes, outputs = fit.start()
            assert codes == [0, 0], outputs[0][-3000:]
            assert _result(outputs) == whole
        assert _numbers("resumed", outputs[0]) == [_STEPS]


def _killed(fit: Fit, chance: random.Random, most: int) -> int:
    """Starts a run until it has finished, or was killed so often: how often it was."""
    for kills in range(most):
        if chance.random() < 0.7:
            codes, _ = fit.start({"KILL_AFTER": str(chance.randint(1, 8))})
        else:
            codes, _ = fit.start({"KILL_IN_SAVE": "4"}, of=0)
        if codes == [0, 0]:
            return kills
        assert -9 in codes
    return most
