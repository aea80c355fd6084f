"""What Prometheus reads of a `fit`: examples per second, and the time for which steps waited for their input."""

from __future__ import annotations

import math
import time
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

import tensorplane
from tensorplane import metrics, progress
from tests.runtime import two_replicas

_BATCH, _BATCHES, _SECONDS = 8, 10, 0.001


def _slow(x: tf.Tensor) -> Any:
    def wait(value: np.ndarray) -> np.ndarray:
        time.sleep(_SECONDS)
        return value

    return tf.ensure_shape(tf.numpy_function(wait, [x], tf.float32), x.shape), tf.zeros([tf.shape(x)[0], 1])


def _value(name: str) -> float:
    (line,) = [line for line in metrics.text().splitlines() if line.startswith(f"tensorplane_{name} ")]
    return float(line.split()[1])


@pytest.mark.parametrize("replicas", [1, 2])
def test_fit_reports_its_input(replicas: int, monkeypatch: pytest.MonkeyPatch) -> None:
    # The last report is of a whole epoch, also where that takes long.
    monkeypatch.setattr(progress, "EVERY_SECONDS", math.inf)
    strategy = two_replicas.strategy() if replicas == 2 else tf.distribute.get_strategy()
    with strategy.scope():
        model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(1)])
        model.compile("sgd", "mse")
    # The last batch is not full.
    data = tf.data.Dataset.from_tensor_slices(tf.zeros([_BATCH * _BATCHES - 1, 3])).batch(_BATCH).map(_slow)
    observed: list[float] = []
    observe = metrics.STEP_SECONDS.observe

    def noted(seconds: float, number: int) -> None:
        observed.append(seconds)
        observe(seconds, number)

    monkeypatch.setattr(metrics.STEP_SECONDS, "observe", noted)
    before = _value("input_wait_seconds_total")
    tensorplane.fit(model, data, epochs=2)
    waited = _value("input_wait_seconds_total") - before
    # The input is read ahead, but each epoch begins with a wait.
    assert 0 < waited <= sum(observed)
    assert _value("examples_per_second") == pytest.approx((_BATCH * _BATCHES - 1) / observed[-1])
