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
