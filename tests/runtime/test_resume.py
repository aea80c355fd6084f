"""A run that is stopped or killed, and started again, ends with the very bits of a run that nobody touched."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

from tensorplane.stop import EXIT_SAVED
from tests.runtime.launching import Program, of_library
from tests.support.waiting import eventually

_STEPS, _EVERY = 150, 25
_SETTINGS = {"STEPS": str(_STEPS), "CHECKPOINT_STEPS": str(_EVERY)}
"""Short, and with enough saves that a kill comes between two of them."""


@pytest.fixture
def program(tmp_path: Path) -> Program:
    return Program(tmp_path)


def _final(folder: Path, steps: int) -> dict[str, np.ndarray]:
    """Everything in the newest checkpoint but the count of saves, which a restart may well change."""
    newest = tf.train.latest_checkpoint(str(folder))
    assert newest and newest.endswith(f"-{steps}"), f"the run ended at {newest}"
    reader = tf.train.load_checkpoint(newest)
    names = sorted(reader.get_variable_to_shape_map())
    return {
        name: reader.get_tensor(name)
        for name in names
        if "save_counter" not in name and name != "_CHECKPOINTABLE_OBJECT_GRAPH"
    }


def assert_same_bits(one: Path, other: Path, steps: int) -> None:
    """Two runs ended after these steps with the same bits in all variables."""
    first, second = _final(one, steps), _final(other, steps)
    assert first.keys() == second.keys()
    assert len(first) > 20, "model and optimizer are both in a checkpoint"
    different = [name for name in first if first[name].tobytes() != second[name].tobytes()]
    assert different == []


@pytest.mark.nightly("told by the test of two workers; but here one start imports TensorFlow itself")
def test_one_process_resumes_to_the_bit_after_kill(program: Program) -> None:
    with program.run("whole", settings=_SETTINGS) as whole:
        assert whole.finish() == [0], whole.output
    with program.run("killed", settings=_SETTINGS, hold_after=f"step={_STEPS // 2} ") as killed:
        killed.until(f"step={_STEPS // 2} ")
        killed.kill()
    # In a process that imports TensorFlow itself, with another seed of Python's hashes: nothing follows from them.
    variables = program.variables("killed") | _SETTINGS
    again = subprocess.run(
        [sys.executable, "train.py"],
        cwd=program.folder,
        env=of_library(**variables),
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    ).stdout
    assert "resumed=True" in again and f"step=0 steps={_STEPS}" not in again
    assert "accuracy=0.9" in again
    assert_same_bits(program.checkpoints("whole"), program.checkpoints("killed"), _STEPS)


def test_two_workers_resume_to_the_bit_after_sigterm_and_after_kill(program: Program) -> None:
    with program.run("whole", workers=2, settings=_SETTINGS) as whole:
        assert whole.finish() == [0, 0], whole.output

    with program.run("stopped", workers=2, settings=_SETTINGS, hold_after=f"step={_EVERY} ") as stopped:
        stopped.until(f"step={_EVERY} ")
        # One worker is asked to go, as when its node is drained; both must save and leave together.
        other = stopped.processes[1]
        other.send_signal(signal.SIGTERM)
        eventually(lambda: not _is_pending(other.pid, signal.SIGTERM))
        stopped.go()
        assert stopped.finish() == [EXIT_SAVED, EXIT_SAVED], stopped.output
    assert "stopped=" in stopped.output

    with program.run("stopped", workers=2, settings=_SETTINGS, hold_after="saved=") as killed:
        assert "resumed=True" in killed.until("resumed=")
        killed.until("saved=")
        killed.kill()

    # The second start trains no more, and publishes no second version.
    for _ in range(2):
        with program.run("stopped", workers=2, settings=_SETTINGS) as again:
            assert "resumed=True" in again.until("resumed=")
            assert again.finish() == [0, 0], again.output
        assert "version=1 " in again.output
        assert_same_bits(program.checkpoints("whole"), program.checkpoints("stopped"), _STEPS)
    assert [path.name for path in (program.folder / "models" / "stopped").iterdir()] == ["1"]


def _is_pending(pid: int, number: int) -> bool:
    """Whether no thread of the process has taken the signal yet."""
    found = re.search(r"^ShdPnd:\s*(\w+)", Path(f"/proc/{pid}/status").read_text(), re.MULTILINE)
    assert found
    return bool(int(found[1], 16) >> (number - 1) & 1)


def test_sigterm_before_the_first_step_ends_the_process_without_waiting_for_one(program: Program) -> None:
    with program.run("early", settings=_SETTINGS, hold_after="started ") as workers:
        workers.until("started")
        workers.processes[0].send_signal(signal.SIGTERM)
        assert workers.finish() == [EXIT_SAVED]
    assert "workers=1" not in workers.output
    assert not program.checkpoints("early").exists()
