"""A program whose fits have ended, or were stopped, goes on after a restart as if it had not been interrupted."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

import tensorplane
from tensorplane import callbacks, step_record

_X = np.random.default_rng(0).normal(size=(20, 3)).astype("float32")
_Y = _X[:, :1] * 2
_Program = Callable[..., list[Any]]


class _Fails(keras.callbacks.Callback):  # type: ignore[misc]  # Keras has no types
    """Fails at the given call of a method."""

    def __init__(self, method: str, number: int) -> None:
        super().__init__()
        left = iter(range(number - 1, -1, -1))

        def called(*_: Any, **__: Any) -> None:
            if next(left, -1) == 0:
                raise KeyboardInterrupt

        setattr(self, method, called)


def _assert_interrupted_is_whole(program: _Program, folder: Path, fails: _Fails) -> None:
    """A program ends alike whether or not a callback of its last fit has failed."""
    ends = []
    for name, others in [("whole", []), ("run", [fails]), ("run", [])]:
        callbacks._used.clear()
        keras.utils.set_random_seed(1)
        try:
            ends.append(program(folder / name, *others))
        except KeyboardInterrupt:
            ends.append([])
    whole, interrupted, resumed = map(repr, ends)
    assert interrupted == "[]"
    assert resumed == whole


def _model() -> Any:
    model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(4, "tanh"), keras.layers.Dense(1)])
    model.compile(keras.optimizers.Adam(0.05), "mse")
    return model


def _samples() -> tf.data.Dataset:
    return tf.data.Dataset.from_tensor_slices((_X, _Y))


class _Halves(keras.callbacks.Callback):  # type: ignore[misc]  # Keras has no types
    """Draws after each epoch, and halves weights as training ends."""

    def __init__(self) -> None:
        super().__init__()
        self.ended: list[int] = []

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        self.model(tf.random.normal([2, 3]))

    def on_train_end(self, logs: Any = None) -> None:
        self.ended.append(int(self.model.optimizer.iterations))
        kernel = self.model.layers[-1].kernel
        kernel.assign(kernel * 0.5)


def test_a_finished_fit_leaves_model_callbacks_and_seeds_as_it_did_before_a_restart(tmp_path: Path) -> None:
    def program(folder: Path, *others: Any) -> list[Any]:
        model, halves = _model(), _Halves()
        tensorplane.fit(model, _samples().batch(5), epochs=2, callbacks=[halves], folder=folder, name="first")
        between = model.get_weights()
        data = _samples().shuffle(20).batch(5)
        order = [y.numpy().ravel() for _, y in data]
        tensorplane.fit(model, data, epochs=2, callbacks=others, folder=folder, every_steps=3, name="second")
        return [halves.ended, between, order, model.get_weights()]

    _assert_interrupted_is_whole(program, tmp_path, _Fails("on_train_batch_end", 6))


class _Stops(keras.callbacks.Callback):  # type: ignore[misc]  # Keras has no types
    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        self.model.stop_training = self.model.optimizer.iterations == 6


@pytest.mark.parametrize("call", [4, 5])
def test_training_that_a_callback_has_stopped_within_an_epoch_stays_stopped(tmp_path: Path, call: int) -> None:
    def program(folder: Path, *others: Any) -> list[Any]:
        model, data = _model(), _samples().shuffle(20, seed=3).batch(5)
        stops = [_Stops(), *others]
        validation = _samples().batch(10)
        first = tensorplane.fit(
            model, data, epochs=4, validation_data=validation, callbacks=stops, folder=folder, every_steps=2, name="1"
        )
        second = tensorplane.fit(model, data, epochs=1, folder=folder, name="2")
        return [first.history, second.history, model.get_weights()]

    _assert_interrupted_is_whole(program, tmp_path, _Fails("on_test_batch_end", call - 1))


def _repeated() -> tf.data.Dataset:
    return _samples().shuffle(20, seed=3).repeat(2)


def _shuffled_files() -> tf.data.Dataset:
    files = tf.data.Dataset.from_tensor_slices(np.arange(4)).shuffle(4, seed=2)
    rows = files.interleave(lambda file: _samples().skip(file * 5).take(5), cycle_length=2)
    return rows.repeat(2).shuffle(8, seed=3)


def _read_by_a_function() -> tf.data.Dataset:
    shuffled = _samples().shuffle(20, seed=3)
    return tf.data.Dataset.range(2).flat_map(lambda _: shuffled)


@pytest.mark.parametrize("data", [_repeated, _shuffled_files, _read_by_a_function])
def test_shuffles_that_an_epoch_begins_more_than_once_go_on_in_their_order(
    tmp_path: Path, data: Callable[[], tf.data.Dataset]
) -> None:
    def program(folder: Path, *others: Any) -> list[Any]:
        model = _model()
        tensorplane.fit(model, data().batch(5), epochs=3, callbacks=others, folder=folder, every_steps=3)
        return list(model.get_weights())

    _assert_interrupted_is_whole(program, tmp_path, _Fails("on_train_batch_end", 20))


class _Scores(keras.callbacks.Callback):  # type: ignore[misc]  # Keras has no types
    def __init__(self, data: tf.data.Dataset) -> None:
        super().__init__()
        self.data = data

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        self.model.evaluate(self.data, verbose=0)


def test_a_callback_that_reads_the_shuffled_data_of_training_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = _samples().shuffle(20, seed=3).batch(5)
    others = [_samples().batch(5), _samples().shuffle(20, seed=3).batch(5), data.take(1)]
    for number, scored in enumerate(others):
        scores = [_Scores(scored)]
        folder = tmp_path / str(number)
        tensorplane.fit(_model(), data, epochs=2, validation_data=data, callbacks=scores, folder=folder)
        told = [line for line in capsys.readouterr().err.splitlines() if "is read outside of training too" in line]
        assert len(told) == (scored is others[-1])


class _Dates(keras.callbacks.Callback):  # type: ignore[misc]
    """Takes the time of a file's last change before each batch of a validation, and sets it back."""

    def __init__(self, file: Path) -> None:
        super().__init__()
        self.found: list[bool] = []
        self._file = file

    def on_test_batch_begin(self, batch: int, logs: Any = None) -> None:
        self.found.append(self._file.stat().st_mtime > 0)
        os.utime(self._file, (0, 0))


def test_each_batch_of_a_validation_is_progress_and_no_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    record = tmp_path / "steps"
    monkeypatch.setenv(step_record.VARIABLE, str(record))
    dates, data = _Dates(record), _samples().batch(10)
    tensorplane.fit(_model(), data, validation_data=_samples().batch(4), epochs=1, callbacks=[dates], verbose=0)
    assert dates.found == [True] * 5
    assert step_record.read(record) == "trained 2"
