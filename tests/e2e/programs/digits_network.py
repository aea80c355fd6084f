"""A small network for the digits, and what each program of these jobs prints at its end."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf
from data import load

EPOCHS, BATCH = int(os.environ.get("EPOCHS", "30")), 64
FILE = Path(__file__).parent / "digits.csv.gz"


def network() -> Any:
    """The untrained model, of Keras 3 or, with TF_USE_LEGACY_KERAS, of tf_keras."""
    layers = tf.keras.layers
    return tf.keras.Sequential(
        [
            tf.keras.Input((8, 8)),
            layers.Rescaling(1 / 16),
            layers.Reshape((8, 8, 1)),
            layers.Conv2D(16, 3, padding="same", activation="relu"),
            layers.MaxPooling2D(2),
            layers.Flatten(),
            layers.Dense(64, activation="relu"),
            layers.Dense(10, activation="softmax"),
        ]
    )


def compiled() -> Any:
    """The same, compiled: call it in a strategy's scope."""
    model = network()
    model.compile(
        optimizer=tf.keras.optimizers.Adam(3e-3), loss="sparse_categorical_crossentropy", metrics=["accuracy"]
    )
    return model


def training_data() -> tf.data.Dataset:
    """Shuffled batches of one epoch."""
    images, digits = load(FILE)[0]
    return tf.data.Dataset.from_tensor_slices((images, digits)).shuffle(len(digits), seed=7).batch(BATCH)


def report(weights: list[Any]) -> None:
    """Print a digest of the weights, and the accuracy of a copy outside the strategy on the held-out digits."""
    digest = hashlib.sha256(b"".join(np.ascontiguousarray(each).tobytes() for each in weights)).hexdigest()
    judge = network()
    judge.set_weights(weights)
    images, digits = load(FILE)[1]
    accuracy = float(np.mean(np.argmax(judge(images), axis=1) == digits))
    print(f"weights={digest[:16]} accuracy={accuracy:.4f}", flush=True)
