"""Data that ends within a run: a request to stop makes it a clean end, anything else is an error."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event

import pytest
import tensorflow as tf

from tensorplane.checkpoints.checkpointer import Checkpoints
from tensorplane.cluster import Place
from tensorplane.loop import Loop
from tensorplane.schedule import Schedule
from tensorplane.stop import EXIT_SAVED, StopRequest
from tests.support.waiting import PATIENT_SECONDS


class _Stop(StopRequest):
    """A request that came, or did not. The real one would block SIGTERM in every program that the tests start."""

    def __init__(self, *, came: bool) -> None:
        self._request_came = came

    @property
    def came(self) -> bool:
        return self._request_came

    @contextmanager
    def deferred(self) -> Iterator[None]:
        yield


def _run(folder: Path, *, examples: int, came: bool) -> list[int]:
    """Trains 20 steps on so many examples; the steps that were saved."""
    step, saves = tf.Variable(0, dtype=tf.int64), list[int]()
    checkpoints = Checkpoints(folder, Place(), saved=lambda: saves.append(int(step)), step=step)
    loop = Loop(tf.distribute.get_strategy(), Place(), lambda number: tf.cast(number, tf.float32), step)
    data = tf.data.Dataset.range(examples).map(lambda number: (number,))
    try:
        loop.run(data, Schedule(20, 4), checkpoints, _Stop(came=came))
    except SystemExit as ended:
        assert came and ended.code == EXIT_SAVED
    return saves


def test_data_that_ends_by_itself_before_the_last_step_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(tf.errors.OutOfRangeError):
        _run(tmp_path, examples=10, came=False)


def test_data_that_ends_at_a_request_to_stop_is_an_end_that_goes_on_later(tmp_path: Path) -> None:
    assert _run(tmp_path, examples=2, came=True) == []


def test_each_save_is_told(tmp_path: Path) -> None:
    assert _run(tmp_path, examples=20, came=False) == [4, 8, 12, 16, 20]


def test_training_returns_while_the_pipeline_has_not_ended(tmp_path: Path) -> None:
    ending, may_end = Event(), Event()

    def examples() -> Iterator[tuple[int]]:
        try:
            while True:
                yield (1,)
        finally:
            ending.set()
            may_end.wait()

    step = tf.Variable(0, dtype=tf.int64)
    loop = Loop(tf.distribute.get_strategy(), Place(), lambda number: tf.cast(number, tf.float32), step)
    data = tf.data.Dataset.from_generator(examples, output_signature=(tf.TensorSpec([], tf.int64),))
    try:
        loop.run(data, Schedule(20), Checkpoints(tmp_path, Place(), step=step), _Stop(came=False))
        assert ending.wait(PATIENT_SECONDS)
    finally:
        may_end.set()
    assert int(step) == 20
