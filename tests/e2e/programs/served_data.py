"""Trains on batches that the job's tf.data service shuffles and scales; each example comes once an epoch."""

from __future__ import annotations

import os

import tensorflow as tf
from data import load
from digits_network import BATCH, EPOCHS, FILE, compiled, report

images, digits = load(FILE)[0]
data = (
    tf.data.Dataset.from_tensor_slices((images, digits))
    .shuffle(len(digits))
    .map(lambda image, digit: (tf.clip_by_value(image + tf.random.normal([8, 8]), 0, 16), digit))
    .batch(BATCH)
    .apply(
        tf.data.experimental.service.distribute(
            tf.data.experimental.service.ShardingPolicy.DYNAMIC, os.environ["TENSORPLANE_DATA_SERVICE"]
        )
    )
)
counted = sorted(int(digit) for _, batch in data for digit in batch)
assert counted == sorted(digits.tolist()), "each example comes once"
model = compiled()
model.fit(data, epochs=EPOCHS, verbose=2)
report(model.get_weights())
