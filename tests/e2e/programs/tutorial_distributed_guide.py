"""What TensorFlow's guide "Distributed training" and tutorial "Distributed training with Keras" call."""

from __future__ import annotations

import pathlib
from typing import Any

import numpy as np
import tensorflow as tf
from tutorial_data import digest, load_data

strategy = tf.distribute.MirroredStrategy()

with strategy.scope():
    line = tf.keras.Sequential(
        [tf.keras.layers.Dense(1, input_shape=(1,), kernel_regularizer=tf.keras.regularizers.L2(1e-4))]
    )
    line.compile(loss="mse", optimizer="sgd")
ones = tf.data.Dataset.from_tensors(([1.0], [1.0])).repeat(100)
line.fit(ones.batch(10), epochs=2)
line.evaluate(ones.batch(10))
line.fit(np.ones((100, 1)), np.ones((100, 1)), epochs=2, batch_size=10)

with strategy.scope():
    line = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(1,))])
    optimizer = tf.keras.optimizers.SGD()
crossentropy = tf.keras.losses.BinaryCrossentropy(from_logits=True, reduction=tf.keras.losses.Reduction.NONE)
batch = 5 * strategy.num_replicas_in_sync
distributed = strategy.experimental_distribute_dataset(ones.repeat(10).batch(batch))


def train_step(inputs: Any) -> Any:
    features, labels = inputs
    with tf.GradientTape() as tape:
        loss = tf.nn.compute_average_loss(crossentropy(labels, line(features, training=True)))
    gradients = tape.gradient(loss, line.trainable_variables)
    optimizer.apply_gradients(zip(gradients, line.trainable_variables, strict=True))
    return loss


@tf.function  # type: ignore[untyped-decorator]  # TensorFlow has no types
def distributed_step(inputs: Any) -> Any:
    return strategy.reduce(tf.distribute.ReduceOp.SUM, strategy.run(train_step, args=(inputs,)), axis=None)


losses = [float(distributed_step(each)) for each in distributed]
assert losses[-1] < losses[0]
iterator = iter(distributed)
for _ in range(10):
    distributed_step(next(iterator))

train, test = (
    tf.data.Dataset.from_tensor_slices((images[..., None], labels)).map(lambda x, y: (tf.cast(x, tf.float32) / 255, y))
    for images, labels in load_data()
)
train, test = train.cache().shuffle(10000).batch(64), test.batch(64)
with strategy.scope():
    model = tf.keras.Sequential(
        [
            tf.keras.layers.Conv2D(16, 3, activation="relu", input_shape=(8, 8, 1)),
            tf.keras.layers.MaxPooling2D(),
            tf.keras.layers.Flatten(),
            tf.keras.layers.Dense(64, activation="relu"),
            tf.keras.layers.Dense(10),
        ]
    )
    compiled = {
        "loss": tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        "metrics": ["accuracy"],
    }
    model.compile(optimizer=tf.keras.optimizers.Adam(learning_rate=0.001), **compiled)


class PrintRate(tf.keras.callbacks.Callback):  # type: ignore[misc]  # Keras has no types
    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        print(f"epoch={epoch + 1} rate={float(self.model.optimizer.learning_rate.numpy()):g}", flush=True)


folder = "./training_checkpoints"
callbacks = [
    tf.keras.callbacks.TensorBoard(log_dir="./logs"),
    tf.keras.callbacks.ModelCheckpoint(filepath=folder + "/ckpt_{epoch:04d}.weights.h5", save_weights_only=True),
    tf.keras.callbacks.LearningRateScheduler(lambda epoch: 2e-3 if epoch < 3 else 2e-4),
    PrintRate(),
]
model.fit(train, epochs=4, callbacks=callbacks)
assert tf.io.gfile.glob("logs/train/*tfevents*"), "TensorBoard's callback has written"
model.load_weights(sorted(pathlib.Path(folder).glob("*"))[-1])
loss, accuracy = model.evaluate(test)
assert accuracy > 0.7, accuracy

model.save("my_model.keras")
alone = tf.keras.models.load_model("my_model.keras")
alone.compile(optimizer=tf.keras.optimizers.Adam(), **compiled)
assert np.isclose(alone.evaluate(test)[1], accuracy)
with strategy.scope():
    replicated = tf.keras.models.load_model("my_model.keras")
    replicated.compile(optimizer=tf.keras.optimizers.Adam(), **compiled)
    assert np.isclose(replicated.evaluate(test)[1], accuracy)
print(f"tutorial=finished weights={digest(model.get_weights())}", flush=True)
