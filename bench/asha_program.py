"""The trials of `bench/asha.py`: trains every combination of a grid on the digits, and prints what it reports.

A line for each report: `report TRIAL STEP LOSS SECONDS`, with the loss of the samples that are not trained on, and the
processor time of the trial so far without what it evaluates.
"""

from __future__ import annotations

import time
from typing import Any

import keras
from sklearn.datasets import load_digits

_SEED, _BATCH, _EPOCHS, _TRAINED = 7, 64, 54, 1437
_LAYERS, _RATES = (1, 2), (1e-4, 1e-3, 1e-2, 1e-1)
_OPTIMIZERS = {"adam": keras.optimizers.Adam, "sgd": keras.optimizers.SGD}


class _Reports(keras.callbacks.Callback):  # type: ignore[misc]  # Keras has no types
    """Prints the loss after each epoch."""

    def __init__(self, trial: int) -> None:
        super().__init__()
        self._trial, self._evaluating, self._began, self._seconds = trial, 0.0, time.process_time(), 0.0

    def on_test_begin(self, logs: Any = None) -> None:
        self._seconds = time.process_time() - self._began - self._evaluating

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        step = (epoch + 1) * -(-_TRAINED // _BATCH)
        print(f"report {self._trial} {step} {logs['val_loss']:.6f} {self._seconds:.4f}", flush=True)
        self._evaluating = time.process_time() - self._began - self._seconds


def _train(trial: int, layers: int, rate: float, optimizer: str) -> None:
    found = load_digits()
    images, digits = found.data.astype("float32") / 16, found.target
    keras.utils.set_random_seed(_SEED)
    hidden = [keras.layers.Dense(32, activation="relu") for _ in range(layers)]
    model = keras.Sequential([keras.Input((64,)), *hidden, keras.layers.Dense(10, activation="softmax")])
    model.compile(_OPTIMIZERS[optimizer](rate), loss="sparse_categorical_crossentropy")
    model.fit(
        images[:_TRAINED],
        digits[:_TRAINED],
        batch_size=_BATCH,
        epochs=_EPOCHS,
        validation_data=(images[_TRAINED:], digits[_TRAINED:]),
        validation_batch_size=len(images),
        callbacks=[_Reports(trial)],
        verbose=0,
    )


if __name__ == "__main__":
    every = [(depth, rate, name) for depth in _LAYERS for rate in _RATES for name in _OPTIMIZERS]
    for number, values in enumerate(every):
        _train(number, *values)
