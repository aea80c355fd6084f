"""Trains with `tensorplane.fit`, and ends once the job's evaluator has measured the last checkpoint."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

from digits_network import EPOCHS, compiled, report, training_data

import tensorplane

strategy = tensorplane.strategy()
with strategy.scope():
    model = compiled()
tensorplane.fit(model, training_data(), epochs=EPOCHS)
last = EPOCHS * int(training_data().cardinality())
verdict = Path(os.environ["TENSORBOARD_DIR"]) / "verdict.json"
while not (verdict.exists() and json.loads(verdict.read_text())["step"] == last):
    time.sleep(0.5)
print(f"evaluated={last} by_evaluator={json.loads(verdict.read_text())['accuracy']:.4f}", flush=True)
report(model.get_weights())
