"""`fit` of several replicas takes its batches in every form: divided by the library, by TensorFlow, by the program."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

import tensorplane
from tests.runtime import two_replicas

_X, _Y = np.ones([32, 3], np.float32), np.ones([32, 1], np.float32)


def _plain() -> tf.data.Dataset:
    return tf.data.Dataset.from_tensor_slices((_X, _Y)).batch(8)


def _not_sharded() -> tf.data.Dataset:
    options = tf.data.Options()
    options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.OFF
    return _plain().with_options(options)


def _distributed() -> Any:
    return two_replicas.strategy().distribute_datasets_from_function(lambda _: _plain())


def _decoded() -> Any:
    return tensorplane.dataset((_X, _Y), lambda x, y: (x, y), global_batch=8, seed=1)


@pytest.mark.parametrize("data", [_plain, _not_sharded, _distributed, _decoded], ids=lambda data: data.__name__[1:])
def test_fit_trains(data: Callable[[], Any]) -> None:
    with two_replicas.strategy().scope():
        model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(1)])
        model.compile("sgd", "mse")
    losses = tensorplane.fit(model, data(), epochs=3, steps_per_epoch=2).history["loss"]
    assert losses[2] < losses[0]
