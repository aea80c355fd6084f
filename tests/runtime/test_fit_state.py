"""What `fit` saves besides model and optimizer."""

from __future__ import annotations

import threading
from collections import Counter, deque
from pathlib import Path
from typing import Any, ClassVar
from unittest.mock import patch

import keras
import numpy as np
import pytest
import tensorflow as tf

import tensorplane
from tensorplane import seeds
from tensorplane.keras import repeatable
from tensorplane.keras.batches import Batches
from tensorplane.keras.fit_state import POSITION, CallbackStates, FitState, LocalMetrics


def test_a_callback_continues_with_the_state_of_the_interrupted_one() -> None:
    def plateau() -> keras.callbacks.Callback:
        callback = keras.callbacks.ReduceLROnPlateau("loss", patience=0, min_delta=0.5, mode="min")
        callback.set_model(keras.Sequential([keras.Input((1,)), keras.layers.Dense(1)]))
        callback.model.compile("sgd", "mse")
        callback.on_train_begin()
        return callback

    interrupted, resumed, state = plateau(), plateau(), FitState()
    ours, theirs = CallbackStates([interrupted]), CallbackStates([resumed])
    interrupted.on_epoch_end(0, {"loss": 1.0})
    state.remember(ours.changed())
    theirs.remind(state.remembered())
    # Keras has inverted min_delta at the first epoch's end: the resumed one must not invert it again.
    assert (resumed.best, resumed.min_delta, resumed.monitor_op) == (1.0, -0.5, keras.ops.less)
    resumed.on_epoch_end(1, {"loss": 0.9})
    assert float(resumed.model.optimizer.learning_rate) == pytest.approx(0.001)


class Counting(keras.callbacks.Callback):  # type: ignore[misc]  # Keras has no types
    def __init__(self) -> None:
        super().__init__()
        self.seen, self.kinds = deque[int](maxlen=2), Counter[Any]()
        self.variable = tf.Variable(0.0)


class Holding(Counting):
    def __init__(self) -> None:
        super().__init__()
        self.lock, self.function, self.names = threading.Lock(), lambda: 0, ["a"]


def test_a_program_with_one_callback_more_gives_each_its_own_state() -> None:
    one, state = Counting(), FitState()
    before = CallbackStates([one])
    one.seen.extend([1, 2, 3])
    one.kinds[(1, 2)] += 1
    one.variable.assign(4.0)
    state.remember(before.changed())
    other, again = Holding(), Counting()
    CallbackStates([other, again]).remind(state.remembered())
    assert (again.seen, again.kinds, float(again.variable)) == (one.seen, one.kinds, 4.0)
    assert again.seen.maxlen == 2 and not other.seen


def test_what_is_not_kept_is_named_and_begins_again() -> None:
    one, other = Holding(), Counting()
    others = CallbackStates([one, other])
    assert others.not_kept() == ["Holding.lock (lock)"]
    others.remind(others.changed())
    assert others.begins_again(one) and not others.begins_again(other)


