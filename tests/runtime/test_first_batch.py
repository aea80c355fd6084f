"""Before the first step on several replicas, `fit` says which reports of a step are not those of one process."""

from __future__ import annotations

import contextlib
import functools
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

import tensorplane
from tensorplane import callbacks
from tensorplane.keras import building, epochs, first_batch
from tests.runtime import two_replicas
from tests.runtime.drawn_models import Peak

_CLASSES = 3
_OF_ONE_THRESHOLD = ("PrecisionAtRecall", "RecallAtPrecision", "SensitivityAtSpecificity", "SpecificityAtSensitivity")
_OF_CLASSES = {
    "IoU": (2, [0, 1]),
    "BinaryIoU": ([0, 1],),
    "MeanIoU": (_CLASSES,),
    "OneHotIoU": (_CLASSES, [0, 1]),
    "OneHotMeanIoU": (_CLASSES,),
}
_NOT_OF_OUTPUTS = ("Metric", "MeanMetricWrapper", "Mean", "Sum")
_SPARSE = ("SparseCategoricalAccuracy", "SparseCategoricalCrossentropy", "SparseTopKCategoricalAccuracy", "MeanIoU")


def _of_keras() -> list[Any]:
    """All metrics of Keras that compare labels with outputs of their shape."""
    names = [name for name in dir(keras.metrics) if isinstance(getattr(keras.metrics, name), type)]
    made = {**dict.fromkeys(_OF_ONE_THRESHOLD, (0.5,)), **_OF_CLASSES}
    return [
        getattr(keras.metrics, name)(*made.get(name, ())) for name in names if name not in (*_NOT_OF_OUTPUTS, *_SPARSE)
    ]


def _printed(metrics: Callable[[], list[Any]], capfd: pytest.CaptureFixture[str]) -> list[str]:
    keras.utils.set_random_seed(1)
    with two_replicas.strategy().scope():
        model = keras.Sequential(
            [keras.Input((4,)), keras.layers.Dropout(0.5), keras.layers.Dense(_CLASSES, activation="softmax")]
        )
        model.compile("sgd", "mse", metrics=metrics())
    random = np.random.default_rng(1)
    labels = np.eye(_CLASSES)[random.integers(0, _CLASSES, 4)]
    batch = (tf.constant(random.normal(size=(4, 4)), "float32"), tf.constant(labels, "float32"))
    building.build_from(model, batch)
    capfd.readouterr()
    first_batch.check(model, batch, refuse=True)
    return [line for line in capfd.readouterr().err.splitlines() if line.startswith("tensorplane: ")]


@pytest.mark.nightly("drawn fits tell it of some of Keras' metrics; this one of all, which takes half a minute")
def test_keras_metrics_are_those_of_one_process(capfd: pytest.CaptureFixture[str]) -> None:
    assert len(_of_keras()) > 30
    assert _printed(_of_keras, capfd) == []


def test_metrics_that_replicas_cannot_add_up_are_named(capfd: pytest.CaptureFixture[str]) -> None:
    def dice(y: Any, p: Any) -> Any:
        return 2 * tf.reduce_sum(y * p) / tf.reduce_sum(y + p**2)

    ratio, peak = _printed(lambda: ["mae", dice, Peak()], capfd)
    assert ratio == (
        "tensorplane: metrics: dice returns one number for a batch that is not the mean over its samples, so replicas "
        "cannot compute it; return a value per sample, or add up sums in a keras.metrics.Metric"
    )
    assert re.fullmatch(
        r"tensorplane: peak: is [\d.]+ after a step on several replicas, and [\d.]+ in one process; "
        r"let metrics add up a value per sample, or train on one replica \(strategy: single\)",
        peak,
    )


@pytest.mark.parametrize(
    ("optimizer", "line"),
    [
        (lambda: keras.optimizers.Adam(), "optimizer: adam"),
        (lambda: keras.optimizers.LossScaleOptimizer(keras.optimizers.SGD()), "optimizer: loss_scale_optimizer"),
    ],
)
def test_an_optimizer_that_replicas_would_share_is_refused(optimizer: Any, line: str) -> None:
    updates = optimizer()
    with two_replicas.strategy().scope():
        model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1, activation="sigmoid")])
        model.compile(updates, "mse")
    with pytest.raises(ValueError, match=f"^{line}(_\\d+)?: created outside of the strategy's scope"):
        tensorplane.fit(model, np.zeros((4, 4)), np.zeros((4, 1)))


