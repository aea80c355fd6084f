"""A program of a user: a small model with `tensorplane.fit`. The test that starts it can have it killed at a step."""

from __future__ import annotations

import functools
import os
import signal
import time
from pathlib import Path
from typing import Any

import keras
import numpy as np
import tensorflow as tf

import tensorplane
from tensorplane.checkpoints import disk

EPOCHS, BATCH = int(os.environ.get("EPOCHS", "4")), 25


class KillAt(keras.callbacks.Callback):  # type: ignore[misc]  # Keras has no types
    """A signal to this process after so many steps. Resume restores what callbacks have and lists that they share with
    the program, so they are counted elsewhere.
    """

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        Steps.left -= 1
        if Steps.left == 0:
            os.kill(os.getpid(), signal.SIGTERM if "GENTLY" in os.environ else signal.SIGKILL)
            while not tensorplane.StopRequest().came:  # another thread notes it; this one may be much faster
                time.sleep(0.01)


class Steps:
    """Until the signal."""

    left = int(os.environ.get("KILL_AFTER", "0"))


def kill_in_save(after: int) -> None:
    """SIGKILL in a save, after so many files were flushed."""
    own, left = disk.flush, [after]

    def flush(path: Path) -> None:
        left[0] -= 1
        if left[0] == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        own(path)

    disk.flush = flush


def main() -> None:
    tf.config.threading.set_intra_op_parallelism_threads(1)
    if "KILL_IN_SAVE" in os.environ:
        kill_in_save(int(os.environ["KILL_IN_SAVE"]))
    strategy = tensorplane.strategy()
    random = np.random.default_rng(0)
    x = random.normal(size=(210, 6)).astype("float32")
    y = (x[:, 0] * x[:, 1] > 0).astype("int64")
    data = tf.data.Dataset.from_tensor_slices((x, y))
    with strategy.scope():
        model = keras.Sequential(
            [
                keras.Input((6,)),
                keras.layers.Dense(16, activation="relu"),
                keras.layers.BatchNormalization(),
                keras.layers.Dropout(0.3, seed=5),
                keras.layers.Dense(2, activation="softmax"),
            ]
        )
        model.compile(
            optimizer=keras.optimizers.Adam(0.01),
            loss="sparse_categorical_crossentropy",
            metrics=["accuracy"],
            steps_per_execution=int(os.environ.get("STEPS_PER_EXECUTION", "1")),
        )
    files = Path(os.environ["FILES"])
    callbacks = [
        keras.callbacks.ReduceLROnPlateau("loss", patience=0, min_delta=1.0),
        keras.callbacks.ModelCheckpoint(files / "best.keras", monitor="loss", save_best_only=True),
        keras.callbacks.TensorBoard(files / "events"),
        keras.callbacks.CSVLogger(files / "log.csv", append=True),
        KillAt(),
    ]
    fit = functools.partial(tensorplane.fit, model)
    if "BY_HAND" in os.environ:
        callbacks, fit = [*callbacks, tensorplane.callbacks.Resume()], functools.partial(model.fit, verbose=0)
    history = fit(
        data.shuffle(210, seed=3).batch(BATCH),
        epochs=EPOCHS,
        validation_data=data.batch(50),
        callbacks=callbacks,
    )
    weights = np.concatenate([weight.ravel() for weight in model.get_weights()])
    print("weights", weights.tobytes().hex(), flush=True)
    print("history", {name: [float(value) for value in values] for name, values in history.history.items()}, flush=True)


if __name__ == "__main__":
    main()
