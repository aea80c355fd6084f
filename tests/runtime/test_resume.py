"""A run that is stopped or killed, and started again, ends with the very bits of a run that nobody touched."""

from __future__ import annotations

import signal
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

from tensorplane.stop import EXIT_SAVED
from tests.runtime.launching import Program, Workers

_SETTINGS = {"STEPS": "300", "CHECKPOINT_STEPS": "50"}
"""Short, and with enough saves that a kill comes between two of them."""


@pytest.fixture
def program(tmp_path: Path) -> Program:
    return Program(tmp_path)


def _final(folder: Path) -> dict[str, np.ndarray]:
    """Everything in the newest checkpoint but the count of saves, which a restart may well change."""
    newest = tf.train.latest_checkpoint(str(folder))
    assert newest and newest.endswith("-300"), f"the run ended at {newest}"
    reader = tf.train.load_checkpoint(newest)
    names = sorted(reader.get_variable_to_shape_map())
    return {
        name: reader.get_tensor(name)
        for name in names
        if "save_counter" not in name and name != "_CHECKPOINTABLE_OBJECT_GRAPH"
    }


def assert_same_bits(one: Path, other: Path) -> None:
    """Two runs ended with the same bits in all variables."""
    first, second = _final(one), _final(other)
    assert first.keys() == second.keys()
    assert len(first) > 20, "model and optimizer are both in a checkpoint"
    different = [name for name in first if first[name].tobytes() != second[name].tobytes()]
    assert different == []


def _kill(workers: Workers) -> None:
    for process in workers.processes:
        process.send_signal(signal.SIGKILL)
    assert workers.finish() == [-signal.SIGKILL] * len(workers.processes)


def test_one_process_resumes_to_the_bit_after_kill(program: Program) -> None:
    with program.run("whole", settings=_SETTINGS) as whole:
        assert whole.finish() == [0], whole.output
    with program.run("killed", settings=_SETTINGS, hold_after="step=150 ") as killed:
        killed.until("step=150 ")
        _kill(killed)
    with program.run("killed", settings=_SETTINGS) as again:
        start = again.until("resumed=")
        assert again.finish() == [0], again.output
    assert "resumed=True" in start and "step=0 " not in start
    assert "accuracy=0.9" in again.output
    assert_same_bits(program.checkpoints("whole"), program.checkpoints("killed"))


def test_two_workers_resume_to_the_bit_after_sigterm_and_after_kill(program: Program) -> None:
    with program.run("whole", workers=2, settings=_SETTINGS) as whole:
        assert whole.finish() == [0, 0], whole.output

    with program.run("stopped", workers=2, settings=_SETTINGS, hold_after="step=50 ") as stopped:
        stopped.until("step=50 ")
        # One worker is asked to go, as when its node is drained; both must save and leave together.
        stopped.processes[1].send_signal(signal.SIGTERM)
        stopped.go()
        assert stopped.finish() == [EXIT_SAVED, EXIT_SAVED], stopped.output
    assert "stopped=" in stopped.output

    with program.run("stopped", workers=2, settings=_SETTINGS, hold_after="saved=200 ") as killed:
        assert "resumed=True" in killed.until("resumed=")
        killed.until("saved=200")
        _kill(killed)

    with program.run("stopped", workers=2, settings=_SETTINGS) as again:
        assert "resumed=True" in again.until("resumed=")
        assert again.finish() == [0, 0], again.output
    assert_same_bits(program.checkpoints("whole"), program.checkpoints("stopped"))


def test_a_finished_run_that_is_started_again_publishes_no_second_version(program: Program) -> None:
    for _ in range(2):
        with program.run("twice", settings={"STEPS": "50", "CHECKPOINT_STEPS": "50"}) as workers:
            assert workers.finish() == [0], workers.output
            assert "version=1 " in workers.output
    versions = [path.name for path in (program.folder / "models" / "twice").iterdir()]
    assert versions == ["1"]


def test_sigterm_before_the_first_step_ends_the_process_without_waiting_for_one(program: Program) -> None:
    with program.run("early", settings=_SETTINGS, hold_after="started ") as workers:
        workers.until("started")
        workers.processes[0].terminate()
        assert workers.finish() == [EXIT_SAVED]
    assert "workers=1" not in workers.output
    assert not program.checkpoints("early").exists()