def test_weights_that_replicas_would_share_are_refused_unless_they_are_frozen() -> None:
    base = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3), keras.layers.Dense(3)])
    base.trainable = False
    with two_replicas.strategy().scope():
        model = keras.Sequential([base, keras.layers.Dense(1)])
        model.compile("sgd", "mse")
    tensorplane.fit(model, np.zeros((4, 4)), np.zeros((4, 1)))
    base.trainable = True
    with two_replicas.strategy().scope():
        model.compile("sgd", "mse")
    with pytest.raises(
        ValueError, match=r"^model: the weights of dense(_\d+)? and 1 more layers were created outside of the"
    ):
        tensorplane.fit(model, np.zeros((4, 4)), np.zeros((4, 1)))


def test_a_strategy_that_distributes_the_data_itself_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    strategy = tf.distribute.OneDeviceStrategy("CPU:0")
    monkeypatch.setattr(epochs, "_EXCLUDED", (type(strategy),))
    with strategy.scope():
        model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
        model.compile("sgd", "mse")
    with pytest.raises(ValueError, match=r"^strategy: fit cannot resume with it; use MirroredStrategy"):
        tensorplane.fit(model, np.zeros((4, 4)), np.zeros((4, 1)))


def test_metrics_that_replicas_would_share_are_named(capfd: pytest.CaptureFixture[str]) -> None:
    metrics = [keras.metrics.Recall(name="one"), "mae", keras.metrics.AUC(name="two")]
    with two_replicas.strategy().scope():
        model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1, activation="sigmoid")])
        model.compile("sgd", "mse", metrics=metrics)
    tensorplane.fit(model, np.zeros((4, 4)), np.zeros((4, 1)))
    said = [line for line in capfd.readouterr().err.splitlines() if line.startswith("tensorplane: metrics: ")]
    assert len(said) == 1
    assert said[0].startswith("tensorplane: metrics: one, two: created outside of the strategy's scope")


def test_losses_of_any_shape_are_compared(capfd: pytest.CaptureFixture[str]) -> None:
    """A value for each word of the batch is neither one number nor one for each sample."""
    with two_replicas.strategy().scope():
        model = keras.Sequential([keras.Input((5, 2)), keras.layers.Dense(3)])
        model.compile("sgd", lambda y, p: tf.reduce_mean(tf.square(tf.reshape(y - p, [-1, 3])), axis=1))
    batch = (tf.random.stateless_normal([4, 5, 2], (1, 2)), tf.random.stateless_normal([4, 5, 3], (3, 4)))
    building.build_from(model, batch)
    capfd.readouterr()
    first_batch.check(model, batch, refuse=True)
    assert "tensorplane: " not in capfd.readouterr().err


def test_classes_are_weighted_in_training_alone() -> None:
    random = np.random.default_rng(1)
    x, y = random.normal(size=(20, 3)), random.integers(0, 3, 20)
    histories = []
    for library in (False, True):
        keras.utils.set_random_seed(1)
        model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(3, activation="softmax")])
        model.compile("sgd", "sparse_categorical_crossentropy")
        how: dict[str, Any] = {
            "batch_size": 5,
            "epochs": 2,
            "shuffle": False,
            "validation_split": 0.5,
            "class_weight": {1: 7.0},
        }
        fit = functools.partial(tensorplane.fit, model) if library else model.fit
        histories.append(fit(x, y, verbose=0, **how).history)
    assert histories[0] == histories[1]


class _SampleCount(keras.metrics.Metric):  # type: ignore[misc]  # Keras has no types
    """Counts the samples of all epochs. Its result is a variable, as in Keras' guide to metrics."""

    def __init__(self) -> None:
        super().__init__(name="seen")
        self.count = self.add_weight(name="count", initializer="zeros")

    def update_state(self, y: Any, _: Any, sample_weight: Any = None) -> None:
        self.count.assign_add(tf.cast(tf.shape(y)[0], self.count.dtype))

    def result(self) -> Any:
        return self.count.value

    def reset_state(self) -> None:
        pass


