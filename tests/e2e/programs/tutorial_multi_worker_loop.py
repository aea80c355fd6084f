"""What TensorFlow's tutorial "Custom training loop with Keras and MultiWorkerMirroredStrategy" calls."""

from __future__ import annotations

import json
import os
from multiprocessing import util
from typing import Any

import numpy as np
import tensorflow as tf
from tutorial_data import digest, load_data

EPOCHS, STEPS = 3, 11


def dataset_of(global_batch: int, context: Any) -> tf.data.Dataset:
    (images, labels), _ = load_data()
    whole = tf.data.Dataset.from_tensor_slices((images / np.float32(255), labels.astype(np.int64))).shuffle(60000)
    own = whole.shard(context.num_input_pipelines, context.input_pipeline_id)
    return own.batch(context.get_per_replica_batch_size(global_batch))


def new_model() -> Any:
    layers, penalty = tf.keras.layers, tf.keras.regularizers.L2(1e-5)
    return tf.keras.Sequential(
        [
            tf.keras.Input(shape=(8, 8)),
            layers.Reshape(target_shape=(8, 8, 1)),
            layers.Conv2D(16, 3, activation="relu", kernel_regularizer=penalty),
            layers.Flatten(),
            layers.Dense(64, activation="relu", kernel_regularizer=penalty),
            layers.Dense(10, kernel_regularizer=penalty),
        ]
    )


strategy = tf.distribute.MultiWorkerMirroredStrategy()
workers = len(json.loads(os.environ["TF_CONFIG"])["cluster"]["worker"])
with strategy.scope():
    model = new_model()
    batches = strategy.distribute_datasets_from_function(lambda context: dataset_of(64 * workers, context))
    optimizer = tf.keras.optimizers.RMSprop(learning_rate=0.001)
    accuracy = tf.keras.metrics.SparseCategoricalAccuracy(name="train_accuracy")


@tf.function  # type: ignore[untyped-decorator]  # TensorFlow has no types
def train_step(iterator: Any) -> Any:
    def of_replica(inputs: Any) -> Any:
        x, y = inputs
        with tf.GradientTape() as tape:
            predictions = model(x, training=True)
            losses = tf.keras.losses.SparseCategoricalCrossentropy(
                from_logits=True, reduction=tf.keras.losses.Reduction.NONE
            )(y, predictions)
            loss = tf.nn.compute_average_loss(losses)
            if model.losses:
                loss += tf.nn.scale_regularization_loss(tf.add_n(model.losses))
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
        accuracy.update_state(y, predictions)
        return loss

    found = strategy.run(of_replica, args=(next(iterator),))
    return strategy.reduce(tf.distribute.ReduceOp.SUM, found, axis=None)


resolver = strategy.cluster_resolver
kind, index, cluster = resolver.task_type, resolver.task_id, resolver.cluster_spec()
is_chief = kind is None or kind == "chief" or (index == 0 and "chief" not in cluster.as_dict())
folder = f"{util.get_temp_dir()}/ckpt"
own_folder = folder if is_chief else f"{util.get_temp_dir()}/of_worker_{index}/ckpt"
epoch = tf.Variable(tf.constant(0, dtype=tf.int64), name="epoch")
step_in_epoch = tf.Variable(tf.constant(0, dtype=tf.int64), name="step_in_epoch")
checkpoint = tf.train.Checkpoint(model=model, epoch=epoch, step_in_epoch=step_in_epoch)
manager = tf.train.CheckpointManager(checkpoint, directory=own_folder, max_to_keep=1)
if latest := tf.train.latest_checkpoint(folder):
    checkpoint.restore(latest)

while epoch.numpy() < EPOCHS:
    iterator, total = iter(batches), 0.0
    while step_in_epoch.numpy() < STEPS:
        total += train_step(iterator)
        step_in_epoch.assign_add(1)
    print(f"epoch={epoch.numpy()} loss={total / STEPS:.4f} accuracy={accuracy.result():.4f}", flush=True)
    accuracy.reset_states()
    manager.save()
    if not is_chief:
        tf.io.gfile.rmtree(own_folder)
    epoch.assign_add(1)
    step_in_epoch.assign(0)
assert not is_chief or tf.train.latest_checkpoint(folder)
print(f"tutorial=finished weights={digest(model.get_weights())}", flush=True)
