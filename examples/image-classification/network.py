"""The network, and which digits it is trained on and measured on."""

from __future__ import annotations

from pathlib import Path

import keras
import numpy as np
from sheets import SIZE

WEIGHTS = "network.weights.h5"
_HELD_OUT = 5
"""One digit of so many is for measuring only."""

Examples = tuple[np.ndarray, np.ndarray]


def network() -> keras.Model:
    """The untrained network: digits of 8 rows of 8 pixels from 0 to 16 to ten probabilities each."""
    return keras.Sequential(
        [
            keras.Input((SIZE, SIZE), name="image"),
            keras.layers.Rescaling(1 / 16),
            keras.layers.Reshape((SIZE, SIZE, 1)),
            keras.layers.Conv2D(16, 3, padding="same", activation="relu"),
            keras.layers.Conv2D(32, 3, activation="relu"),
            keras.layers.MaxPooling2D(2),
            keras.layers.Flatten(),
            keras.layers.Dense(64, activation="relu"),
            keras.layers.Dense(10, activation="softmax"),
        ]
    )


def examples(folder: Path) -> tuple[Examples, Examples]:
    """The digits to train on, and those held out: images and what they show."""
    table = np.concatenate([np.load(path) for path in sorted(folder.iterdir())])
    images, digits = table[:, :-1].reshape(-1, SIZE, SIZE).astype(np.float32), table[:, -1].astype(np.int64)
    out = np.arange(len(digits)) % _HELD_OUT == 0
    return (images[~out], digits[~out]), (images[out], digits[out])
