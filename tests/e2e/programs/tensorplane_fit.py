"""The same with `tensorplane.fit`, which saves, resumes and stops."""

from __future__ import annotations

import os

import strategies
from digits_network import EPOCHS, compiled, report, training_data

import tensorplane

# tensorplane counts GPUs; replicas on a processor are the program's own.
strategy = strategies.chosen() if os.environ["STRATEGY"] == "mirrored" else tensorplane.strategy()
with strategy.scope():
    model = compiled()
tensorplane.fit(model, training_data(), epochs=EPOCHS)
report(model.get_weights())
