"""The models of drawn fits: layers, losses and train_steps as users and guides write them, with Keras alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import tensorflow as tf

layers = keras.layers
SIZE = 8
"""Numbers of a sample."""


def _tokens(x: Any) -> Any:
    return keras.ops.cast(keras.ops.abs(x) * 6, "int32") % 16


class Positions(keras.layers.Layer):  # type: ignore[misc]  # Keras has no types
    """Embeds tokens and their positions."""

    def __init__(self) -> None:
        super().__init__()
        self.tokens, self.places = layers.Embedding(16, 6), layers.Embedding(SIZE, 6)

    def call(self, x: Any) -> Any:
        return self.tokens(_tokens(x)) + self.places(keras.ops.arange(0, SIZE))


class Penalized(keras.Model):  # type: ignore[misc]  # Keras has no types
    """Adds a loss of its own, the mean over its samples or their sum."""

    def __init__(self, reduce: Callable[[Any], Any]) -> None:
        super().__init__()
        self.hidden, self.out, self._reduce = layers.Dense(5, activation="tanh"), layers.Dense(3), reduce

    def call(self, x: Any) -> Any:
        hidden = self.hidden(x)
        self.add_loss(0.1 * self._reduce(tf.square(hidden)))
        return self.out(hidden)


def reported(model: Any, loss: Any, y: Any, predicted: Any) -> dict[str, Any]:
    """The logs of a step, as Keras' guide on customizing fit makes them."""
    for metric in model.metrics:
        if metric.name == "loss":
            metric.update_state(loss)
        else:
            metric.update_state(y, predicted)
    return {metric.name: metric.result() for metric in model.metrics}


class GuideStep(keras.Sequential):  # type: ignore[misc]  # Keras has no types
    """A train_step as Keras' guide on customizing fit writes it."""

    def train_step(self, data: Any) -> Any:
        x, y = data[:2]
        with tf.GradientTape() as tape:
            predicted = self(x, training=True)
            loss = self.compute_loss(y=y, y_pred=predicted)
        self.optimizer.apply(tape.gradient(loss, self.trainable_variables), self.trainable_variables)
        return reported(self, loss, y, predicted)


class OwnMean(keras.Sequential):  # type: ignore[misc]  # Keras has no types
    """A train_step that takes the mean of its rows itself, and reports by metrics of its own, as keras.io's VAE."""

    def __init__(self, parts: Any) -> None:
        super().__init__(parts)
        self.total = keras.metrics.Mean(name="total")

    @property
    def metrics(self) -> Any:
        return [self.total]

    def train_step(self, data: Any) -> Any:
        x, y = data[:2]
        with tf.GradientTape() as tape:
            loss = self.loss_of(y, self(x, training=True))
        gradients = tape.gradient(loss, self.trainable_weights)
        self.optimizer.apply_gradients(zip(gradients, self.trainable_weights, strict=True))
        self.total.update_state(loss)
        return {"total": self.total.result()}

    def loss_of(self, y: Any, predicted: Any) -> Any:
        loss = tf.reduce_mean(tf.reduce_sum(tf.square(predicted - y), axis=-1))
        return loss + tf.nn.compute_average_loss(tf.reduce_sum(tf.square(predicted), axis=-1))

    def test_step(self, data: Any) -> Any:
        x, y = data[:2]
        self.total.update_state(tf.reduce_mean(tf.square(self(x, training=False) - y)))
        return {"total": self.total.result()}


class OwnSum(OwnMean):
    """A train_step whose loss is the sum of its rows: nobody can know that it is none of their mean."""

    def loss_of(self, y: Any, predicted: Any) -> Any:
        return tf.reduce_sum(tf.square(predicted - y))


class Gan(keras.Model):  # type: ignore[misc]  # Keras has no types
    """Two models and two optimizers, and no `call`, as keras.io's GAN."""

    def __init__(self) -> None:
        super().__init__()
        self.critic = keras.Sequential([keras.Input((SIZE,)), layers.Dense(6, activation="tanh"), layers.Dense(1)])
        self.maker = keras.Sequential([keras.Input((3,)), layers.Dense(SIZE)])

    def compile(self, optimizers: Any, **keywords: Any) -> None:
        super().compile(**keywords)
        self.critic_optimizer, self.maker_optimizer = optimizers
        self.critic_loss = keras.losses.BinaryCrossentropy(from_logits=True)
        self.seen = keras.metrics.Mean(name="critic")

    @property
    def metrics(self) -> Any:
        return [self.seen]

    def train_step(self, data: Any) -> Any:
        x, y = data[:2]
        with tf.GradientTape() as tape:
            real, made = self.critic(x), self.critic(self.maker(y))
            loss = self.critic_loss(tf.ones_like(real), real) + self.critic_loss(tf.zeros_like(made), made)
        weights = self.critic.trainable_weights
        self.critic_optimizer.apply(tape.gradient(loss, weights), weights)
        with tf.GradientTape() as tape:
            made = self.critic(self.maker(y))
            wish = self.critic_loss(tf.ones_like(made), made)
        weights = self.maker.trainable_weights
        self.maker_optimizer.apply(tape.gradient(wish, weights), weights)
        self.seen.update_state(loss)
        return {"critic": self.seen.result()}


