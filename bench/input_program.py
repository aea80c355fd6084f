"""Measures the input pipeline here and prints JSON: run by `bench/input_pipeline.py` in a process of its own.

The examples are JPEG files of 768 x 768 pixels. `cut`: they are decoded, and 96 x 96 pixels are cut out, all on
one thread. `reduced`: they are decoded and reduced to 96 x 96, of which TensorFlow computes a part on several threads.
"""

from __future__ import annotations

import itertools
import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow import keras

import tensorplane

EXAMPLES, BATCH, ROUNDS = 512, 32, 7
_SIDE, _SMALL_SIDE = 768, 96
_WARM_UP_STEPS, _STEPS = 16, 48


def main() -> dict[str, Any]:
    """Samples per second of the pipelines in rounds, and the share of a step that waits for input."""
    with tempfile.TemporaryDirectory(prefix="bench-inputs-") as folder:
        root = Path(folder)
        paths, labels = _examples(root), np.arange(EXAMPLES) % 10
        found = {}
        for kind, load in _LOADS.items():
            caches = [root / f"cache-{kind}-{number}" for number in range(ROUNDS)]
            rounds = [_round(paths, labels, load, cache, number) for number, cache in enumerate(caches)]
            found[kind] = {name: [each[name] for each in rounds] for name in rounds[0]}
        return {**found, "wait": _share_of_wait(paths, labels, caches[0])}


def _examples(folder: Path) -> list[str]:
    chance = np.random.default_rng(1)
    paths = []
    for number in range(EXAMPLES):
        coarse = chance.integers(0, 255, (75, 75, 3), np.uint8)
        image = tf.cast(tf.image.resize(coarse, [_SIDE, _SIDE]), tf.uint8)
        path = folder / f"{number}.jpg"
        path.write_bytes(tf.io.encode_jpeg(image, quality=95).numpy())
        paths.append(str(path))
    return paths


def _reduced(path: tf.Tensor, label: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    image = tf.io.decode_jpeg(tf.io.read_file(path), channels=3)
    small = tf.image.resize(tf.cast(image, tf.float32) / 255, [_SMALL_SIDE, _SMALL_SIDE], antialias=True)
    return tf.ensure_shape(small, [_SMALL_SIDE, _SMALL_SIDE, 3]), label


def _cut(path: tf.Tensor, label: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    image = tf.io.decode_jpeg(tf.io.read_file(path), channels=3)
    small = tf.cast(tf.image.crop_to_bounding_box(image, 0, 0, _SMALL_SIDE, _SMALL_SIDE), tf.float32) / 255
    return tf.ensure_shape(small, [_SMALL_SIDE, _SMALL_SIDE, 3]), label


_LOADS: dict[str, Callable[..., Any]] = {"reduced": _reduced, "cut": _cut}


def _round(
    paths: list[str], labels: np.ndarray, load: Callable[..., Any], cache: Path, number: int
) -> dict[str, float]:
    """Samples per second of each; the order changes from round to round."""
    files = tf.data.Dataset.from_tensor_slices((paths, labels)).shuffle(EXAMPLES, seed=1)
    tuned = files.map(load, tf.data.AUTOTUNE).cache(f"{cache}-tuned").repeat().batch(BATCH).prefetch(tf.data.AUTOTUNE)
    naive = files.repeat().map(load).batch(BATCH)
    measured: list[tuple[tuple[str, ...], Any]] = [
        (("naive",), naive.with_options(_one_at_a_time())),
        (("naive parallelized",), naive),
        (("first", "later"), _ours(paths, labels, load, cache)),
        (("tuned first", "tuned later"), tuned),
    ]
    rates = {}
    for names, dataset in measured[number % 4 :] + measured[: number % 4]:
        batches = iter(dataset)
        rates.update({name: _rate(batches) for name in names})
    return rates


def _one_at_a_time() -> tf.data.Options:
    """Keeps `map` as it is written: TensorFlow makes it parallel on its own since its `map_parallelization` is on."""
    options = tf.data.Options()
    options.experimental_optimization.map_parallelization = False
    return options


def _ours(paths: list[str], labels: np.ndarray, load: Callable[..., Any], cache: Path) -> Any:
    data = tensorplane.dataset((paths, labels), load, global_batch=BATCH, seed=1, cache=cache)
    return data.batches(tf.distribute.get_strategy())


def _rate(batches: Iterator[Any]) -> float:
    """Samples per second over one epoch."""
    began = time.perf_counter()
    count = sum(int(images.shape[0]) for images, _ in itertools.islice(batches, EXAMPLES // BATCH))
    return count / (time.perf_counter() - began)


def _share_of_wait(paths: list[str], labels: np.ndarray, cache: Path) -> float:
    """The share of training steps in which a small convolutional network waits for its input, from the cache."""
    model = keras.Sequential(
        [
            keras.Input((_SMALL_SIDE, _SMALL_SIDE, 3)),
            keras.layers.Conv2D(32, 3, activation="relu"),
            keras.layers.MaxPooling2D(3),
            keras.layers.Conv2D(64, 3, activation="relu"),
            keras.layers.GlobalAveragePooling2D(),
            keras.layers.Dense(10),
        ]
    )
    optimizer = keras.optimizers.SGD(0.01)
    optimizer.build(model.trainable_variables)
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)

    @tf.function  # type: ignore[untyped-decorator]  # TensorFlow has no types
    def step(images: tf.Tensor, wanted: tf.Tensor) -> tf.Tensor:
        with tf.GradientTape() as tape:
            value = loss(wanted, model(images, training=True))
        optimizer.apply(tape.gradient(value, model.trainable_variables), model.trainable_variables)
        return value

    batches = iter(_ours(paths, labels, _cut, cache))
    waited = total = 0.0
    for number in range(_WARM_UP_STEPS + _STEPS):
        began = time.perf_counter()
        images, wanted = next(batches)
        got = time.perf_counter()
        step(images, wanted).numpy()
        if number >= _WARM_UP_STEPS:
            waited += got - began
            total += time.perf_counter() - began
    return waited / total


if __name__ == "__main__":
    json.dump(main(), sys.stdout)
