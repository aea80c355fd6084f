"""Checkpoints are whole or absent, hold the values of their step, and are only loaded if every byte is as written."""

from __future__ import annotations

import contextlib
import random
import shutil
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

from tensorplane.checkpoints import host_copy
from tensorplane.checkpoints.checkpointer import Checkpointer, Checkpoints, OtherModel, UnreadableCheckpoints
from tensorplane.checkpoints.files import CheckpointFiles
from tensorplane.checkpoints.follow import follow
from tensorplane.checkpoints.run_folder import RunFolder, TakenOver
from tensorplane.cluster import Place
from tests.support import counts
from tests.support.interrupted import CHANGES, Killed, interrupted
from tests.support.waiting import PATIENT_SECONDS


class _State:
    """A run's variables."""

    def __init__(self) -> None:
        self.step = tf.Variable(0, dtype=tf.int64)
        self.weights = tf.Variable(tf.zeros([1000]))

    def train(self, to: int) -> None:
        while int(self.step) < to:
            self.step.assign_add(1)
            self.weights.assign_add(tf.random.stateless_normal([1000], seed=[1, int(self.step)]))

    def checkpointer(self, folder: Path, **options: object) -> Checkpointer:
        return Checkpointer(folder, Place(), step=self.step, weights=self.weights, **options)  # type: ignore[arg-type]

    @property
    def bits(self) -> bytes:
        return bytes(self.weights.numpy().tobytes())


def _trained(to: int) -> bytes:
    state = _State()
    state.train(to)
    return state.bits


def _with_checkpoints(folder: Path, *steps: int) -> None:
    state = _State()
    checkpoints = state.checkpointer(folder)
    for step in steps:
        state.train(step)
        checkpoints.save(step)
    checkpoints.close()


def test_checkpoint_has_the_values_of_its_step_although_training_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = threading.Event()
    write = host_copy.HostCopy.write

    def slow(copied: host_copy.HostCopy, prefix: Path) -> None:
        assert held.wait(PATIENT_SECONDS)
        write(copied, prefix)

    monkeypatch.setattr(host_copy.HostCopy, "write", slow)
    state = _State()
    checkpoints = state.checkpointer(tmp_path)
    state.train(5)
    checkpoints.save(5)
    assert CheckpointFiles(tmp_path).steps() == []
    state.train(9)
    held.set()
    checkpoints.close()
    restored = _State()
    assert restored.checkpointer(tmp_path).restore() == 5
    assert int(restored.step) == 5
    assert restored.bits == _trained(5)


def test_newest_checkpoints_stay(tmp_path: Path) -> None:
    _with_checkpoints(tmp_path, 1, 2, 3, 4, 5)
    assert CheckpointFiles(tmp_path).steps() == [5, 4, 3]
    assert tf.train.latest_checkpoint(str(tmp_path)) == str(tmp_path / "ckpt-5"), "for readers without the library"
    assert [path.name for path in tmp_path.glob("*.data-*")].__len__() == 3


def test_new_run_has_nothing_to_restore(tmp_path: Path) -> None:
    assert _State().checkpointer(tmp_path / "new").restore() is None


def test_error_of_a_write_is_raised_by_the_next_call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(host_copy.HostCopy, "write", full)
    checkpoints = _State().checkpointer(tmp_path)
    checkpoints.save(1)
    with pytest.raises(OSError, match="No space left"):
        checkpoints.save(2)


def test_former_writer_gets_an_error_and_creates_nothing(tmp_path: Path) -> None:
    former = RunFolder(tmp_path / "digits-1").take_over("1.0")
    checkpoints = _State().checkpointer(former)
    checkpoints.save(1)
    checkpoints.flush()
    current = RunFolder(tmp_path / "digits-1").take_over("1.0")
    checkpoints.save(2)
    with pytest.raises(TakenOver, match="another gang"):
        checkpoints.flush()
    assert not former.exists()
    assert CheckpointFiles(current).steps() == [1]


_PLACES = counts.of(quick=1, nightly=100)
_DAMAGE: list[Callable[[bytes, int], bytes]] = [
    lambda content, at: content[:at],
    lambda content, at: content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :],
    lambda content, at: content[:at] + bytes(len(content) - at),
    lambda content, at: bytes(len(content)),
]


