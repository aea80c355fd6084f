"""What TensorFlow's tutorial "Custom training with tf.distribute.Strategy" calls, on all devices of one machine."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf
from tutorial_data import digest, load_data

EPOCHS = 4

(train_images, train_labels), (test_images, test_labels) = (
    (images[..., None] / np.float32(255), labels) for images, labels in load_data()
)
strategy = tf.distribute.MirroredStrategy()
print(f"devices={strategy.num_replicas_in_sync}", flush=True)
BATCH = 64 * strategy.num_replicas_in_sync
train = tf.data.Dataset.from_tensor_slices((train_images, train_labels)).shuffle(len(train_images)).batch(BATCH)
test = tf.data.Dataset.from_tensor_slices((test_images, test_labels)).batch(BATCH)
train_batches = strategy.experimental_distribute_dataset(train)
test_batches = strategy.experimental_distribute_dataset(test)


def new_model() -> Any:
    layers, penalty = tf.keras.layers, tf.keras.regularizers.L2(1e-5)
    return tf.keras.Sequential(
        [
            layers.Conv2D(16, 3, activation="relu", kernel_regularizer=penalty),
            layers.MaxPooling2D(),
            layers.Flatten(),
            layers.Dense(64, activation="relu", kernel_regularizer=penalty),
            layers.Dense(10, kernel_regularizer=penalty),
        ]
    )


folder = "./training_checkpoints"
with strategy.scope():
    crossentropy = tf.keras.losses.SparseCategoricalCrossentropy(
        from_logits=True, reduction=tf.keras.losses.Reduction.NONE
    )
    test_loss = tf.keras.metrics.Mean(name="test_loss")
    train_accuracy = tf.keras.metrics.SparseCategoricalAccuracy(name="train_accuracy")
    test_accuracy = tf.keras.metrics.SparseCategoricalAccuracy(name="test_accuracy")
    model = new_model()
    optimizer = tf.keras.optimizers.Adam(learning_rate=0.002)
    checkpoint = tf.train.Checkpoint(optimizer=optimizer, model=model)


def train_step(inputs: Any) -> Any:
    images, labels = inputs
    with tf.GradientTape() as tape:
        predictions = model(images, training=True)
        loss = tf.nn.compute_average_loss(crossentropy(labels, predictions))
        if model.losses:
            loss += tf.nn.scale_regularization_loss(tf.add_n(model.losses))
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
    train_accuracy.update_state(labels, predictions)
    return loss


def test_step(inputs: Any) -> None:
    images, labels = inputs
    predictions = model(images, training=False)
    test_loss.update_state(crossentropy(labels, predictions))
    test_accuracy.update_state(labels, predictions)


@tf.function  # type: ignore[untyped-decorator]  # TensorFlow has no types
def distributed_train_step(inputs: Any) -> Any:
    return strategy.reduce(tf.distribute.ReduceOp.SUM, strategy.run(train_step, args=(inputs,)), axis=None)


@tf.function  # type: ignore[untyped-decorator]
def distributed_test_step(inputs: Any) -> Any:
    return strategy.run(test_step, args=(inputs,))


@tf.function  # type: ignore[untyped-decorator]
def distributed_epoch(batches: Any) -> Any:
    total = 0.0
    for each in batches:
        total += strategy.reduce(tf.distribute.ReduceOp.SUM, strategy.run(train_step, args=(each,)), axis=None)
    return total


for epoch in range(EPOCHS):
    losses = [distributed_train_step(each) for each in train_batches]
    for each in test_batches:
        distributed_test_step(each)
    if epoch % 2 == 0:
        checkpoint.save(f"{folder}/ckpt")
    found = (sum(losses) / len(losses), train_accuracy.result(), test_loss.result(), test_accuracy.result())
    print(f"epoch={epoch}", *(f"{float(each):.4f}" for each in found), flush=True)
    test_loss.reset_states()
    train_accuracy.reset_states()
    test_accuracy.reset_states()

last = tf.keras.metrics.SparseCategoricalAccuracy(name="eval_accuracy")
restored, other = new_model(), tf.keras.optimizers.Adam()
tf.train.Checkpoint(optimizer=other, model=restored).restore(tf.train.latest_checkpoint(folder))
for images, labels in test:
    last(labels, restored(images, training=False))
assert float(last.result()) > 0.7, float(last.result())

iterator = iter(train_batches)
for _ in range(10):
    distributed_train_step(next(iterator))
distributed_epoch(train_batches)
print(f"tutorial=finished weights={digest(model.get_weights())}", flush=True)
