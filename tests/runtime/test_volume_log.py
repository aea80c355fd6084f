"""What the command prints is kept beside the checkpoints, and the volume can never stop the training."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tensorplane import volume_log
from tensorplane.checkpoints.run_folder import RUN
from tensorplane.volume_log import VolumeLog
from tests.runtime.launcher import launched
from tests.support.waiting import PATIENT_SECONDS


def _launch(folder: Path, code: int = 0, **more: str) -> subprocess.CompletedProcess[str]:
    (folder / "checkpoints").mkdir(exist_ok=True)
    prints = f"import sys; print('to standard output'); print('to standard error', file=sys.stderr); sys.exit({code})"
    return launched(folder, prints, **{RUN: str(folder / "checkpoints" / "digits-1"), **more})


def _logs(folder: Path) -> dict[str, str]:
    logs = folder / "checkpoints" / "logs" / "digits-1"
    return {path.name: path.read_text() for path in sorted(logs.glob("*"))}


def test_both_streams_are_kept_and_passed_on(tmp_path: Path) -> None:
    done = _launch(tmp_path, TF_JOB_NAME="chief", JOB_COMPLETION_INDEX="0")
    assert (done.returncode, done.stdout, done.stderr) == (0, "to standard output\n", "to standard error\n")
    (kept,) = _logs(tmp_path).items()
    assert kept[0] == "chief-0.1.log"
    assert sorted(kept[1].splitlines()) == ["to standard error", "to standard output"]


def test_each_start_has_a_file_of_its_own(tmp_path: Path) -> None:
    for code in (75, 0):
        assert _launch(tmp_path, code, JOB_COMPLETION_INDEX="1").returncode == code
    assert list(_logs(tmp_path)) == ["worker-1.1.log", "worker-1.2.log"]


def test_a_volume_that_refuses_stops_nothing(tmp_path: Path) -> None:
    (tmp_path / "checkpoints").mkdir()
    (tmp_path / "checkpoints" / "logs").write_text("a file where the folder would be")
    done = _launch(tmp_path)
    assert (done.returncode, done.stdout) == (0, "to standard output\n")


def test_a_full_volume_stops_nothing() -> None:
    log = VolumeLog(Path("/dev/full"))
    for _ in range(1000):
        log.write(b"x" * 1000)
    log.close()


def test_a_slow_volume_costs_lines_and_not_time(tmp_path: Path) -> None:
    fifo = tmp_path / "hangs"
    os.mkfifo(fifo)
    log = VolumeLog(fifo)  # opening it waits for a reader
    for _ in range(10_000):
        log.write(b"x" * 1000)
    os.close(os.open(fifo, os.O_RDONLY | os.O_NONBLOCK))  # it hangs no longer
    log.close()


def test_a_large_log_keeps_its_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(volume_log, "_MOST_BYTES", 1000)
    monkeypatch.setattr(volume_log, "_CLOSE_SECONDS", PATIENT_SECONDS)
    log = VolumeLog(tmp_path / "worker-0.1.log")
    for number in range(35):
        log.write(f"{number:99}\n".encode())
    log.close()
    kept = (tmp_path / "worker-0.1.log.old").read_text() + (tmp_path / "worker-0.1.log").read_text()
    assert [int(line) for line in kept.splitlines()] == list(range(20, 35))