@pytest.mark.counted
@pytest.mark.parametrize("damage", _DAMAGE, ids=["cut off", "one bit", "zeros at the end", "zeros"])
@pytest.mark.parametrize("index", [False, True])
def test_no_other_value_than_the_saved_one_is_ever_restored(
    tmp_path: Path, damage: Callable[[bytes, int], bytes], index: bool
) -> None:
    _with_checkpoints(tmp_path / "whole", 3, 4)
    chance = random.Random(counts.seed())
    for number in range(_PLACES):
        folder = tmp_path / f"{number}"
        shutil.copytree(tmp_path / "whole", folder)
        path = folder / ("ckpt-4.index" if index else "ckpt-4.data-00000-of-00001")
        content = path.read_bytes()
        damaged = damage(content, chance.randrange(len(content)))
        path.write_bytes(damaged)
        state = _State()
        # A changed byte of the index may be padding, which has no meaning; and what ends with zeros may be whole.
        step = state.checkpointer(folder).restore()
        assert step == 3 or (step == 4 and (index or damaged == content))
        assert state.bits == _trained(step)


def test_missing_data_is_reported_and_the_checkpoint_before_is_used(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _with_checkpoints(tmp_path, 3, 4)
    (tmp_path / "ckpt-4.data-00000-of-00001").unlink()
    assert _State().checkpointer(tmp_path).restore() == 3
    (line,) = [line for line in capsys.readouterr().out.splitlines() if "damaged" in line]
    assert line.startswith(f"tensorplane: checkpoint {tmp_path / 'ckpt-4'} is not used")


def test_run_without_one_readable_checkpoint_does_not_begin_again(tmp_path: Path) -> None:
    _with_checkpoints(tmp_path, 3)
    (tmp_path / "ckpt-3.index").write_bytes(b"")
    with pytest.raises(UnreadableCheckpoints, match="restore the volume from a snapshot"):
        _State().checkpointer(tmp_path).restore()


def test_damaged_checkpoint_is_replaced_when_its_step_is_reached_again(tmp_path: Path) -> None:
    _with_checkpoints(tmp_path, 3, 4)
    (tmp_path / "ckpt-4.data-00000-of-00001").write_bytes(b"torn")
    _with_checkpoints(tmp_path, 4)
    state = _State()
    assert state.checkpointer(tmp_path).restore() == 4
    assert state.bits == _trained(4)


@pytest.mark.parametrize("call", range(1, 15))
def test_save_that_is_cut_off_anywhere_leaves_a_whole_checkpoint(tmp_path: Path, call: int) -> None:
    _with_checkpoints(tmp_path, 1, 2, 3)
    state = _State()
    state.train(4)
    checkpoints = state.checkpointer(tmp_path, asynchronous=False)
    with interrupted(call, calls=(*CHANGES, "fsync")), contextlib.suppress(Killed):
        checkpoints.save(4)
    again = _State()
    step = again.checkpointer(tmp_path).restore()
    assert step == 3 or step == 4
    assert again.bits == _trained(step)


def test_due_follows_multiples_of_the_interval_wherever_saves_came(tmp_path: Path) -> None:
    checkpoints = _State().checkpointer(tmp_path, every_steps=10)
    assert [step for step in range(1, 31) if checkpoints.due(step)] == list(range(10, 31))
    checkpoints.save(10)
    assert not checkpoints.due(19)
    checkpoints.save(17)
    assert checkpoints.next_due == 20
    # Several steps per call of `fit` need not stop at a multiple.
    assert checkpoints.due(22)
    checkpoints.close()


def test_interval_and_folder_are_those_of_the_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CHECKPOINT_DIR", str(tmp_path / "run"))
    monkeypatch.setenv("CHECKPOINT_STEPS", "7")
    state = _State()
    checkpoints = Checkpointer(step=state.step, weights=state.weights)
    assert checkpoints.next_due == 7
    checkpoints.save(7)
    checkpoints.close()
    assert CheckpointFiles(tmp_path / "run").steps() == [7]


def test_without_a_folder_nothing_is_saved_and_one_line_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("CHECKPOINT_DIR", raising=False)
    checkpoints = Checkpointer(step=tf.Variable(0))
    assert checkpoints.restore() is None
    assert not checkpoints.due(1000)
    checkpoints.save(1000)
    checkpoints.close()
    assert capsys.readouterr().out == (
        "tensorplane: CHECKPOINT_DIR is not set, so this run saves no checkpoints; "
        "set checkpoints in the job's settings, or pass folder\n"
    )


def test_callback_sees_the_saved_state(tmp_path: Path) -> None:
    state, seen = _State(), list[tuple[list[int], int]]()
    checkpoints = state.checkpointer(
        tmp_path, saved=lambda: seen.append((CheckpointFiles(tmp_path).steps(), int(state.step)))
    )
    state.train(2)
    checkpoints.save(2)
    assert seen == [([2], 2)]


def test_checkpoints_of_earlier_versions_are_continued(tmp_path: Path) -> None:
    state = _State()
    state.train(6)
    manager = tf.train.CheckpointManager(
        tf.train.Checkpoint(step=state.step, weights=state.weights), str(tmp_path), max_to_keep=3
    )
    manager.save(checkpoint_number=6)
    current = _State()
    assert current.checkpointer(tmp_path).restore() == 6
    assert current.bits == _trained(6)


def test_the_weights_of_each_new_checkpoint_are_followed(tmp_path: Path) -> None:
    trained, other = (keras.Sequential([keras.Input((1,)), keras.layers.Dense(units)]) for units in (1, 2))
    read = keras.models.clone_model(trained)
    step = tf.Variable(0)
    saving = Checkpointer(tmp_path, Place(), asynchronous=False, model=trained, step=step)
    followed = follow(read, tmp_path, look_seconds=0.01)
    for number in (5, 9):
        trained.set_weights([np.full((1, 1), number), np.zeros(1)])
        saving.save(number)
        assert next(followed) == number
        assert read.get_weights()[0] == number
    with pytest.raises(OtherModel, match="ckpt-9: "):
        next(follow(other, tmp_path))


def test_programs_of_earlier_versions_save_at_once_and_restore_to_a_truth(tmp_path: Path) -> None:
    state = _State()
    former = Checkpoints(tmp_path, Place(), step=state.step, weights=state.weights)
    assert former.restore() is False
    state.train(3)
    former.save(3)
    assert CheckpointFiles(tmp_path).steps() == [3]
    newest = tf.train.latest_checkpoint(str(tmp_path))
    tf.train.Checkpoint(step=state.step, weights=state.weights).restore(newest).assert_consumed()
    assert former.restore() is True


def test_tensorflow_without_its_private_parts_saves_in_the_call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "tensorflow.python.checkpoint", None)
    state = _State()
    state.train(2)
    checkpoints = state.checkpointer(tmp_path)
    checkpoints.save(2)
    assert CheckpointFiles(tmp_path).steps() == [2]
    again = _State()
    assert again.checkpointer(tmp_path).restore() == 2
    assert again.bits == _trained(2)


