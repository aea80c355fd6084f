"""A loop of one's own with `strategy.run`, without tensorplane."""

from __future__ import annotations

from typing import Any

import strategies
import tensorflow as tf
from digits_network import BATCH, EPOCHS, network, report, training_data

strategy = strategies.chosen()
with strategy.scope():
    model = network()
    optimizer = tf.keras.optimizers.Adam(3e-3)
    optimizer.build(model.trainable_variables)
batches = strategy.experimental_distribute_dataset(training_data())


def step(images: Any, digits: Any) -> None:
    with tf.GradientTape() as tape:
        losses = tf.keras.losses.sparse_categorical_crossentropy(digits, model(images, training=True))
        loss = tf.nn.compute_average_loss(losses, global_batch_size=BATCH)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))


@tf.function  # type: ignore[untyped-decorator]  # TensorFlow has no types
def epoch() -> None:
    for images, digits in batches:
        strategy.run(step, args=(images, digits))


for _ in range(EPOCHS):
    epoch()
report(model.get_weights())
