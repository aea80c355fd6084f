"""One trial of a sweep: trains a dense network on the UCI handwritten digits with the values that the sweep chose."""

import os
from pathlib import Path

import keras
import numpy as np

import tensorplane

rows = np.loadtxt(Path(__file__).parent / "digits.csv.gz", delimiter=",", dtype="float32")
images, digits = rows[:, :64] / 16, rows[:, 64].astype("int64")
optimizers = {"sgd": keras.optimizers.SGD, "adam": keras.optimizers.Adam}

with tensorplane.strategy().scope():
    hidden = [keras.layers.Dense(32, activation="relu") for _ in range(int(os.environ["LAYERS"]))]
    model = keras.Sequential([keras.Input((64,), name="image"), *hidden, keras.layers.Dense(10, activation="softmax")])
    optimizer = optimizers[os.environ["OPTIMIZER"]](float(os.environ["LEARNING_RATE"]))
    model.compile(optimizer, loss="sparse_categorical_crossentropy", metrics=["accuracy"])
tensorplane.fit(model, images[:1437], digits[:1437], batch_size=64, epochs=20)
tensorplane.publish(model)