@pytest.mark.parametrize("below", ["", "second-model"])
def test_a_writer_that_wakes_up_late_does_not_create_its_folder_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, below: str
) -> None:
    run = RunFolder(tmp_path / "digits-1")
    former = run.take_over("1.0")
    run.take_over("1.0")
    monkeypatch.setenv("TENSORPLANE_RUN", str(tmp_path / "digits-1"))
    monkeypatch.setenv("CHECKPOINT_DIR", str(former))
    with pytest.raises(TakenOver):
        Checkpointer(former / below, Place(), step=tf.Variable(0))
    assert not former.parent.exists()
    current = run.take_over("1.0")
    monkeypatch.setenv("CHECKPOINT_DIR", str(current))
    Checkpointer(current / below, Place(), step=tf.Variable(0)).close()
    assert (current / below).is_dir()


@pytest.mark.parametrize(
    "shapes",
    [{}, {"weights": [7]}, {"weights": [1000], "more": [1]}],
    ids=["less", "another shape", "more"],
)
def test_the_checkpoint_of_another_model_is_one_line_with_a_remedy(
    tmp_path: Path, shapes: dict[str, list[int]]
) -> None:
    _with_checkpoints(tmp_path, 5)
    state: dict[str, Any] = {name: tf.Variable(tf.zeros(shape)) for name, shape in shapes.items()}
    checkpoints = Checkpointer(tmp_path, Place(), step=tf.Variable(0, dtype=tf.int64), **state)
    with pytest.raises(OtherModel, match=r"ckpt-5: the checkpoint is of another model .*; restore the former program"):
        checkpoints.restore()
