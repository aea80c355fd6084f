"""What TensorFlow's tutorial "Multi-worker training with Keras" calls: `fit` by several workers, saving, callbacks.

tutorial_multi_worker_keras.py SAVED        # the path of the saved model, in the form of the installed Keras
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf
from tutorial_data import digest, load_data

STEPS = 20


def dataset(batch_size: int) -> tf.data.Dataset:
    (images, labels), _ = load_data()
    whole = tf.data.Dataset.from_tensor_slices((images / np.float32(255), labels.astype(np.int64)))
    return whole.shuffle(60000).repeat().batch(batch_size)


def compiled_model() -> Any:
    layers = tf.keras.layers
    model = tf.keras.Sequential(
        [
            layers.InputLayer(input_shape=(8, 8)),
            layers.Reshape(target_shape=(8, 8, 1)),
            layers.Conv2D(16, 3, activation="relu"),
            layers.Flatten(),
            layers.Dense(64, activation="relu"),
            layers.Dense(10),
        ]
    )
    model.compile(
        loss=tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        optimizer=tf.keras.optimizers.SGD(learning_rate=0.05),
        metrics=["accuracy"],
    )
    return model


def own_path(path: str, kind: str | None, index: int) -> str:
    """The path of the chief; that of a worker, who must save too, in a folder that it deletes."""
    if kind is None or (kind == "worker" and index == 0):
        return path
    folder = Path(path).parent / f"of_worker_{index}"
    tf.io.gfile.makedirs(folder)
    return str(folder / Path(path).name)


workers = len(json.loads(os.environ["TF_CONFIG"])["cluster"]["worker"])
strategy = tf.distribute.MultiWorkerMirroredStrategy()
batches = dataset(32 * workers)
with strategy.scope():
    model = compiled_model()
model.fit(batches, epochs=3, steps_per_epoch=STEPS, callbacks=[tf.keras.callbacks.TensorBoard(log_dir="./logs")])

options = tf.data.Options()
options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.OFF
model.fit(dataset(32).with_options(options), epochs=1, steps_per_epoch=STEPS)

resolver = strategy.cluster_resolver
kind, index = resolver.task_type, resolver.task_id
# Callbacks of other workers keep no files.
assert index or tf.io.gfile.glob("logs/train/*tfevents*"), "TensorBoard's callback has written"
saved = sys.argv[1]
mine = own_path(saved, kind, index)
model.save(mine)
if mine != saved:
    tf.io.gfile.rmtree(Path(mine).parent)
else:
    loaded = tf.keras.models.load_model(saved)
    for before, after in zip(model.get_weights(), loaded.get_weights(), strict=True):
        np.testing.assert_array_equal(before, after)

checkpoint_dir = "/tmp/ckpt"
checkpoint = tf.train.Checkpoint(model=model)
manager = tf.train.CheckpointManager(checkpoint, directory=own_path(checkpoint_dir, kind, index), max_to_keep=1)
manager.save()
if manager.directory != checkpoint_dir:
    tf.io.gfile.rmtree(manager.directory)
checkpoint.restore(tf.train.latest_checkpoint(checkpoint_dir))
model.fit(batches, epochs=2, steps_per_epoch=STEPS)

for often in ({}, {"save_freq": 8}):
    with strategy.scope():
        model = compiled_model()
    backup = tf.keras.callbacks.BackupAndRestore(backup_dir="/tmp/backup", **often)
    history = model.fit(batches, epochs=3, steps_per_epoch=STEPS, callbacks=[backup])
    assert len(history.history["loss"]) == 3
    assert history.history["accuracy"][-1] > history.history["accuracy"][0]
print(f"tutorial=finished weights={digest(model.get_weights())}", flush=True)
