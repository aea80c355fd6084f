"""A small model that a number decides, trained on a version of a dataset that later commits replace."""

from __future__ import annotations

import random
import sys
from pathlib import Path

import keras
import numpy as np

import tensorplane
from tensorplane.datasets import Dataset, Note

chance = random.Random(sys.argv[1])
dataset = Dataset(f"/models/datasets/numbers-{sys.argv[1]}")


def commit(seed: str, message: str) -> None:
    """Commit other numbers as the newest version; nothing if it was committed before."""
    folder = Path("/tmp/numbers")
    folder.mkdir(exist_ok=True)
    np.random.default_rng(list(seed.encode())).normal(size=(96, 4)).astype("float32").tofile(folder / "x")
    dataset.commit(folder, note=Note(message), whole=True)


if not dataset.store.exists:
    commit(sys.argv[1], "the first")
x = np.fromfile(dataset.open("main") / "x", "float32").reshape(-1, 4)

with tensorplane.strategy().scope():
    layers = [keras.Input((4,))]
    for _ in range(chance.randint(1, 3)):
        layers.append(keras.layers.Dense(chance.randint(1, 16), activation=chance.choice(["relu", "tanh", "gelu"])))
        layers += chance.choice([[], [keras.layers.Dropout(0.3)], [keras.layers.BatchNormalization()]])
    model = keras.Sequential([*layers, keras.layers.Dense(1)])
    model.compile(optimizer=chance.choice(["sgd", "adam", "rmsprop"]), loss=chance.choice(["mse", "mae"]))
tensorplane.fit(model, x, x.sum(1, keepdims=True), batch_size=chance.choice([8, 16, 32]), epochs=chance.randint(1, 3))
tensorplane.publish(model)
commit(f"{sys.argv[1]} later", "another")
