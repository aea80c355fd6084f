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


class _ByHand(keras.Model):  # type: ignore[misc]  # Keras has no types
    """Applies its gradients itself, and counts steps."""

    def __init__(self, own: str) -> None:
        super().__init__(name="by_hand")
        self.dense, self.own = keras.layers.Dense(1), own
        self.steps = self.add_weight(shape=(), dtype="int32", initializer="zeros", trainable=False, name="steps")
        self.mean = self.add_weight(shape=(), initializer="zeros", trainable=False, name="mean")

    def call(self, x: Any) -> Any:
        return self.dense(x)

    def train_step(self, data: Any) -> Any:
        x, y = data
        self.steps.assign_add(1)
        if self.own == "mean":
            self.mean.assign(0.99 * self.mean + 0.01 * tf.reduce_mean(x))
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(self(x) - y))
        gradients = tape.gradient(loss, self.trainable_variables)
        if self.own == "gradients":
            for weight, gradient in zip(self.trainable_variables, gradients, strict=True):
                weight.assign_sub(1e-3 * gradient)
        else:
            self.optimizer.apply(gradients, self.trainable_variables)
        return {"loss": loss}


@pytest.mark.parametrize(
    ("own", "says"),
    [
        ("nothing", ""),
        ("gradients", "model: train_step updates by_hand/dense"),
        ("mean", "by_hand/mean: is 0.00"),
    ],
)
def test_what_replicas_update_from_their_own_samples_is_said(
    own: str, says: str, capfd: pytest.CaptureFixture[str]
) -> None:
    """A small change too: TensorFlow lets each replica change its own copy."""
    with two_replicas.strategy().scope():
        model = _ByHand(own)
        model.compile("sgd")
    draws = np.random.default_rng(1)
    capfd.readouterr()
    tensorplane.fit(model, draws.random((8, 3)), draws.random((8, 1)), batch_size=8, shuffle=False)
    said = [line for line in capfd.readouterr().err.splitlines() if "train on one replica" in line]
    assert len(said) == bool(says), said
    assert not said or said[0].startswith(f"tensorplane: {says}")


def test_the_next_model_begins_as_without_the_library() -> None:
    """The library needs Keras' global generator of seeds, whose seed Keras draws where it draws those of weights."""

    def second(fit: Callable[..., Any]) -> Any:
        keras.utils.clear_session()
        keras.utils.set_random_seed(1)
        made = [keras.Sequential([keras.Input((3,)), keras.layers.Dense(1)])]
        made[0].compile("sgd", "mse")
        fit(made[0], np.zeros((4, 3)), np.zeros((4, 1)), verbose=0)
        return keras.Sequential([keras.Input((3,)), keras.layers.Dense(1)]).get_weights()[0]

    assert np.array_equal(second(tensorplane.fit), second(keras.Model.fit))


class _Noise(keras.layers.Layer):  # type: ignore[misc]  # Keras has no types
    """Draws without a seed, as examples of Keras do."""

    def call(self, x: Any) -> Any:
        return x + keras.random.normal((1, 3))


def test_a_step_draws_without_a_seed() -> None:
    def trained() -> list[np.ndarray]:
        keras.utils.clear_session()
        keras.utils.set_random_seed(1)
        with two_replicas.strategy().scope():
            model = keras.Sequential([keras.Input((3,)), _Noise(), keras.layers.Dense(1)])
            model.compile("sgd", "mse")
        assert np.isfinite(model.evaluate(np.ones((4, 3)), np.ones((4, 1)), verbose=0))
        tensorplane.fit(model, np.ones((8, 3)), np.ones((8, 1)), batch_size=4)
        weights: list[np.ndarray] = model.get_weights()
        return weights

    for one, other in zip(trained(), trained(), strict=True):
        assert np.array_equal(one, other)


def test_callbacks_read_variables_as_numbers() -> None:
    with two_replicas.strategy().scope():
        model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(1)])
        model.compile(keras.optimizers.SGD(0.5), "mse")
        own = tf.Variable(3)
    read = []

    class Reader(keras.callbacks.Callback):  # type: ignore[misc]  # Keras has no types
        def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
            optimizer = self.model.optimizer
            read.append((float(optimizer.learning_rate), int(optimizer.iterations), int(own)))

    tensorplane.fit(model, np.ones((8, 3)), np.ones((8, 1)), batch_size=4, callbacks=[Reader()])
    assert read == [(0.5, 1, 3), (0.5, 2, 3)]


def test_a_model_predicts_before_it_is_built() -> None:
    """As an agent does that acts before it learns."""
    with two_replicas.strategy().scope():
        model = keras.Sequential([keras.layers.Dense(2), keras.layers.Dropout(0.5)])
        model.compile("sgd", "mse")
    x = np.random.default_rng(1).random((5, 3))
    predicted = model.predict(x, verbose=0)
    assert predicted == pytest.approx(x @ model.get_weights()[0], rel=1e-5)
    tensorplane.fit(model, x, predicted, batch_size=4)


class _Coder(keras.Model):  # type: ignore[misc]  # Keras has no types
    """Has no call of its own, and a part that its first step builds."""

    def __init__(self) -> None:
        super().__init__()
        self.part = keras.Sequential([keras.layers.Dense(4, activation="relu"), keras.layers.Dense(3)])

    def train_step(self, x: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(self.part(x) - x))
        self.optimizer.apply(tape.gradient(loss, self.part.trainable_weights), self.part.trainable_weights)
        return {"loss": loss}


def test_the_first_step_builds_the_layers_of_all_replicas() -> None:
    def make() -> Any:
        model = _Coder()
        model.compile(keras.optimizers.SGD(0.1))
        return model

    data = np.random.default_rng(1).random((15, 3)), None
    one, several = (_weights(make, each, *data) for each in (tf.distribute.get_strategy(), two_replicas.strategy()))
    assert len(one) == len(several) == 4
    for mine, wanted in zip(several, one, strict=True):
        assert mine == pytest.approx(wanted, rel=1e-4, abs=1e-6)
