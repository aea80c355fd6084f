"""Trains the network on the prepared digits, on as many workers as the stage has; the first one writes its weights."""

from __future__ import annotations

import os
from pathlib import Path

import keras

import tensorplane

# Before the first operation of TensorFlow.
strategy = tensorplane.strategy()

from network import WEIGHTS, examples, network  # noqa: E402

keras.utils.set_random_seed(7)
(images, digits), _ = examples(Path("/in/digits"))
with strategy.scope():
    model = network()
    model.compile(optimizer=keras.optimizers.Adam(2e-3), loss="sparse_categorical_crossentropy", metrics=["accuracy"])
tensorplane.fit(model, images, digits, batch_size=64, epochs=int(os.environ["EPOCHS"]))
if tensorplane.Place.current().is_chief:
    model.save_weights(Path("/out", WEIGHTS))
