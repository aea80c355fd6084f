"""What a model that was trained on several replicas is when it is published."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf
import tf_keras  # type: ignore[import-untyped]

from tensorplane.export import export
from tests.runtime import two_replicas

_NUMBERS = np.array([[1.0], [5.0], [30.0]], "float32")
_WORDS = np.array([["cat"], ["dog"], ["owl"]])


def _loss(truth: Any, predicted: Any) -> Any:
    """Keras could not find it by its name."""
    return tf.reduce_mean(tf.square(truth - predicted))


def _model(library: Any) -> Any:
    """A model that has adapted to its data: means, boundaries and words."""
    layers = library.layers
    with two_replicas.strategy().scope():
        normalized, rounded = layers.Normalization(), layers.Discretization(num_bins=3)
        # TensorFlow's tables are on the CPU anyway.
        words = layers.StringLookup(output_mode="one_hot")
        for layer, data in ((normalized, _NUMBERS), (rounded, _NUMBERS), (words, _WORDS)):
            layer.adapt(data)
        number, word = library.Input((1,)), library.Input((1,), dtype="string")
        parts = [normalized(number), layers.Embedding(3, 2)(rounded(number))[:, 0], words(word)]
        dense = layers.Dense(2)(layers.BatchNormalization()(layers.Concatenate()(parts)))
        model = library.Model([number, word], dense)
        model.compile("sgd", _loss, metrics=[_loss])
    return model


@pytest.mark.parametrize("library", [keras, tf_keras], ids=["keras", "tf_keras"])
def test_a_published_model_has_what_its_layers_adapted_to(tmp_path: Path, library: Any) -> None:
    model = _model(library)
    export(model, tmp_path / "1")
    served = tf.saved_model.load(str(tmp_path / "1"))
    inputs = [tf.constant(_NUMBERS), tf.constant(_WORDS)]
    expected = model(inputs)
    assert np.ptp(expected.numpy()) > 0.1, "inputs differ"
    assert np.allclose(served.serve(inputs), expected, atol=1e-6)
    assert model.loss is _loss, "the model can train on"


class _Wrapped(keras.layers.Layer):  # type: ignore[misc]  # Keras has no types
    """A layer that takes a layer and a function, and has no configuration; with a variable of TensorFlow's own."""

    def __init__(self, inner: Any, function: Any) -> None:
        super().__init__()
        self.inner, self.function = inner, function
        self.scale = tf.Variable(2.0, trainable=False)

    def call(self, x: Any) -> Any:
        return self.function(self.inner(x)) * self.scale


def test_what_keras_cannot_make_again_is_published_after_training_on_replicas(tmp_path: Path) -> None:
    layers = keras.layers
    with two_replicas.strategy().scope():
        lambdas = [layers.Lambda(lambda x: x * 3.0), layers.Dense(4, activation=lambda x: tf.nn.relu(x) + 1.0)]
        model = keras.Sequential([keras.Input((1,)), *lambdas, _Wrapped(layers.Dense(2), tf.tanh)])
        model.compile("adam", "mse", metrics=["mae"])
    data = tf.data.Dataset.from_tensor_slices((_NUMBERS, np.ones((3, 2), "float32"))).batch(2)
    model.fit(data, verbose=0)
    export(model, tmp_path / "1")
    served = tf.saved_model.load(str(tmp_path / "1"))
    assert np.allclose(served.serve(_NUMBERS), model(_NUMBERS), atol=1e-6)
    before = model.get_weights()
    model.fit(data, verbose=0)
    after = model.get_weights()
    assert any(not np.array_equal(*pair) for pair in zip(before, after, strict=True)), "the model can train on"
