"""Trains a small convolutional network on the UCI handwritten digits, on as many workers as TF_CONFIG names.

Reads digits.csv.gz (64 pixels from 0 to 16, then the digit) beside this file. Writes checkpoints below CHECKPOINT_DIR
and the model as the next version below MODEL_DIR: its one input is a batch of images, 8 rows of 8 pixels from 0 to 16,
so a request to a server is {"instances": [[[0, 5, ...], ...], ...]}; its output is ten probabilities per image.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

_STARTED = time.monotonic()
# By hand: `python examples/digits/train.py`. In a pod the library is mounted, and on PYTHONPATH.
if "PYTHONPATH" not in os.environ:
    sys.path.append(str(Path(__file__).resolve().parents[2] / "runtime"))

from tensorplane import StopRequest  # noqa: E402

STOP = StopRequest()
print("tensorplane: started", flush=True)  # before TensorFlow, which takes seconds

import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402
from data import SEED, load  # noqa: E402
from tensorflow import keras  # noqa: E402

from tensorplane import Checkpointer, Loop, Order, Place, Schedule, publish, say  # noqa: E402

DATA = Path(__file__).parent / "digits.csv.gz"


def network() -> keras.Model:
    """The untrained model."""
    return keras.Sequential(
        [
            keras.Input((8, 8), name="image"),
            keras.layers.Rescaling(1 / 16),
            keras.layers.Reshape((8, 8, 1)),
            keras.layers.Conv2D(16, 3, padding="same", activation="relu"),
            keras.layers.Conv2D(32, 3, activation="relu"),
            keras.layers.MaxPooling2D(2),
            keras.layers.Flatten(),
            keras.layers.Dense(64, activation="relu"),
            keras.layers.Dense(10, activation="softmax"),
        ]
    )


def main() -> None:
    """Trains, measures on the held-out digits, publishes."""
    seed = int(os.environ.get("SEED", SEED))
    schedule = Schedule(steps=int(os.environ.get("STEPS", "600")))
    model_dir, checkpoint_dir = Path(os.environ["MODEL_DIR"]), Path(os.environ["CHECKPOINT_DIR"])

    # The workers of a small model share their machine's cores; one thread each keeps them out of each other's way.
    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(2)
    tf.config.experimental.enable_op_determinism()
    keras.utils.set_random_seed(seed)

    place = Place.current()
    strategy = place.strategy()
    (images, digits), held_out = load(DATA, seed)
    order = Order(examples=len(digits), global_batch=int(os.environ.get("GLOBAL_BATCH", "64")), seed=seed)

    with strategy.scope():
        model = network()
        optimizer = keras.optimizers.Adam(keras.optimizers.schedules.CosineDecay(2e-3, schedule.steps))
        optimizer.build(model.trainable_variables)
    step = tf.Variable(0, dtype=tf.int64)
    checkpoints = Checkpointer(model=model, optimizer=optimizer, step=step)
    resumed = checkpoints.restore() is not None
    if place.is_chief:
        start = f"{time.monotonic() - _STARTED:.1f}"
        say(workers=place.workers, step=int(step), steps=schedule.steps, resumed=resumed, start_seconds=start)

    def train_step(x: tf.Tensor, y: tf.Tensor) -> tf.Tensor:
        with tf.GradientTape() as tape:
            # Summed over the workers, the shares make the average over the global batch.
            loss = tf.reduce_sum(keras.losses.sparse_categorical_crossentropy(y, model(x))) / order.global_batch
        optimizer.apply(tape.gradient(loss, model.trainable_variables), model.trainable_variables)
        return loss

    all_images, all_digits = tf.constant(images), tf.constant(digits)
    batches = order.batches(
        strategy, lambda at: (tf.gather(all_images, at), tf.gather(all_digits, at)), first_step=int(step)
    )
    Loop(strategy, place, train_step, step).run(batches, schedule, checkpoints, STOP)

    if place.is_chief:
        # A model outside the strategy: it is saved without asking the other workers, who may have gone.
        trained = network()
        trained.set_weights(model.get_weights())
        accuracy = float(np.mean(np.argmax(trained(held_out[0]), axis=1) == held_out[1]))
        say(accuracy=f"{accuracy:.4f}", held_out=len(held_out[1]), trained_on=len(digits))
        version = publish(lambda folder: trained.export(folder, verbose=False), model_dir, run=checkpoint_dir.name)
        say(version=version, path=model_dir / str(version), seconds=f"{time.monotonic() - _STARTED:.1f}")


if __name__ == "__main__":
    main()
