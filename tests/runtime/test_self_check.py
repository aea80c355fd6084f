"""`verify` passes where replicas compute what one process does."""

from __future__ import annotations

from typing import Any

import keras
import numpy as np
import tensorflow as tf

import tensorplane
from tensorplane.keras import repair

# Before its first use: TensorFlow settles its devices then. Two replicas are to be had without a GPU this way.
tf.config.set_logical_device_configuration(
    tf.config.list_physical_devices("CPU")[0], [tf.config.LogicalDeviceConfiguration()] * 2
)
repair.install()
# One sample more for one replica than for the other.
BATCH = (np.random.default_rng(1).normal(size=(5, 4)).astype("float32"), np.array([0, 1, 1, 0, 1]))


def _model(*middle: Any, kind: Any = keras.Sequential) -> Any:
    model = kind([keras.Input((4,)), keras.layers.Dense(6), *middle, keras.layers.Dense(2)])
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(keras.optimizers.Adam(0.01), loss)
    return model


def test_verify_passes_and_leaves_the_model_as_it_was() -> None:
    with tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"]).scope():
        model = _model(keras.layers.BatchNormalization(synchronized=True), keras.layers.Dropout(0.5, seed=1))
    before = model.get_weights()
    assert tensorplane.verify(model, BATCH) < 1e-3
    assert all(np.array_equal(one, other) for one, other in zip(before, model.get_weights(), strict=True))
