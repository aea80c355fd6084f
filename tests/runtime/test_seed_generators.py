"""A custom loop with Dropout resumes to the bit, also from checkpoints that do not contain its seeds."""

from __future__ import annotations

from pathlib import Path

import keras
import numpy as np
import tensorflow as tf

from tensorplane import Checkpointer, Place
from tensorplane.checkpoints.files import CheckpointFiles
from tensorplane.checkpoints.host_copy import HostCopy


class _Training:
    """A custom loop as the library's documentation has it."""

    def __init__(self, folder: Path) -> None:
        keras.utils.set_random_seed(1)
        layers = [keras.layers.Dense(8), keras.layers.Dropout(0.5), keras.layers.GaussianNoise(0.1)]
        self.model = keras.Sequential([keras.Input((4,)), *layers, keras.layers.Dense(1)])
        self.optimizer = keras.optimizers.Adam(0.01)
        self.optimizer.build(self.model.trainable_variables)
        self.checkpoints = Checkpointer(folder, Place(), model=self.model, optimizer=self.optimizer)

    def train(self, steps: int) -> None:
        x = tf.random.stateless_normal([16, 4], seed=(1, 2))
        for _ in range(steps):
            with tf.GradientTape() as tape:
                # A function of Keras' global generator beside the layers'.
                noise = keras.random.normal((16, 1), stddev=0.1)
                loss = tf.reduce_mean((self.model(x, training=True) + noise) ** 2)
            variables = self.model.trainable_variables
            self.optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))

    @property
    def weights(self) -> np.ndarray:
        return np.concatenate([weight.ravel() for weight in self.model.get_weights()])


def test_loop_with_dropout_resumes_to_the_bit(tmp_path: Path) -> None:
    whole = _Training(tmp_path / "whole")
    whole.train(6)
    first = _Training(tmp_path / "run")
    first.train(3)
    first.checkpoints.save(3)
    first.checkpoints.close()
    resumed = _Training(tmp_path / "run")
    assert resumed.checkpoints.restore() == 3
    resumed.train(3)
    assert np.array_equal(resumed.weights, whole.weights)


def test_checkpoint_of_an_earlier_version_is_restored_without_seeds(tmp_path: Path) -> None:
    earlier = _Training(tmp_path)
    earlier.train(2)
    copied = HostCopy.of(tf.train.Checkpoint(model=earlier.model, optimizer=earlier.optimizer))
    assert copied
    CheckpointFiles(tmp_path).put(2, copied.write)
    resumed = _Training(tmp_path)
    assert resumed.checkpoints.restore() == 2
    assert np.array_equal(resumed.weights, earlier.weights)
    # The next save has them.
    resumed.train(1)
    resumed.checkpoints.save(3)
    resumed.checkpoints.close()
    resumed.train(1)
    again = _Training(tmp_path)
    assert again.checkpoints.restore() == 3
    again.train(1)
    assert np.array_equal(again.weights, resumed.weights)
