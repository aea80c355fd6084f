"""`model.fit` as anybody writes it: without tensorplane, and with Keras 3 or tf_keras."""

from __future__ import annotations

import math

import strategies
from data import load
from digits_network import BATCH, EPOCHS, FILE, compiled, report, training_data

strategy = strategies.chosen()
with strategy.scope():
    model = compiled()
steps = math.ceil(len(load(FILE)[0][1]) / BATCH)
model.fit(training_data().repeat(), epochs=EPOCHS, steps_per_epoch=steps, verbose=2)
report(model.get_weights())