def test_a_metric_that_counts_on_is_counted_as_in_one_process(capfd: pytest.CaptureFixture[str]) -> None:
    assert _printed(lambda: [_SampleCount()], capfd) == []
    with two_replicas.strategy().scope():
        model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(1)])
        model.compile("sgd", "mse", metrics=[_SampleCount()])
    arrays = np.ones((9, 3)), np.ones((9, 1))
    history = tensorplane.fit(model, *arrays, batch_size=4, epochs=2, validation_data=arrays).history
    # Each validation counts on, too.
    assert (history["seen"], history["val_seen"]) == ([9, 27], [18, 36])
    assert "tensorplane: seen" not in capfd.readouterr().err


class _Scored(keras.Model):  # type: ignore[misc]  # Keras has no types
    """Reports F1 from precision and recall: in the step, or where Keras asks for the results of an epoch."""

    def __init__(self, *, in_step: bool) -> None:
        super().__init__(name="scored")
        self.dense = keras.layers.Dense(1, activation="sigmoid")
        self.in_step = in_step
        self.precision, self.recall = keras.metrics.Precision(), keras.metrics.Recall()

    def call(self, x: Any) -> Any:
        return self.dense(x)

    def _scores(self) -> dict[str, Any]:
        precision, recall = self.precision.result(), self.recall.result()
        return {"precision": precision, "f1": 2 * precision * recall / (precision + recall + 1e-7)}

    def get_metrics_result(self) -> Any:
        return {"precision": self.precision.result()} if self.in_step else self._scores()

    def train_step(self, data: Any) -> Any:
        x, y = data
        predicted = self(x)
        self.precision.update_state(y, predicted)
        self.recall.update_state(y, predicted)
        return self._scores()


@pytest.mark.parametrize("in_step", [True, False])
def test_what_a_step_computes_from_results_of_metrics_is_named(
    in_step: bool, capfd: pytest.CaptureFixture[str]
) -> None:
    """The first samples may all be right."""
    with two_replicas.strategy().scope():
        model = _Scored(in_step=in_step)
        model.compile("sgd")
    x = np.linspace(-1, 1, 18).reshape(-1, 1)
    tensorplane.fit(model, x, (x > 0.2).astype("float32"), batch_size=6, shuffle=False)
    named = "tensorplane: f1: a step computes it from results of metrics, of which each replica has its own" in (
        said := capfd.readouterr().err
    )
    assert named is in_step, said


def test_an_added_loss_for_each_sample_is_refused_by_name() -> None:
    """Keras adds them up."""

    class Penalty(keras.layers.Layer):  # type: ignore[misc]  # Keras has no types
        def call(self, x: Any) -> Any:
            self.add_loss(tf.reduce_sum(tf.square(x), axis=-1))
            return x

    with two_replicas.strategy().scope():
        model = keras.Sequential(
            [keras.Input((3,)), keras.layers.Dense(4), Penalty(name="penalty"), keras.layers.Dense(1)]
        )
        model.compile("sgd", "mse")
    with pytest.raises(ValueError, match=r"^add_loss: penalty adds one number for a batch that is not the mean over"):
        tensorplane.fit(model, np.ones((8, 3)), np.zeros((8, 1)))


def test_a_train_step_that_calls_what_compile_got_is_compared(capfd: pytest.CaptureFixture[str]) -> None:
    """`self.loss` of a function gives a value for each sample, of which a tape's gradient is the sum."""

    class Denoised(keras.Model):  # type: ignore[misc]  # Keras has no types
        def train_step(self, x: Any) -> Any:
            with tf.GradientTape() as tape:
                loss = self.loss(x, self(x))
            self.optimizer.apply(tape.gradient(loss, self.trainable_variables), self.trainable_variables)
            return {"loss": tf.reduce_mean(loss)}

    with two_replicas.strategy().scope():
        inputs = keras.Input((3,))
        model = Denoised(inputs, keras.layers.Dense(3)(inputs))
        model.compile("sgd", keras.losses.mean_absolute_error)
    tensorplane.fit(model, np.random.default_rng(1).normal(size=(8, 3)))
    said = capfd.readouterr().err
    assert "could not be compared" not in said
    assert "tensorplane: model: the gradient of" in said


