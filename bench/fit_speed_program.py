"""One worker of `bench/fit_speed.py`: `fit_speed_program.py WAY MODEL…`.

It trains models on random numbers, by `tensorplane.fit` with Keras 3 (WAY library), or by tf_keras' own `fit` (legacy).
The chief prints the steps per second of each, without the first epoch, which traces.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from typing import Any

WAY = sys.argv[1]
os.environ["TF_USE_LEGACY_KERAS"] = "1" if WAY == "legacy" else "0"

import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402
from tensorflow import keras  # noqa: E402

import tensorplane  # noqa: E402

_STEPS, _CLASSES = 100, 10
_EPOCHS = {"convolutional": 3, "dense": 9}
_BATCH = 64


def _convolutional() -> Any:
    """The model of TensorFlow's tutorial for several workers."""
    layers = keras.layers
    return [
        layers.Reshape((28, 28, 1)),
        layers.Conv2D(32, 3, activation="relu"),
        layers.Flatten(),
        layers.Dense(128, activation="relu"),
        layers.Dense(_CLASSES),
    ]


def _dense() -> Any:
    """Small, so that what `fit` does between steps counts."""
    layers = keras.layers
    return [layers.Flatten(), layers.Dense(128, activation="relu"), layers.Dense(_CLASSES)]


_MODELS: dict[str, Callable[[], Any]] = {"convolutional": _convolutional, "dense": _dense}


class _Times(keras.callbacks.Callback):  # type: ignore[misc]  # Keras has no types
    def on_train_begin(self, logs: Any = None) -> None:
        self.ends: list[float] = []

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        self.ends.append(time.monotonic())


def _rate(strategy: tf.distribute.Strategy, name: str) -> float:
    random = np.random.default_rng(1)
    x = random.normal(size=(_STEPS * _BATCH, 28, 28)).astype("float32")
    y = random.integers(0, _CLASSES, len(x))
    # In memory: the input pipeline has figures of its own.
    data = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(1000, seed=1).batch(_BATCH)
    with strategy.scope():
        model = keras.Sequential([keras.layers.InputLayer((28, 28)), *_MODELS[name]()])
        loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        model.compile(keras.optimizers.Adam(0.001), loss, metrics=["accuracy"])
    times = _Times()
    if WAY == "legacy":
        model.fit(data, epochs=_EPOCHS[name], callbacks=[times], verbose=0)
    else:
        tensorplane.fit(model, data, epochs=_EPOCHS[name], callbacks=[times], name=name)
    return _STEPS * (len(times.ends) - 1) / (times.ends[-1] - times.ends[0])


def main() -> None:
    tf.config.threading.set_intra_op_parallelism_threads(1)
    strategy = tf.distribute.MultiWorkerMirroredStrategy() if WAY == "legacy" else tensorplane.strategy()
    for name in sys.argv[2:]:
        print("rate", name, _rate(strategy, name), flush=True)


if __name__ == "__main__":
    main()
