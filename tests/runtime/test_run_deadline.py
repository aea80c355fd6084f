"""A run has one deadline over all restarts: the command is asked to save, and the run does not start again."""

from __future__ import annotations

import json
import queue
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tensorplane import launch, run_deadline
from tensorplane.run_deadline import RunDeadline
from tests.runtime.launcher import WRITES, of_run
from tests.support.waiting import PATIENT_SECONDS

_SAVES = """
import os, pathlib, signal, sys, time
def save(*_):
    pathlib.Path(os.environ["CHECKPOINT_DIR"], "saved").touch()
    sys.exit(75)
signal.signal(signal.SIGTERM, save)
print("began", flush=True)
time.sleep(100000)
"""
_HANGS = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(100000)"


def _run(
    folder: Path, program: str, seconds: float, grace: float = PATIENT_SECONDS
) -> subprocess.CompletedProcess[str]:
    limits = {run_deadline.SECONDS: str(seconds), run_deadline.GRACE: str(grace)}
    return of_run(folder, program, **WRITES, **limits)


def _reason(seconds: float) -> str:
    reason = f"totalDeadlineSeconds, {seconds:g}, have passed since the run's first start; it is not started again"
    return f"tensorplane: {reason}"


def test_it_saves_at_the_deadline_and_does_not_start_again(tmp_path: Path) -> None:
    for seconds in (1, 10, 100):
        folder = tmp_path / str(seconds)
        folder.mkdir()
        ended = _run(folder, _SAVES, seconds)
        if ended.stdout:
            break  # else this machine starts no Python in that time
    assert (ended.returncode, ended.stdout) == (launch.EXIT_NOT_RETRIED, "began\n")
    assert ended.stderr.splitlines()[-1] == _reason(seconds)
    assert (folder / "digits-1" / "saved").exists()
    again = _run(folder, _SAVES, seconds)
    assert (again.returncode, again.stdout, again.stderr) == (launch.EXIT_NOT_RETRIED, "", f"{_reason(seconds)}\n")


def test_sigkill_follows_after_the_grace_period_unless_the_command_has_ended() -> None:
    sent: queue.Queue[int] = queue.Queue()
    RunDeadline(began=0, seconds=1, grace=0).watch(sent.put)
    assert [sent.get(timeout=PATIENT_SECONDS) for _ in range(2)] == [signal.SIGTERM, signal.SIGKILL]
    RunDeadline(began=time.time(), seconds=PATIENT_SECONDS).watch(sent.put).set()
    assert sent.empty()


@pytest.mark.nightly("waits for its deadline; the test above in the launcher")
def test_a_command_that_does_not_stop_is_killed_after_the_grace_period(tmp_path: Path) -> None:
    ended = _run(tmp_path, _HANGS, 3, grace=0.1)
    assert (ended.returncode, ended.stderr) == (launch.EXIT_NOT_RETRIED, f"{_reason(3)}\n")


def test_it_counts_from_the_first_start_of_the_run(tmp_path: Path) -> None:
    before = time.time()
    assert _run(tmp_path, "raise SystemExit(90)", 1000).returncode == 90
    record = tmp_path / "digits-1" / "run.json"
    began = json.loads(record.read_text())["began"]
    assert before <= began <= time.time()
    assert _run(tmp_path, "raise SystemExit(90)", 1000).returncode == 90
    assert json.loads(record.read_text())["began"] == began
    record.write_text(json.dumps({**json.loads(record.read_text()), "began": began - 2000}))
    assert _run(tmp_path, "raise SystemExit(90)", 1000).returncode == launch.EXIT_NOT_RETRIED
    assert _run(tmp_path, "raise SystemExit(90)", 3000).returncode == 90, "a raised deadline continues the run"


@pytest.mark.parametrize(("program", "code"), [("pass", 0), ("raise SystemExit(90)", 90)])
def test_a_run_that_ends_in_time_ends_as_without_it(tmp_path: Path, program: str, code: int) -> None:
    assert _run(tmp_path, program, 1000).returncode == code


def test_a_finished_run_has_no_deadline(tmp_path: Path) -> None:
    assert _run(tmp_path, "pass", 1000).returncode == 0
    record = tmp_path / "digits-1" / "run.json"
    record.write_text(json.dumps({**json.loads(record.read_text()), "began": 0}))
    assert _run(tmp_path, "pass", 1000).returncode == 0