class Summed(keras.Sequential):  # type: ignore[misc]  # Keras has no types
    """Its loss is the sum over a replica's samples, which a comparison names."""

    def train_step(self, data: Any) -> Any:
        x, y = data
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.square(self(x) - y))
        self.optimizer.apply(tape.gradient(loss, self.trainable_variables), self.trainable_variables)
        return {"loss": loss}


def _checked(model: Any, batch: Any, capfd: pytest.CaptureFixture[str]) -> list[str]:
    """The lines of a comparison."""
    capfd.readouterr()
    building.build_from(model, batch)
    first_batch.check(model, batch, refuse=True)
    return [line for line in capfd.readouterr().err.splitlines() if line.startswith("tensorplane: ")]


def test_a_difference_is_one_line_and_none_of_a_model_too_large_to_compare(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with two_replicas.strategy().scope():
        model = Summed([keras.Input((4,)), keras.layers.Dense(_CLASSES)])
        model.compile("sgd")
    batch = tf.ones((4, 4)), tf.ones((4, _CLASSES))
    numbers = (4 + 1) * _CLASSES
    monkeypatch.setattr(first_batch, "_MOST_GIB", 6 * 4 * numbers / 2**30)
    (line,) = _checked(model, batch, capfd)
    assert "differs by" in line and "(tensorplane.verify compares any batch)" in line
    monkeypatch.setattr(first_batch, "_MOST_GIB", first_batch._MOST_GIB * 0.99)
    (line,) = _checked(model, batch, capfd)
    assert "was not compared with one process, as that copies 0 GiB" in line


def test_normalization_of_each_replicas_samples_is_no_difference(capfd: pytest.CaptureFixture[str]) -> None:
    with two_replicas.strategy().scope():
        model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(5), keras.layers.BatchNormalization()])
        model.compile("sgd", "mse")
    random = np.random.default_rng(1)
    batch = tf.constant(random.normal(size=(4, 4)), "float32"), tf.constant(random.normal(size=(4, 5)), "float32")
    assert _checked(model, batch, capfd) == []
    assert not model.layers[-1].synchronized


def test_a_loss_that_is_no_mean_is_refused_with_two_ways_out() -> None:
    with two_replicas.strategy().scope():
        model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(_CLASSES, activation="sigmoid")])
        model.compile("sgd", keras.losses.Dice())
    labels = np.random.default_rng(1).integers(0, 2, (8, _CLASSES))
    line = r"^loss: dice returns one number .*; return a value per sample \(.*axis=.*\), or .*\(strategy: single\)$"
    with pytest.raises(ValueError, match=line):
        tensorplane.fit(model, np.random.default_rng(2).normal(size=(8, 4)), labels)


@pytest.mark.parametrize(("kind", "asked"), [(keras.Sequential, [True]), (Summed, [True, False])])
def test_two_samples_a_replica_are_compared_where_a_run_begins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: Any, asked: list[bool]
) -> None:
    """And where a run goes on, those of a train_step of one's own, which is not refused then."""
    seen: list[bool] = []

    class Ends(keras.callbacks.Callback):  # type: ignore[misc]  # Keras has no types
        def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
            raise InterruptedError

    def check(model: Any, batch: Any, *, refuse: bool, validates: bool) -> None:
        assert [len(part) for part in batch] == [4, 4]
        seen.append(refuse)

    monkeypatch.setattr(first_batch, "check", check)
    for _ in range(2):
        callbacks._used.clear()
        with two_replicas.strategy().scope():
            model = kind([keras.Input((4,)), keras.layers.Dense(1)])
            model.compile("sgd", "mse")
        data = np.ones((16, 4)), np.ones((16, 1))
        with contextlib.suppress(InterruptedError):
            tensorplane.fit(model, *data, batch_size=8, epochs=3, folder=tmp_path, every_steps=1, callbacks=[Ends()])
    assert seen == asked