def test_what_will_be_lost_is_told_before_the_first_step(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    class Told(keras.callbacks.Callback):  # type: ignore[misc]  # Keras has no types
        lines: ClassVar[list[str]] = []

        def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:
            self.lines.extend(capfd.readouterr().err.splitlines())

    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    data = np.ones((4, 2), "float32"), np.ones((4, 1), "float32")
    tensorplane.fit(model, *data, epochs=2, callbacks=[Holding(), Told()], folder=tmp_path)
    told = [line for line in [*Told.lines, *capfd.readouterr().err.splitlines()] if "will be lost" in line]
    assert told == [line for line in Told.lines if "callbacks: Holding.lock (lock): will be lost" in line]
    assert len(told) == 1


def test_the_best_weights_of_bfloat16_come_back() -> None:
    def stopping() -> Any:
        callback = keras.callbacks.EarlyStopping("loss", restore_best_weights=True)
        callback.set_model(keras.Sequential([keras.Input((2,)), keras.layers.Dense(1, dtype="bfloat16")]))
        callback.on_train_begin()
        return callback

    interrupted, resumed, state = stopping(), stopping(), FitState()
    interrupted.on_epoch_end(0, {"loss": 1.0})
    state.remember(CallbackStates([interrupted]).state())
    CallbackStates([resumed]).remind(state.remembered())
    assert [one.dtype.name for one in resumed.best_weights] == ["bfloat16", "bfloat16"]
    assert [one.tobytes() for one in resumed.best_weights] == [one.tobytes() for one in interrupted.best_weights]


_MADE_AGAIN = {
    "LearningRateScheduler": {"schedule"},
    "LambdaCallback": {"on_epoch_end"},
    "CSVLogger": {"writer", "csv_file"},
    "TensorBoard": {"_summary_module", "_writers"},
    "ProgbarLogger": {"progbar"},
}
"""What Keras' own callbacks have that is not kept: they get or open it when training begins."""


def test_keras_own_callbacks_lose_nothing_that_training_has_changed(tmp_path: Path) -> None:
    own = keras.callbacks
    callbacks = [
        own.EarlyStopping("val_loss", restore_best_weights=True),
        own.LearningRateScheduler(lambda epoch, rate: rate),
        own.ReduceLROnPlateau("loss"),
        own.TerminateOnNaN(),
        own.SwapEMAWeights(),
        own.LambdaCallback(on_epoch_end=lambda epoch, logs: None),
        own.ModelCheckpoint(tmp_path / "best.keras", save_best_only=True),
        own.CSVLogger(tmp_path / "log.csv"),
        own.TensorBoard(tmp_path / "events", histogram_freq=1),
        own.BackupAndRestore(tmp_path / "backup"),
        own.ProgbarLogger(),
        own.History(),
    ]
    found: dict[str, set[str]] = {}

    class Look(keras.callbacks.Callback):  # type: ignore[misc]  # Keras has no types
        def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
            for one, entry in zip(callbacks, CallbackStates(callbacks).state(), strict=True):
                found[type(one).__name__] = set(vars(one)) - set(entry) - {"_model", "params", "validation_data"}

    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
    model.compile(keras.optimizers.SGD(use_ema=True), "mse")
    data = np.ones((4, 2), "float32"), np.ones((4, 1), "float32")
    model.fit(*data, epochs=2, verbose=0, callbacks=[*callbacks, Look()], validation_data=data)
    assert found == {type(one).__name__: _MADE_AGAIN.get(type(one).__name__, set()) for one in callbacks}
    assert CallbackStates(callbacks).not_kept() == []


def test_state_of_an_earlier_version_is_given_in_the_order_of_the_callbacks() -> None:
    one, other = keras.callbacks.EarlyStopping(), keras.callbacks.History()
    CallbackStates([one, other]).remind([{"wait": 3}, {"epoch": [0, 1]}])
    assert (one.wait, other.epoch) == (3, [0, 1])
    state = FitState()
    state.position.assign(tf.constant([7, 2, 1, 2, 1, 0], tf.int64))
    assert state.at() == {
        **dict.fromkeys(POSITION, 0),
        "step": 7,
        "epoch": 2,
        "step_in_epoch": 1,
        "iterators": 2,
        "taken": 1,
    }


def test_a_shuffle_without_a_seed_is_refused_and_one_with_a_seed_is_not() -> None:
    tf.random.set_seed(None)
    repeatable.check(tf.data.Dataset.range(9).shuffle(9, seed=1).batch(3))
    with pytest.raises(repeatable.NotRepeatable, match="dataset: ShuffleDataset has no seed"):
        repeatable.check(tf.data.Dataset.range(9).shuffle(9).batch(3))
    with pytest.raises(repeatable.NotRepeatable, match="dataset: RandomUniform has no seed"):
        repeatable.check(tf.data.Dataset.range(9).map(lambda _: tf.random.uniform([])))


def test_draws_in_parallel_calls_are_named_once_and_those_in_order_are_not(capsys: pytest.CaptureFixture[str]) -> None:
    data = tf.data.Dataset.range(9)
    repeatable.check(data.map(lambda _: tf.random.uniform([], seed=3)))
    repeatable.check(data.map(lambda at: tf.random.stateless_uniform([], [at, 1]), num_parallel_calls=2))
    assert capsys.readouterr().err == ""
    twice = data.map(lambda _: tf.random.uniform([], seed=3) + tf.random.uniform([], seed=4), tf.data.AUTOTUNE)
    repeatable.check(twice.batch(3))
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(
        "tensorplane: dataset: RandomUniform draws in parallel calls, so its numbers differ at each reading"
    )


def test_draws_from_variables_are_named_and_variables_that_are_read_are_not(
    capsys: pytest.CaptureFixture[str],
) -> None:
    data, level = tf.data.Dataset.range(9).batch(3), tf.Variable(2, dtype=tf.int64)
    repeatable.check(data.map(lambda batch: batch * level))
    assert capsys.readouterr().err == ""
    generator, flip = tf.random.Generator.from_seed(5), keras.layers.RandomFlip(seed=3)
    repeatable.check(data.map(lambda batch: tf.cast(batch, tf.float32) + generator.normal([3])).prefetch(1))
    repeatable.check(data.map(lambda batch: flip(tf.zeros([3, 2, 2, 1]), training=True)))
    draws, flips = capsys.readouterr().err.splitlines()
    assert draws.startswith("tensorplane: dataset: its functions change variables that are not saved (StateVar")
    assert "seed_generator_state of MapDataset" in flips


@pytest.mark.parametrize("steps", [3, None])
def test_a_cache_in_memory_is_filled_again_with_the_order_of_the_first_pass(steps: int | None) -> None:
    def batches() -> Batches:
        data = tf.data.Dataset.range(9).shuffle(9, seed=1).cache().batch(2)
        return Batches(data.take(steps) if steps else data, tf.distribute.get_strategy())

    def read(one: Batches) -> list[list[int]]:
        return [batch.numpy().tolist() for batch in one]

    whole, resumed = batches(), batches()
    passes = [read(whole) for _ in range(3)]
    resumed.start_at(2, 1)
    assert read(resumed) == passes[2][1:]


def _shuffled(size: int = 9) -> tf.data.Dataset:
    return tf.data.Dataset.range(size).shuffle(size, seed=1)


def _twice() -> tf.data.Dataset:
    once = _shuffled()
    return once.concatenate(once.repeat(2)).concatenate(once.take(4))


@pytest.mark.parametrize(
    "data",
    [
        lambda: _shuffled().map(lambda x: x + 1).shuffle(4, seed=2),
        lambda: _shuffled().map(lambda x: x + 1).repeat(3),
        lambda: _shuffled().repeat(2).shuffle(3, seed=2).repeat(2),
        _twice,
        lambda: tf.data.Dataset.zip(_shuffled(), _shuffled(4).repeat(), _shuffled(5).repeat(2)),
        lambda: _shuffled(3).repeat(4).take(7),
        lambda: tf.data.Dataset.sample_from_datasets(
            [_shuffled(3).repeat(), _shuffled(5)], seed=3, stop_on_empty_dataset=True
        ),
    ],
    ids=["shuffles", "repeat", "repeats", "concatenate", "zip", "take", "sample"],
)
def test_shuffles_that_a_reading_begins_several_times_are_passed_over(data: Any) -> None:
    def read(one: tf.data.Dataset) -> str:
        return str(list(one.as_numpy_iterator()))

    whole, resumed = data(), data()
    first = read(whole)
    iter(whole)
    third, fourth = read(whole), read(whole)
    repeatable.pass_over(resumed, times=2, unread=1, read_ahead=True)
    assert first != third
    assert [read(resumed), read(resumed)] == [third, fourth]


def test_only_a_cache_whose_contents_are_drawn_anew_is_filled_again() -> None:
    samples = tf.data.Dataset.range(9)
    once = samples.shuffle(9, seed=1, reshuffle_each_iteration=False)
    for data in (samples.cache().shuffle(9, seed=1), once.cache()):
        assert not repeatable.draws_below_memory_caches(data.batch(3))
    cached = samples.shuffle(9, seed=1).cache()
    assert len(repeatable.draws_below_memory_caches(cached.take(3).batch(3))) == 1


class Labels(keras.metrics.Metric):  # type: ignore[misc]  # Keras has no types
    """Which of three it has seen."""

    def __init__(self) -> None:
        super().__init__()
        self.seen = self.add_weight(shape=(3,), initializer="zeros", dtype="bool", name="seen")
        self.count = self.add_weight(initializer="zeros", dtype="int32", name="count")

    def update_state(self, y: Any, predicted: Any, sample_weight: Any = None) -> None:
        self.seen.assign(keras.ops.logical_or(self.seen, [True, False, True]))
        self.count.assign(self.count + 1)

    def result(self) -> Any:
        return keras.ops.sum(keras.ops.cast(self.seen, "float32"))


def test_metrics_of_every_type_are_kept_and_rows_of_an_earlier_version_are_read() -> None:
    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
    metric = Labels()
    model.compile("sgd", "mse", metrics=[metric])
    model.train_on_batch(np.ones((4, 2)), np.ones((4, 1)))
    metrics = LocalMetrics(model)
    rows = metrics.read()
    seen, count = metric.variables
    seen.assign([False, False, False])
    metrics.write(rows)
    assert seen.numpy().tolist() == [True, False, True]
    numbers = np.delete(rows, slice(rows.shape[1] - 4, rows.shape[1] - 1), axis=1)
    count.assign(0)
    metrics.write(numbers)
    assert (seen.numpy().tolist(), int(count.numpy())) == ([True, False, True], 1)


def test_many_fits_of_a_program_are_not_said_to_be_traced_too_often() -> None:
    with patch.object(tf.get_logger(), "warning") as warned:
        for _ in range(6):
            model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
            model.compile("sgd", "mse")
            metrics = LocalMetrics(model)
            metrics.write(metrics.read())
    assert not warned.called


def test_fits_that_share_an_endless_shuffle_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    strategy, samples = tf.distribute.get_strategy(), tf.data.Dataset.range(9)
    endless = samples.shuffle(9, seed=1).batch(3).repeat()
    for data in (samples.shuffle(9, seed=1).batch(3), samples.shuffle(9, seed=1).batch(3).repeat(), endless):
        Batches(data, strategy).check_repeatable()
    assert capsys.readouterr().err == ""
    Batches(endless.prefetch(1), strategy).check_repeatable()
    assert "dataset: is endless and was read by an earlier fit" in capsys.readouterr().err


def test_a_dataset_that_gives_up_its_order_is_refused() -> None:
    data, options = tf.data.Dataset.range(9), tf.data.Options()
    options.deterministic = False
    parallel = data.map(lambda x: x + 1, num_parallel_calls=2, deterministic=False).batch(3)
    for unordered in (parallel, data.with_options(options).batch(3)):
        with pytest.raises(repeatable.NotRepeatable, match="dataset: deterministic=False"):
            repeatable.check(unordered)


def test_a_runs_seed_is_that_of_its_name_in_every_pod_and_after_every_restart() -> None:
    chief = seeds.of_run({"CHECKPOINT_DIR": "/ckpt/.digits-1a/77/digits-1a", "TF_CONFIG": "{}"})
    assert chief == seeds.of_run({"CHECKPOINT_DIR": "/ckpt/digits-1a"})
    assert chief != seeds.of_run({"CHECKPOINT_DIR": "/ckpt/digits-2b"})
