"""Also on several workers, `fit` compares its first step with one process."""

from __future__ import annotations

from pathlib import Path

from tests.runtime.launching import environments, gang

_PROGRAM = """
import sys

import keras
import numpy as np

import tensorplane

strategy = tensorplane.strategy()


class OfItsPart(keras.Model):
    def train_step(self, data):
        import tensorflow as tf

        x, y = data
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.square(self(x, training=True) - y))
        self.optimizer.apply(tape.gradient(loss, self.trainable_variables), self.trainable_variables)
        return {"own": loss}


random = np.random.default_rng(1)
x, y = random.normal(size=(8, 3)), random.normal(size=(8, 1))
for kind in (keras.Model, OfItsPart):
    print(kind.__name__, flush=True)
    keras.utils.set_random_seed(1)
    with strategy.scope():
        given = keras.Input((3,))
        model = kind(given, keras.layers.Dense(1, use_bias=False)(given))
        model.compile("sgd", "mse")
    tensorplane.fit(model, x, y, batch_size=4)
"""


def test_workers_compare_their_first_step_with_one_process(tmp_path: Path) -> None:
    with gang(tmp_path, _PROGRAM, tasks=environments(2)) as workers:
        codes = workers.finish()
    assert codes == [0, 0], workers.output[-3000:]
    same, differs = workers.outputs[0].split("\nOfItsPart\n")
    assert "one process" not in same
    assert "/kernel on several replicas differs by 0.5 from one process; " in differs
    assert "could not be compared" not in workers.output
