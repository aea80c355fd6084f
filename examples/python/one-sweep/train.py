"""A model of y = 3x + 1, trained at the rate of the variable RATE and published for the model server."""

import os

import keras
import numpy as np

import tensorplane

x = np.random.default_rng(7).normal(size=(1024, 1)).astype("float32")
with tensorplane.strategy().scope():
    model = keras.Sequential([keras.Input((1,), name="x"), keras.layers.Dense(1)])
    model.compile(optimizer=keras.optimizers.SGD(float(os.environ["RATE"])), loss="mse")
tensorplane.fit(model, x, 3 * x + 1, batch_size=64, epochs=5)
tensorplane.publish(model)
