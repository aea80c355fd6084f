"""What several replicas compute is what one process does, or a line says what is not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

import tensorplane
from tests.runtime import two_replicas


class _Sentence(keras.Model):  # type: ignore[misc]  # Keras has no types
    """Looks up the tokens of the batch, a token of all samples and each place, all in one table."""

    def __init__(self) -> None:
        super().__init__(name="sentence")
        self.table, self.out = keras.layers.Embedding(5, 2), keras.layers.Dense(1)

    def call(self, x: Any) -> Any:
        always = self.table(keras.ops.zeros((1, 1), "int32"))
        return self.out(self.table(x) + always + self.table(keras.ops.arange(4)))


def _weights(make: Callable[[], Any], strategy: tf.distribute.Strategy, x: Any, y: Any) -> list[np.ndarray]:
    keras.utils.set_random_seed(1)
    with strategy.scope():
        model = make()
    tensorplane.fit(model, x, y, batch_size=6, epochs=2, shuffle=False)
    weights: list[np.ndarray] = model.get_weights()
    return weights


def test_a_table_that_the_batch_and_constants_look_up_has_the_gradients_of_one_process() -> None:
    """Adam squares the gradient of each lookup by itself."""

    def make() -> Any:
        model = _Sentence()
        model.compile(keras.optimizers.Adam(0.1, epsilon=1e-3), "mse")
        return model

    draws = np.random.default_rng(1)
    data = draws.integers(0, 5, (15, 4)), draws.random((15, 4, 1))
    one, several = (_weights(make, each, *data) for each in (tf.distribute.get_strategy(), two_replicas.strategy()))
    for mine, wanted in zip(several, one, strict=True):
        assert mine == pytest.approx(wanted, rel=1e-4)