class PositionsBySize(keras.layers.Layer):  # type: ignore[misc]  # Keras has no types
    """Positions by the size of a sample, as older guides write it."""

    def __init__(self) -> None:
        super().__init__()
        self.tokens, self.places = layers.Embedding(16, 6), layers.Embedding(SIZE, 6)

    def call(self, x: Any) -> Any:
        return self.tokens(_tokens(x)) + self.places(tf.range(tf.shape(x)[-1]))


class Counting(GuideStep):
    """Adds up what each replica has seen."""

    def __init__(self, parts: Any) -> None:
        super().__init__(parts)
        self.rows = keras.metrics.Sum(name="rows")

    def train_step(self, data: Any) -> Any:
        self.rows.update_state(tf.reduce_sum(tf.ones_like(data[0][:, 0])))
        x, y = data[:2]
        with tf.GradientTape() as tape:
            loss = self.compute_loss(y=y, y_pred=self(x, training=True))
        self.optimizer.apply(tape.gradient(loss, self.trainable_variables), self.trainable_variables)
        return {"rows": self.rows.result(), "loss": loss}


class Peak(keras.metrics.Metric):  # type: ignore[misc]  # Keras has no types
    """The largest error of all: what replicas have counted does not add up to it."""

    def __init__(self) -> None:
        super().__init__(name="peak")
        self.largest = self.add_variable((), "zeros", name="largest")

    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> None:
        self.largest.assign(tf.maximum(self.largest, tf.reduce_max(tf.abs(y_true - y_pred))))

    def result(self) -> Any:
        return self.largest


class SampleCount(keras.layers.Layer):  # type: ignore[misc]  # Keras has no types
    """Counts samples in a variable of its own: each replica counts its own."""

    def build(self, shape: Any) -> None:
        self.samples = self.add_weight(shape=(), initializer="zeros", trainable=False, name="samples")

    def call(self, x: Any, training: bool = False) -> Any:
        if training:
            self.samples.assign(self.samples + tf.cast(tf.shape(x)[0], self.samples.dtype))
        return x


class UniqueTokens(keras.layers.Layer):  # type: ignore[misc]  # Keras has no types
    """Looks each token of a batch up once, as lookups of sparse inputs do."""

    def build(self, shape: Any) -> None:
        self.table = self.add_weight(shape=(16, 6), name="table")

    def call(self, x: Any) -> Any:
        tokens = tf.cast(_tokens(x), tf.int64)
        rows, places = tf.unique(tf.reshape(tokens, [-1]))
        found = tf.gather(tf.gather(tf.convert_to_tensor(self.table), rows), places)
        return tf.reshape(found, [-1, SIZE * 6])


class Eps(keras.layers.Layer):  # type: ignore[misc]  # Keras has no types
    """A trainable variable of another type than the others."""

    def build(self, shape: Any) -> None:
        self.shift = self.add_weight(shape=(3,), initializer="zeros", dtype="float32", name="shift")

    def call(self, x: Any) -> Any:
        return x + tf.cast(self.shift, x.dtype)


def _functional_two_outputs() -> Any:
    x = keras.Input((SIZE,))
    hidden = layers.Dense(5, activation="tanh")(x)
    return keras.Model(x, {"a": layers.Dense(3, name="a")(hidden), "b": layers.Dense(3, name="b")(hidden)})


def stack(*middle: Any, kind: Any = keras.Sequential) -> Any:
    """Layers between an input of SIZE numbers and an output of three."""
    return kind([keras.Input((SIZE,)), *middle, layers.Dense(3)])


FAMILIES: dict[str, Callable[[], Any]] = {
    "dense": lambda: stack(layers.Dense(5, activation="tanh", kernel_regularizer="l2")),
    "normalized": lambda: stack(layers.Dense(5, use_bias=False), layers.BatchNormalization(synchronized=True)),
    "positions": lambda: stack(Positions(), layers.GlobalAveragePooling1D()),
    "places": lambda: stack(PositionsBySize(), layers.GlobalAveragePooling1D()),
    "masked outputs": lambda: stack(
        layers.Lambda(_tokens), layers.Embedding(16, 6, mask_zero=True), layers.LSTM(4, return_sequences=True)
    ),
    "counting": lambda: stack(layers.Dense(5, activation="tanh"), kind=Counting),
    "masked": lambda: stack(layers.Lambda(_tokens), layers.Embedding(16, 6, mask_zero=True), layers.LSTM(4)),
    "two outputs": _functional_two_outputs,
    "seen": lambda: stack(SampleCount(), layers.Dense(5, activation="tanh")),
    "unique": lambda: stack(UniqueTokens()),
    "two types": lambda: keras.Sequential([keras.Input((SIZE,)), layers.Dense(3), Eps()]),
    "penalty": lambda: Penalized(tf.reduce_mean),
    "penalty summed": lambda: Penalized(tf.reduce_sum),
    "guide": lambda: stack(layers.Dense(5, activation="tanh"), kind=GuideStep),
    "own mean": lambda: stack(layers.Dense(5, activation="tanh"), kind=OwnMean),
    "own sum": lambda: stack(layers.Dense(5, activation="tanh"), kind=OwnSum),
    "gan": Gan,
}


def labelled(family: str, y: Any) -> Any:
    """Labels of three numbers a sample, as a family's outputs are."""
    if family == "two outputs":
        return {"a": y, "b": -y}
    return np.repeat(y[:, None], SIZE, axis=1) if family == "masked outputs" else y
