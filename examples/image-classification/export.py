"""Exports the trained network for model servers, unless it misses its accuracy on the digits that were held out."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy as np
import tensorflow as tf
from network import WEIGHTS, examples, network

model = network()
model.load_weights(Path("/in/weights", WEIGHTS))
model.export("/out", verbose=False)

# What is measured is what will be served.
serve = tf.saved_model.load("/out").signatures["serve"]
_, (images, digits) = examples(Path("/in/digits"))
(scores,) = serve(tf.constant(images)).values()
accuracy = float(np.mean(np.argmax(scores, axis=1) == digits))
least = float(os.environ["LEAST_ACCURACY"])
print(f"accuracy {accuracy:.4f} on {len(digits)} digits; at least {least} is required", flush=True)
sys.exit(accuracy < least)
