"""Trains models on all replicas and in one process, in the same workers, and prints how far they end apart.

Run as a program by each worker: `fit_cases.py CASE…`. Each prints one line of JSON per case.
"""

from __future__ import annotations

import functools
import json
import os
import sys
from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import tensorflow as tf

import tensorplane
from tensorplane.keras import repair

layers = keras.layers
BATCH, STEPS = 12, 50
_EPOCHS = int(os.environ.get("EPOCHS", STEPS // 7 + 1))
_PERMUTATIONS = 2


def _dense() -> list[Any]:
    return [keras.Input((8,)), layers.Dense(16, activation="tanh", kernel_regularizer="l2"), layers.Dense(3)]


def _convolutional() -> list[Any]:
    return [
        keras.Input((8,)),
        layers.Reshape((2, 4, 1)),
        layers.Conv2D(4, 2, activation="relu"),
        layers.Flatten(),
        layers.Dense(3),
    ]


def _normalized() -> list[Any]:
    return [
        keras.Input((8,)),
        # Without a bias: normalization cancels it, so its gradient is rounding noise, which Adam scales up.
        layers.Dense(8, use_bias=False),
        layers.BatchNormalization(synchronized=True),
        layers.ReLU(),
        layers.Dense(3),
    ]


def _tokens() -> list[Any]:
    # Numbers of the data as 16 tokens; 0 is padding.
    return [keras.Input((8,)), layers.Lambda(lambda x: keras.ops.cast(keras.ops.abs(x) * 6, "int32") % 16)]


def _embedded() -> list[Any]:
    return [*_tokens(), layers.Embedding(16, 6), layers.GlobalAveragePooling1D(), layers.Dense(3)]


def _lstm() -> list[Any]:
    return [*_tokens(), layers.Embedding(16, 6, mask_zero=True), layers.LSTM(5), layers.Dense(3)]


def _dropout() -> list[Any]:
    return [keras.Input((8,)), layers.Dense(64, activation="relu"), layers.Dropout(0.2, seed=1), layers.Dense(3)]


class Attention(keras.Model):  # type: ignore[misc]  # Keras has no types
    def __init__(self) -> None:
        super().__init__()
        self.embedding, self.attention = layers.Embedding(16, 6), layers.MultiHeadAttention(2, 3)
        self.norm, self.out = layers.LayerNormalization(), layers.Dense(3)

    def call(self, x: Any) -> Any:
        tokens = self.embedding(keras.ops.cast(keras.ops.abs(x) * 6, "int32") % 16)
        return self.out(keras.ops.mean(self.norm(tokens + self.attention(tokens, tokens)), axis=1))


class OwnStep(keras.Sequential):  # type: ignore[misc]  # Keras has no types
    def train_step(self, data: Any) -> Any:
        x, y = data
        with tf.GradientTape() as tape:
            loss = self.compute_loss(x=x, y=y, y_pred=self(x, training=True))
        self.optimizer.apply(tape.gradient(loss, self.trainable_variables), self.trainable_variables)
        return {"own": loss}


MODELS: dict[str, Callable[[], Any]] = {
    "dense": lambda: keras.Sequential(_dense()),
    "convolutional": lambda: keras.Sequential(_convolutional()),
    "normalized": lambda: keras.Sequential(_normalized()),
    "embedding": lambda: keras.Sequential(_embedded()),
    "lstm": lambda: keras.Sequential(_lstm()),
    "attention": Attention,
    "dropout": lambda: keras.Sequential(_dropout()),
    "own_step": lambda: OwnStep(_dense()),
}
OPTIMIZERS: dict[str, Callable[[], Any]] = {
    "adam": lambda: keras.optimizers.Adam(0.01),
    "momentum": lambda: keras.optimizers.SGD(0.05, momentum=0.9),
    "adamw": lambda: keras.optimizers.AdamW(0.01, weight_decay=0.01),
    "clipped": lambda: keras.optimizers.SGD(0.1, global_clipnorm=0.05),
    "scheduled": lambda: keras.optimizers.Adam(keras.optimizers.schedules.CosineDecay(0.02, STEPS)),
}


def _data(dtype: str, permuted: int = 0) -> tuple[tf.data.Dataset, np.ndarray, np.ndarray]:
    """The same batches; if `permuted` is not 0, with their samples in another order, so that sums round otherwise."""
    random = np.random.default_rng(1)
    # Seven batches an epoch; the last has one sample, so that a replica has none.
    x = random.normal(size=(BATCH * 6 + 1, 8)).astype(dtype)
    y = np.abs(x).argmax(axis=1) % 3
    data = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(len(x), seed=2).batch(BATCH)
    return data.map(functools.partial(_permuted, permuted)) if permuted else data, x, y


def _permuted(seed: int, x: tf.Tensor, y: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    order = tf.random.experimental.stateless_shuffle(tf.range(tf.shape(x)[0]), [seed, 1])
    return tf.gather(x, order), tf.gather(y, order)


def _compiled(model: str, optimizer: str, per_execution: int) -> Any:
    keras.utils.set_random_seed(3)
    made = MODELS[model]()
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    # A train_step that updates no metrics has none: Keras itself refuses to report what was never updated.
    metrics = None if model == "own_step" else ["accuracy"]
    made.compile(OPTIMIZERS[optimizer](), loss, metrics=metrics, steps_per_execution=per_execution)
    # `build` does not create the variables of a model with a `call` of its own.
    made(np.zeros((1, 8), keras.config.floatx()))
    return made


def run(strategy: tf.distribute.Strategy, case: str) -> dict[str, Any]:
    """Relative distance of the weights, and the losses: on all replicas, and in one process.

    In float32 also `spread`: the largest distance of runs in one process that sum in another order.
    """
    model, optimizer, dtype, per_execution = case.split(":")
    keras.config.set_dtype_policy(dtype)
    keras.config.set_floatx("float64" if dtype == "float64" else "float32")
    with strategy.scope():
        several = _compiled(model, optimizer, int(per_execution))
    singles = [_compiled(model, optimizer, 1) for _ in range(1 + (_PERMUTATIONS if dtype == "float32" else 0))]
    before = several.get_weights()
    for one in singles:
        one.set_weights(before)
    found = _trained("several", several) | _trained("single", singles[0])
    for permuted, one in enumerate(singles[1:], 1):
        one.fit(_data(keras.config.floatx(), permuted)[0], epochs=_EPOCHS, verbose=0)
    weights, (first, *others) = several.get_weights(), [one.get_weights() for one in singles]
    found["spread"] = max((_distance(other, first) for other in others), default=0.0)
    checksum = float(sum(np.abs(weight.astype("float64")).sum() for weight in weights))
    apart, moved = _distance(weights, first), _distance(weights, before)
    return {"case": case, "apart": apart, "moved": moved, "checksum": checksum, **found}


def _trained(name: str, model: Any) -> dict[str, Any]:
    """The last values of the history, and a sum of predictions."""
    data, x, _ = _data(keras.config.floatx())
    history = model.fit(data, epochs=_EPOCHS, validation_data=data, verbose=0)
    last = {key: values[-1] for key, values in history.history.items()}
    evaluated = model.evaluate(data, verbose=0, return_dict=True)
    last |= {f"evaluated_{key}": float(value) for key, value in evaluated.items()}
    return {name: last, f"predict_{name}": float(np.abs(model.predict(x, batch_size=BATCH, verbose=0)).sum())}


def _distance(weights: list[np.ndarray], others: list[np.ndarray]) -> float:
    """The largest difference of weights, relative to the largest weight of the same variable."""
    pairs = zip(weights, others, strict=True)
    return max(float(np.abs(a - b).max() / max(np.abs(b).max(), 1e-3)) for a, b in pairs)


def main() -> None:
    tf.config.threading.set_intra_op_parallelism_threads(1)
    if (local := int(os.environ.get("REPLICAS", "1"))) > 1:
        (cpu,) = tf.config.list_physical_devices("CPU")
        tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * local)
    strategy = tensorplane.strategy()
    if local > 1 and "TF_CONFIG" not in os.environ:
        strategy = tf.distribute.MirroredStrategy([f"CPU:{index}" for index in range(local)])
        repair.install()
    for case in sys.argv[1:]:
        print("case", json.dumps(run(strategy, case)), flush=True)


if __name__ == "__main__":
    main()
