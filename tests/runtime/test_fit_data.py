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


@pytest.mark.parametrize(("sizes", "have"), [((8, 5), "5 and 8 rows"), ((None, None), "unlike numbers of rows")])
def test_batches_whose_parts_have_other_numbers_of_rows_are_refused(sizes: tuple[int | None, ...], have: str) -> None:
    """Of points inside an area and on its border, replicas would take rows 0 to 8 of both, or 0 to 5."""

    class Physics(keras.Model):  # type: ignore[misc]  # Keras has no types
        def train_step(self, data: Any) -> Any:
            with tf.GradientTape() as tape:
                loss = sum(tf.reduce_mean(tf.square(self(part))) for part in data)
            self.optimizer.apply(tape.gradient(loss, self.trainable_variables), self.trainable_variables)
            return {"loss": loss}

    data = tf.data.Dataset.from_generator(
        lambda: [(_X[:8], _X[:5])], output_signature=tuple(tf.TensorSpec([size, 3], tf.float32) for size in sizes)
    )
    with two_replicas.strategy().scope():
        inputs = keras.Input((3,))
        model = Physics(inputs, keras.layers.Dense(1)(inputs))
        model.compile("sgd")
    with pytest.raises((ValueError, tf.errors.InvalidArgumentError), match=f"dataset: parts of a batch have {have}"):
        tensorplane.fit(model, data)


def test_predictions_have_every_row_that_a_model_returns() -> None:
    """A model may return a row for each word; the last batch has one sample, so a replica has none."""
    words = np.arange(45, dtype="float32").reshape(5, 3, 3)
    with two_replicas.strategy().scope():
        inputs = keras.Input((3, 3))
        model = keras.Model(inputs, keras.ops.reshape(2 * inputs, (-1, 3)))
        model.compile()
    np.testing.assert_array_equal(model.predict(words, batch_size=2, verbose=0), 2 * words.reshape(15, 3))


def test_xla_is_refused_on_several_replicas() -> None:
    with two_replicas.strategy().scope():
        model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(1)])
        model.compile("sgd", "mse", jit_compile=True)
    with pytest.raises(ValueError, match=r"^jit_compile: XLA cannot compile the exchange between replicas; set "):
        tensorplane.fit(model, _plain())


class _Distances(keras.Model):  # type: ignore[misc]  # Keras has no types
    """Of anchors, positives and negatives, which only its `train_step` knows: to Keras they are x, y and weights."""

    def __init__(self) -> None:
        super().__init__(name="distances")
        self.embed = keras.layers.Dense(2)

    def call(self, inputs: Any) -> Any:
        anchor, positive, negative = (self.embed(each) for each in inputs)
        return tf.reduce_sum(tf.square(anchor - positive) - tf.square(anchor - negative), axis=1)

    def train_step(self, data: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.nn.relu(self(data) + 0.5))
        self.optimizer.apply(tape.gradient(loss, self.trainable_variables), self.trainable_variables)
        return {"loss": loss}


class _Copies(keras.Model):  # type: ignore[misc]  # Keras has no types
    """Learns its inputs: labels are None."""

    def __init__(self) -> None:
        super().__init__(name="copies")
        self.dense = keras.layers.Dense(3)

    def call(self, inputs: Any) -> Any:
        return self.dense(inputs)

    def compute_loss(self, x: Any = None, y: Any = None, y_pred: Any = None, *_: Any, **__: Any) -> Any:
        assert y is None
        return tf.reduce_mean(tf.square(x - y_pred))


@pytest.mark.parametrize(
    ("model", "data"),
    [(_Distances, lambda x: (x, x + 1, x - 1)), (_Copies, lambda x: (x, None))],
    ids=["three inputs", "no labels"],
)
def test_batches_of_other_forms_train_as_in_one_process(model: Any, data: Any) -> None:
    x = np.random.default_rng(1).normal(size=(18, 3)).astype("float32")
    found = []
    for strategy in (tf.distribute.get_strategy(), two_replicas.strategy()):
        keras.utils.set_random_seed(1)
        with strategy.scope():
            made = model()
            made.compile(keras.optimizers.SGD(0.1))
        batches = tf.data.Dataset.from_tensor_slices(x).batch(5).map(data)
        found.append(tensorplane.fit(made, batches, epochs=2).history["loss"])
    assert found[1] == pytest.approx(found[0], rel=1e-5)
