"""A command that stands still is ended with the stacks of its threads in the log, and fails as one that may repeat."""

from __future__ import annotations

import math
import signal
import sys
from pathlib import Path

import pytest

from tensorplane import launch, progress_deadline, step_record
from tensorplane.checkpoints.run_folder import RUN
from tensorplane.progress_deadline import EXIT_STALLED, SECONDS, Standstill, UnchangedLoss
from tests.runtime.launcher import WRITES, argv, of_run, run, started
from tests.runtime.launching import LIBRARY
from tests.support.waiting import PATIENT_SECONDS

_STEPS = f"""
import ctypes, os, signal, sys, threading, time
sys.path.insert(0, {str(LIBRARY)!r})
from tensorplane import step_record
def feeds():
    time.sleep(100000)
threading.Thread(target=feeds, daemon=True).start()
step_record.expected()
"""
_HANGS = {"sleep": "time.sleep(100000)", "call that holds the interpreter": "ctypes.PyDLL(None).sleep(100000)"}
_DEADLINE = {SECONDS: "0.5"}
_REASON = "tensorplane: no step for 0.5 s after step 1200"


def _log(folder: Path) -> str:
    return max((folder / "logs" / "digits-1").iterdir()).read_text()


@pytest.mark.parametrize("hangs", _HANGS.values(), ids=_HANGS)
def test_the_stacks_of_all_threads_are_in_the_log_and_the_reason_at_its_end(tmp_path: Path, hangs: str) -> None:
    ended = of_run(tmp_path, f"{_STEPS}step_record.done(1200)\n{hangs}\n", **WRITES, **_DEADLINE)
    assert ended.returncode == EXIT_STALLED, ended.stderr
    first, *stacks, last = ended.stderr.splitlines()
    assert first == f"{_REASON}; the stacks of its threads follow, and the pod ends"
    assert last == f"{_REASON}; the stacks of its threads are above"
    assert any(line.endswith(" in feeds") for line in stacks), "another thread"
    assert any("train.py" in line and line.endswith(" in <module>") for line in stacks), "the one that hangs"
    assert _log(tmp_path) == ended.stderr


def test_a_process_that_does_not_answer_is_killed_and_counts_as_the_same(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(f"{_STEPS}step_record.done(1200)\nos.kill(os.getpid(), signal.SIGSTOP)\n")
    command = argv(tmp_path, sys.executable, str(tmp_path / "train.py"), answer_seconds=0.1)
    starts = [run(command, **WRITES, **_DEADLINE, **{RUN: str(tmp_path / "digits-1")}) for _ in range(3)]
    assert [each.returncode for each in starts] == [EXIT_STALLED, EXIT_STALLED, launch.EXIT_NOT_RETRIED]
    assert starts[0].stderr.splitlines()[-1] == f"{_REASON}; it was killed, because it did not answer SIGABRT"
    reason = "restarts would not help: no step for 0.5 s"
    same = f"after step 1200 it failed 3 times in a row with the same last line; {reason}"
    assert starts[-1].stderr.splitlines()[-1] == f"tensorplane: {same}"


def test_a_pod_that_is_being_stopped_is_watched_on(tmp_path: Path) -> None:
    program = f"{_STEPS}signal.signal(signal.SIGTERM, lambda *_: step_record.done(1200))\nprint('ready', flush=True)\n"
    (tmp_path / "train.py").write_text(f"{program}time.sleep(100000)\n")
    with started(argv(tmp_path, sys.executable, str(tmp_path / "train.py")), **_DEADLINE) as child:
        assert child.stdout and child.stdout.readline() == "ready\n"
        child.send_signal(signal.SIGTERM)
        assert child.wait(PATIENT_SECONDS) == EXIT_STALLED


@pytest.mark.parametrize(
    "begins",
    ["", "step_record.expected()", "step_record.done(1200); step_record.ended()"],
    ids=["without the library", "before its first step", "after training"],
)
def test_what_does_not_train_is_not_watched(tmp_path: Path, begins: str) -> None:
    ended = of_run(tmp_path, f"{_STEPS}{begins}\ntime.sleep(1.5)\nsys.exit(90)", **_DEADLINE)
    assert (ended.returncode, ended.stderr) == (90, "")


def test_an_end_of_its_own_is_the_commands(tmp_path: Path) -> None:
    ended = of_run(tmp_path, f"{_STEPS}step_record.done(1200)\nsys.exit(90)", **WRITES, **_DEADLINE)
    assert (ended.returncode, ended.stderr) == (90, "")


class _Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_steps_and_batches_of_a_validation_are_progress(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    record, clock = tmp_path / "steps", _Clock()
    monkeypatch.setenv(step_record.VARIABLE, str(record))
    standstill = Standstill(10, most=2, clock=clock)

    def look(seconds: float) -> bool:
        clock.now += seconds
        standstill.look(step_record.read(record), progress_deadline.written(record))
        return standstill.too_long

    for step in range(20):
        step_record.done(step)
        assert not look(2)
    for _ in range(20):
        before = progress_deadline.written(record)
        while progress_deadline.written(record) == before:  # the file system's clock is coarse
            step_record.goes_on()
        assert not look(2)
    assert [look(2) for _ in range(5)] == [False, False, False, False, True]
    assert step_record.number(step_record.read(record)) == 19


def test_a_paused_pod_has_had_no_time(tmp_path: Path) -> None:
    clock = _Clock()
    standstill = Standstill(10, most=2, clock=clock)
    for seconds in (1, 3600, 1, 3600):
        clock.now += seconds
        standstill.look("done 7")
    assert not standstill.too_long


@pytest.mark.parametrize("value", [0.693147, math.nan, 0.0])
def test_a_loss_that_stays_the_same_to_the_last_bit_is_no_progress(value: float) -> None:
    clock = _Clock()
    loss = UnchangedLoss({SECONDS: "300"}, clock)

    def seen(number: float, seconds: float) -> bool:
        clock.now += seconds
        return loss.lasts(number)

    assert not any(seen(value, 30) for _ in range(10))
    assert seen(value, 30), "after 300 s"
    assert not seen(math.nextafter(value, 1) if value == value else 1.0, 1000), "another one"
    assert not any(seen(value, 1000) for _ in range(9)), "too few reports"
    assert seen(value, 1000)
    assert not any(UnchangedLoss({}, clock).lasts(value) for _ in range(100)), "without a deadline"


def test_it_ends_the_pod_likewise(tmp_path: Path) -> None:
    program = f"""
{_STEPS}
from tensorplane.cluster import Place
from tensorplane.progress import Progress
import itertools
progress = Progress(Place(), 0)
for step in itertools.count(1):
    step_record.done(step)
    progress.report(step, loss=float("nan"))
    time.sleep(0.01)
"""
    ended = of_run(tmp_path, program, **WRITES, **_DEADLINE)
    assert ended.returncode == EXIT_STALLED
    assert "tensorplane: loss=nan has not changed for 0.5 s; the pod ends\nFatal Python error: Aborted" in ended.stderr
    step = ended.stdout.splitlines()[-1].split()[1].removeprefix("step=")
    reason = f"tensorplane: the loss has not changed for 0.5 s after step {step}; the stacks of its threads are above"
    assert ended.stderr.splitlines()[-1] == reason
    (failure,) = (tmp_path / "digits-1").glob("failure-*.json")
    assert f'"step": {step}' in failure.read_text()
