"""A `fit` in this process that is asked to stop, and is called again."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import keras
import numpy as np
import pytest
import tensorflow as tf

import tensorplane
from tensorplane import callbacks
from tensorplane.stop import EXIT_SAVED, StopRequest
from tests.runtime import two_replicas

_X = np.random.default_rng(0).normal(size=(20, 3)).astype("float32")
_Y = _X[:, :1] * 2


class _At(keras.callbacks.Callback):  # type: ignore[misc]  # Keras has no types
    """Calls a function at the given call of a method."""

    def __init__(self, method: str, number: int, act: Callable[[], None]) -> None:
        super().__init__()
        calls = itertools.count(1)

        def called(*_: Any, **__: Any) -> None:
            if next(calls) == number:
                act()

        setattr(self, method, called)


@pytest.fixture
def stop(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """What `came` says; SIGTERM itself would come once for all tests."""
    came: list[bool] = []
    monkeypatch.setattr(StopRequest, "came", property(lambda self: bool(came)))
    return came


def _model(strategy: tf.distribute.Strategy) -> Any:
    keras.utils.set_random_seed(1)
    with strategy.scope():
        model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(4, "tanh"), keras.layers.Dense(1)])
        model.compile(keras.optimizers.Adam(0.05), "mse")
    return model


def _fit(folder: Path, strategy: tf.distribute.Strategy, *others: Any) -> np.ndarray:
    """The weights after three epochs of four steps, with validation."""
    model = _model(strategy)
    data = tf.data.Dataset.from_tensor_slices((_X, _Y)).shuffle(20, seed=3).batch(5)
    validation = tf.data.Dataset.from_tensor_slices((_X, _Y)).batch(5)
    tensorplane.fit(model, data, epochs=3, validation_data=validation, callbacks=others, folder=folder)
    return np.concatenate([weight.ravel() for weight in model.get_weights()])


_NIGHTLY = pytest.mark.nightly("three fits; `make test` has the end of an epoch, and a validation on two replicas")
_STOPS = [("on_train_batch_end", 4), ("on_test_batch_end", 2), ("on_train_batch_end", 7), ("on_test_batch_end", 8)]
_QUICK = [(*_STOPS[0], 1), (*_STOPS[1], 2)]
_LATER = [(*stop, replicas) for stop in _STOPS for replicas in (1, 2) if (*stop, replicas) not in _QUICK]


@pytest.mark.parametrize(
    ("method", "number", "replicas"), [*_QUICK, *(pytest.param(*each, marks=_NIGHTLY) for each in _LATER)]
)
def test_stop_at_an_epochs_end_and_in_validation_changes_no_bit(
    tmp_path: Path, stop: list[bool], method: str, number: int, replicas: int
) -> None:
    strategy = two_replicas.strategy() if replicas == 2 else tf.distribute.get_strategy()
    whole = _fit(tmp_path / "whole", strategy)
    with pytest.raises(SystemExit) as ended:
        _fit(tmp_path / "run", strategy, _At(method, number, lambda: stop.append(True)))
    assert ended.value.code == EXIT_SAVED
    stop.clear()
    # As in another process.
    callbacks._used.clear()
    assert np.array_equal(_fit(tmp_path / "run", strategy), whole)


def test_a_fit_killed_after_the_save_of_an_epochs_end_keeps_the_epochs_history(tmp_path: Path) -> None:
    def fit(*others: Any) -> list[float]:
        data = tf.data.Dataset.from_tensor_slices((_X, _Y)).batch(5)
        model = _model(tf.distribute.get_strategy())
        history = tensorplane.fit(model, data, epochs=3, folder=tmp_path, every_steps=4, callbacks=others)
        return list(history.history["loss"])

    def fail() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fit(_At("on_train_batch_end", 10, fail))
    callbacks._used.clear()
    assert len(fit(_At("on_train_batch_end", 0, fail))) == 3


def test_a_finished_fit_of_other_epochs_says_that_it_trains_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = []
    for asked in (1, 1, 3):
        callbacks._used.clear()
        tensorplane.fit(_model(tf.distribute.get_strategy()), _X, _Y, epochs=asked, folder=tmp_path)
        said.append([line for line in capsys.readouterr().err.splitlines() if line.startswith("tensorplane: fit: ")])
    line = "tensorplane: fit: it has finished with epochs=1, so epochs=3 trains nothing; "
    assert said == [[], [], [f"{line}pass another name or folder to train anew"]]


def test_a_file_of_csv_logger_has_each_epoch_once_after_a_kill(tmp_path: Path) -> None:
    def fit(folder: str, *others: Any) -> list[str]:
        model, path = _model(tf.distribute.get_strategy()), tmp_path / f"{folder}.csv"
        data = tf.data.Dataset.from_tensor_slices((_X, _Y)).batch(5)
        logger = keras.callbacks.CSVLogger(path)
        tensorplane.fit(model, data, epochs=4, folder=tmp_path / folder, every_steps=7, callbacks=[logger, *others])
        return path.read_text().splitlines()

    def fail() -> None:
        raise KeyboardInterrupt

    whole = fit("whole")
    with pytest.raises(KeyboardInterrupt):
        fit("run", _At("on_train_batch_end", 13, fail))
    callbacks._used.clear()
    assert fit("run") == whole
    callbacks._used.clear()
    assert fit("run") == whole, "a finished fit that is called again leaves its file as it is"


class _Adaptive(keras.losses.Loss):  # type: ignore[misc]  # Keras has no types
    def __init__(self) -> None:
        super().__init__()
        self.weight = keras.Variable(1.0, trainable=False)

    def call(self, y: Any, predicted: Any) -> Any:
        return self.weight * keras.ops.mean(keras.ops.square(y - predicted), -1)


class _Anneals(keras.callbacks.Callback):  # type: ignore[misc]  # Keras has no types
    seen: ClassVar[list[float]] = []

    def __init__(self, loss: Any, shared: list[float]) -> None:
        super().__init__()
        self.loss, self.shared = loss, shared

    def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:
        self.model.optimizer.learning_rate.assign(np.random.uniform(0.01, 0.1) + random.random() / 100)

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        self.loss.weight.assign(self.loss.weight * 0.5)
        self.seen.append(logs["loss"])
        self.shared.append(logs["loss"])


class _Queue:
    """A plain object, which no checkpoint knows."""

    def __init__(self) -> None:
        self.mean = tf.Variable(tf.zeros([4]), trainable=False, aggregation=tf.VariableAggregation.MEAN)


class _Moved(keras.layers.Layer):  # type: ignore[misc]  # Keras has no types
    def __init__(self, queue: Any) -> None:
        super().__init__()
        self.queue = queue

    def call(self, x: Any, training: bool = False) -> Any:
        if training:
            self.queue.mean.assign(0.9 * self.queue.mean + 0.1 * tf.reduce_mean(x, 0))
        return x - tf.stop_gradient(self.queue.mean)


def _assert_interrupted_is_whole(fit: Callable[..., list[Any]], at_batch: int) -> None:
    """A fit in a folder, with more callbacks, ends alike whether or not it was interrupted as a batch began."""

    def fail() -> None:
        raise KeyboardInterrupt

    whole = fit("whole")
    with pytest.raises(KeyboardInterrupt):
        fit("run", _At("on_train_batch_begin", at_batch, fail))
    callbacks._used.clear()
    assert repr(fit("run")) == repr(whole)


def test_state_outside_of_model_and_optimizer_is_that_of_a_fit_that_was_not_killed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def fit(folder: str, *others: Any) -> list[Any]:
        keras.utils.set_random_seed(1)
        _Anneals.seen.clear()
        shared: list[float] = []
        loss, beta = _Adaptive(), tf.Variable(0.0, trainable=False)
        layers = [keras.Input((3,)), keras.layers.Dense(4, "tanh"), _Moved(_Queue()), keras.layers.Dense(1)]
        model = keras.Sequential(layers)
        model.compile("sgd", lambda y, predicted: loss(y, predicted) + beta * tf.reduce_mean(tf.abs(predicted), -1))
        losses: list[float] = []
        notes = keras.callbacks.LambdaCallback(on_epoch_end=lambda epoch, logs: losses.append(logs["loss"]))
        anneals = keras.callbacks.LambdaCallback(on_epoch_end=lambda epoch, logs: beta.assign_add(0.25))
        data = tf.data.Dataset.from_tensor_slices((_X, _Y)).batch(5)
        all_of = [_Anneals(loss, shared), anneals, notes, *others]
        tensorplane.fit(model, data, epochs=3, callbacks=all_of, folder=tmp_path / folder, every_steps=1)
        return [
            *model.get_weights(),
            float(loss.weight.numpy()),
            float(beta.numpy()),
            shared,
            losses,
            list(_Anneals.seen),
        ]

    _assert_interrupted_is_whole(fit, at_batch=7)
    assert "will be lost" not in capsys.readouterr().err


@pytest.mark.parametrize("outside", [True, False])
def test_variables_outside_of_the_model_are_named_on_several_replicas(
    tmp_path: Path, outside: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    with two_replicas.strategy().scope():
        beta = tf.Variable(1.0, trainable=False)
        model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(1)])
        model.compile("adam", lambda y, predicted: tf.square(y - predicted) * (beta if outside else 1.0))
    tensorplane.fit(model, tf.data.Dataset.from_tensor_slices((_X, _Y)).batch(5), epochs=1, folder=tmp_path)
    told = [line for line in capsys.readouterr().err.splitlines() if line.startswith("tensorplane: train_step: ")]
    assert len(told) == outside, told
    assert all("(training has several replicas)" in line for line in told)


def test_variables_with_which_replicas_exchange_rows_of_a_table_are_not_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with two_replicas.strategy().scope():
        layers = [keras.layers.Embedding(9, 4, mask_zero=True), keras.layers.GRU(3), keras.layers.Dense(1)]
        model = keras.Sequential([keras.Input((5,)), *layers])
        model.compile(keras.optimizers.Adam(clipnorm=1.0), "mse")
    tensorplane.fit(model, np.ones([8, 5], "int32"), np.ones([8, 1]), epochs=1, batch_size=4, folder=tmp_path)
    assert "not attributes of the model" not in capsys.readouterr().err


class Halving(keras.Model):  # type: ignore[misc]  # Keras has no types
    """Has a number that a callback changes."""

    def __init__(self) -> None:
        super().__init__()
        self.out, self.scale = keras.layers.Dense(1), 1.0

    def call(self, x: Any) -> Any:
        return self.out(x) * self.scale


class _Halve(keras.callbacks.Callback):  # type: ignore[misc]  # Keras has no types
    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        self.model.scale *= 0.5


@pytest.mark.parametrize("eagerly", [True, False])
def test_numbers_of_an_eager_model_are_kept_and_those_of_a_compiled_one_are_named(
    tmp_path: Path, eagerly: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    def fit(folder: str, *others: Any) -> list[Any]:
        keras.utils.set_random_seed(1)
        model = Halving()
        model.compile("sgd", "mse", run_eagerly=eagerly)
        data = tf.data.Dataset.from_tensor_slices((_X, _Y)).batch(10)
        halves = [_Halve(), *others]
        tensorplane.fit(model, data, epochs=3, callbacks=halves, folder=tmp_path / folder, every_steps=1)
        return list(model.get_weights())

    _assert_interrupted_is_whole(fit, at_batch=4)
    assert ("model: scale changed during training and will be lost" in capsys.readouterr().err) == (not eagerly)


def test_draws_of_a_train_step_that_no_checkpoint_has_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    class Sampling(keras.layers.Layer):  # type: ignore[misc]  # Keras has no types
        def call(self, x: Any) -> Any:
            return x + tf.random.normal(tf.shape(x))

    for number, layer in enumerate([keras.layers.Dropout(0.1), Sampling()]):
        model = keras.Sequential([keras.Input((3,)), layer, keras.layers.Dense(1)])
        model.compile("sgd", "mse")
        tensorplane.fit(model, _X, _Y, epochs=1, folder=tmp_path / str(number))
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("tensorplane: train_step: the random state of RandomStandardNormal is not saved")


_EXAMPLES = 100
_READ_AHEAD = 11
"""Batches at most, where each part of the pipeline works on two calls, as in these tests."""


def _inputs_fit(folder: Path, *others: Any) -> tuple[list[int], np.ndarray]:
    """The examples that a fit of `tensorplane.dataset` decodes, and the weights after two epochs of twenty steps."""
    decoded: list[int] = []

    def seen_by_python(number: np.ndarray) -> np.ndarray:
        decoded.append(int(number))
        return number

    def load(index: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        seen = tf.numpy_function(seen_by_python, [index], tf.int64)
        value = tf.ensure_shape(tf.cast(seen, tf.float32), [])
        return tf.stack([value, 1.0, -value]) / _EXAMPLES, tf.reshape(value, [1]) / _EXAMPLES

    model = _model(tf.distribute.get_strategy())
    data = tensorplane.dataset(_EXAMPLES, load, global_batch=5, seed=3)
    tensorplane.fit(model, data, epochs=2, callbacks=others, folder=folder)
    return decoded, np.concatenate([weight.ravel() for weight in model.get_weights()])


def test_a_resumed_fit_decodes_nothing_that_it_has_trained_on(
    tmp_path: Path, stop: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tf.data, "AUTOTUNE", 2)  # else it follows the machine's cores
    _, whole = _inputs_fit(tmp_path / "whole")
    with pytest.raises(SystemExit):
        _inputs_fit(tmp_path / "run", _At("on_train_batch_end", 30, lambda: stop.append(True)))
    stop.clear()
    callbacks._used.clear()
    decoded, weights = _inputs_fit(tmp_path / "run")
    assert np.array_equal(weights, whole)
    assert len(decoded) <= (10 + _READ_AHEAD) * 5


def test_sigterm_ends_a_program_whose_fit_has_failed(tmp_path: Path) -> None:
    def fail() -> None:
        raise ValueError("of the program")

    before = StopRequest()._sigterm._blocks
    with pytest.raises(ValueError, match="of the program"):
        _fit(tmp_path, tf.distribute.get_strategy(), _At("on_train_batch_end", 2, fail))
    assert StopRequest()._sigterm._blocks == before, "nothing defers it"
