"""Training that is killed at any moment, inside saves too, ends with the bits of training that nobody touched.

The seed decides which moments.
"""

from __future__ import annotations

import random
import re
import shutil
import signal
from pathlib import Path

import pytest

from tensorplane.checkpoints.files import CheckpointFiles
from tensorplane.watchdog import EXIT_SILENT
from tests.runtime.launching import Program, Workers
from tests.runtime.test_resume import assert_same_bits
from tests.support import counts
from tests.support.waiting import eventually

KILLS = counts.of(quick=3, nightly=100)
STOPS = counts.of(quick=1, nightly=50)
SEED = counts.seed()
_STEPS, _EVERY = 300, 20
_SETTINGS = {"STEPS": str(_STEPS), "CHECKPOINT_STEPS": str(_EVERY)}
_KILLS_PER_RUN = 5

pytestmark = [pytest.mark.counted, pytest.mark.nightly("kills, and silence; test_resume.py has one kill")]


@pytest.fixture
def program(tmp_path: Path) -> Program:
    shutil.copy(Path(__file__).with_name("faulty.py"), tmp_path)
    return Program(tmp_path)


def _fault(rng: random.Random, begin: int) -> str:
    """A moment within the next 80 steps after `begin`."""
    kind = rng.choice(("step", "save", "write", "time"))
    if kind == "step":
        return f"step:{begin + rng.randint(1, 4) * _EVERY}"
    if kind == "save":
        return f"save:{rng.randint(1, 3)}:{rng.randint(1, 9)}"
    return f"write:{rng.randint(1, 3)}" if kind == "write" else f"time:{rng.uniform(0, 0.5):.2f}"


def _killed_once(program: Program, run: str, fault: str, workers: int) -> tuple[int, int, int]:
    """Starts the run and waits for its end by the fault: the step it began at, its last saved and last known step."""
    settings = {**_SETTINGS, "FAULT": fault}
    with program.run(run, workers=workers, settings=settings, script="faulty.py") as started:
        begin = int(re.findall(r" step=(\d+) ", started.until("resumed="))[0])
        assert started.processes[0].wait() == -signal.SIGKILL, f"{fault}:\n{started.output}"
    saved = [int(step) for step in re.findall(r"saved=(\d+)", started.output)]
    steps = [int(step) for step in re.findall(r" step=(\d+) loss=", started.output)]
    return begin, max(saved, default=begin), max(steps, default=begin)


def _kill_and_finish(program: Program, run: str, rng: random.Random, most: int, workers: int) -> int:
    """Kills a run, and lets it finish. Checks at each restart what was lost. Returns how often it was killed."""
    saved = known = kills = 0
    while kills < most and known <= _STEPS - 5 * _EVERY:
        kills += 1
        fault = _fault(rng, saved)
        begin, last_saved, last_known = _killed_once(program, run, fault, workers)
        assert begin >= saved, "what was reported as saved is there"
        # While one checkpoint is written, training goes on to the next.
        assert known - begin <= 2 * _EVERY
        saved, known = last_saved, last_known
    with program.run(run, workers=workers, settings=_SETTINGS) as last:
        assert last.finish() == [0] * workers, last.output
        begin = int(re.findall(r" step=(\d+) ", last.output)[0])
    assert begin >= saved
    assert known - begin <= 2 * _EVERY
    return kills


def test_kills_at_any_moment_lose_no_run_and_no_bit(program: Program) -> None:
    rng = random.Random(SEED)
    with program.run("whole", settings=_SETTINGS) as whole:
        assert whole.finish() == [0], whole.output
    left, run = KILLS, 0
    while left > 0:
        run += 1
        left -= _kill_and_finish(program, f"killed-{run}", rng, min(left, _KILLS_PER_RUN), workers=1)
        assert_same_bits(program.checkpoints("whole"), program.checkpoints(f"killed-{run}"), _STEPS)


def test_silent_worker_is_noticed_and_trains_no_further_when_it_wakes_up(program: Program) -> None:
    rng = random.Random(SEED)
    for number in range(STOPS):
        victim = rng.randint(0, 1)
        run = f"stopped-{number}"
        settings = {"STEPS": "1000000", "CHECKPOINT_STEPS": str(_EVERY)}
        files = CheckpointFiles(program.checkpoints(run))
        with program.run(run, workers=2, settings=settings, then="") as workers:
            eventually(files.steps)
            assert_silence_is_noticed(workers, victim)
            before = files.steps()
            stopped = workers.processes[victim]
            stopped.send_signal(signal.SIGCONT)
            # Its peer has ended by now, so it may find its connection refused.
            assert stopped.wait() in (1, EXIT_SILENT), "nobody is left to train with"
            # A write that had begun may complete, and that of the last step that it trained; no step follows.
            assert files.steps()[0] <= before[0] + 2 * _EVERY


def assert_silence_is_noticed(workers: Workers, victim: int) -> None:
    """One of two workers is stopped, as on a node that hangs: the other names it in one line, and ends."""
    workers.processes[victim].send_signal(signal.SIGSTOP)
    other = workers.processes[1 - victim]
    assert other.wait() == EXIT_SILENT
    (line,) = [line for line in other.output.splitlines() if "does not answer" in line]
    assert line.startswith(f"tensorplane: worker {victim} (127.0.0.1:")
    assert "Traceback" not in other.output
