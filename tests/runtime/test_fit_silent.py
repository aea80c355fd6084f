"""A worker that stops answering in the middle of `fit` ends the other one, with one line and a free restart.

The seed decides which worker, and when.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from pathlib import Path

import pytest

from tensorplane.checkpoints.files import CheckpointFiles
from tests.runtime.launching import environments, gang
from tests.runtime.test_faults import assert_silence_is_noticed
from tests.support import counts
from tests.support.waiting import eventually

_PROGRAM = Path(__file__).with_name("fit_program.py")
_EVERY = 5
_STOPS = counts.of(quick=1, nightly=50)

pytestmark = [pytest.mark.counted, pytest.mark.nightly("ten seconds of silence each; test_watchdog.py has the words")]


@pytest.mark.parametrize("settings", [{}, {"BY_HAND": "1"}], ids=["tensorplane.fit", "model.fit"])
def test_silent_worker_ends_fit_with_a_line_that_names_it(tmp_path: Path, settings: Mapping[str, str]) -> None:
    chance = random.Random(f"{counts.seed()} {settings!s}")
    for number in range(_STOPS):
        victim, folder, steps = chance.randint(0, 1), tmp_path / f"run-{number}", _EVERY * chance.randint(1, 20)
        own = {"EPOCHS": "100000", "CHECKPOINT_STEPS": str(_EVERY), "FILES": str(tmp_path), **settings}
        files = CheckpointFiles(folder)
        # Without a patience that is not the user's.
        with gang(tmp_path, _PROGRAM, tasks=environments(2), then="", CHECKPOINT_DIR=str(folder), **own) as workers:
            eventually(lambda: max(files.steps(), default=0) >= steps, about=lambda: workers.output)  # noqa: B023
            assert_silence_is_noticed(workers, victim)
