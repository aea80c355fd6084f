"""Before the first step on several replicas, `fit` says which reports of a step are not those of one process."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

import tensorplane
from tensorplane.keras import building, first_batch
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


def _said(metrics: Callable[[], list[Any]], capfd: pytest.CaptureFixture[str]) -> list[str]:
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


def test_keras_metrics_are_those_of_one_process(capfd: pytest.CaptureFixture[str]) -> None:
    assert len(_of_keras()) > 30
    assert _said(_of_keras, capfd) == []


def test_metrics_that_replicas_cannot_add_up_are_named(capfd: pytest.CaptureFixture[str]) -> None:
    def dice(y: Any, p: Any) -> Any:
        return 2 * tf.reduce_sum(y * p) / tf.reduce_sum(y + p**2)

    ratio, peak = _said(lambda: ["mae", dice, Peak()], capfd)
    assert ratio == (
        "tensorplane: dice: is one number for a batch, which is not the mean over its samples, so replicas cannot "
        "compute it from their parts of the batch; return a value for each sample, or count sums in a "
        "keras.metrics.Metric"
    )
    assert re.fullmatch(
        r"tensorplane: peak: a step on several replicas makes it [\d.]+ where one process makes it [\d.]+; "
        r"let a metric add up values of samples, or train on one replica \(strategy: single\)",
        peak,
    )


@pytest.mark.parametrize(
    ("optimizer", "metrics", "line"),
    [
        (lambda: keras.optimizers.Adam(), list, "optimizer: adam"),
        (
            lambda: keras.optimizers.LossScaleOptimizer(keras.optimizers.SGD()),
            list,
            "optimizer: loss_scale_optimizer",
        ),
        (
            lambda: "sgd",
            lambda: [keras.metrics.Recall(name="one"), "mae", keras.metrics.AUC(name="two")],
            "metrics: one, two",
        ),
    ],
)
def test_what_replicas_would_share_is_refused(optimizer: Any, metrics: Any, line: str) -> None:
    updates, counted = optimizer(), metrics()
    with two_replicas.strategy().scope():
        model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1, activation="sigmoid")])
        model.compile(updates, "mse", metrics=counted)
    with pytest.raises(ValueError, match=f"^{line}(_\\d+)?.* created outside of the strategy's scope"):
        tensorplane.fit(model, np.zeros((4, 4)), np.zeros((4, 1)))
