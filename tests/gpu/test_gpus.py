"""TensorFlow on this machine's GPUs: strategy, memory growth, mixed precision. `make test-gpu` runs it."""

from __future__ import annotations

import subprocess

import keras
import numpy as np
import pytest
import tensorflow as tf

from tensorplane import Place

pytestmark = pytest.mark.gpu


@pytest.fixture(scope="module", autouse=True)
def gpus() -> list[tf.config.PhysicalDevice]:
    """All GPUs, with memory growth, which must be set before the first operation."""
    found: list[tf.config.PhysicalDevice] = tf.config.list_physical_devices("GPU")
    for gpu in found:
        tf.config.experimental.set_memory_growth(gpu, True)
    return found


@pytest.fixture(autouse=True)
def full_precision() -> None:
    keras.mixed_precision.set_global_policy("float32")
    keras.utils.set_random_seed(7)


def _data(examples: int = 512) -> tuple[np.ndarray, np.ndarray]:
    x = np.random.default_rng(1).normal(size=(examples, 16)).astype("float32")
    return x, (x.sum(axis=1, keepdims=True) > 0).astype("float32")


def _trained(strategy: tf.distribute.Strategy) -> tuple[keras.Model, list[float]]:
    with strategy.scope():
        model = keras.Sequential(
            [keras.Input((16,)), keras.layers.Dense(64, activation="relu"), keras.layers.Dense(1, dtype="float32")]
        )
        model.compile(optimizer=keras.optimizers.Adam(0.01), loss=keras.losses.BinaryCrossentropy(from_logits=True))
    x, y = _data()
    history = model.fit(x, y, batch_size=64, epochs=5, verbose=0)
    return model, history.history["loss"]


def test_tensorflow_sees_every_gpu(gpus: list[tf.config.PhysicalDevice]) -> None:
    listed = subprocess.check_output(["nvidia-smi", "-L"], text=True).splitlines()
    assert len(gpus) == sum(line.startswith("GPU ") for line in listed)
    assert tf.test.is_built_with_cuda()


def test_memory_grows_with_use(gpus: list[tf.config.PhysicalDevice]) -> None:
    with tf.device("/GPU:0"):
        assert float(tf.reduce_sum(tf.ones([1024, 1024]))) == 1024**2
    assert tf.config.experimental.get_memory_info("GPU:0")["peak"] < 1 << 30
    with tf.device("/GPU:0"):
        large = tf.ones([256, 1024, 1024])
    assert tf.config.experimental.get_memory_info("GPU:0")["current"] >= large.shape.num_elements() * 4


def test_the_strategy_trains_on_every_gpu(gpus: list[tf.config.PhysicalDevice]) -> None:
    strategy = tf.distribute.MirroredStrategy()
    assert strategy.num_replicas_in_sync == len(gpus)
    model, losses = _trained(strategy)
    assert losses[-1] < 0.5 * losses[0]
    assert "GPU" in model.trainable_variables[0].value.device


def test_the_library_takes_every_gpu(gpus: list[tf.config.PhysicalDevice], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TF_CONFIG", raising=False)
    _, losses = _trained(Place.current().strategy())
    assert losses[-1] < 0.5 * losses[0]


def test_mixed_precision_computes_in_half_and_keeps_full_weights() -> None:
    keras.mixed_precision.set_global_policy("mixed_float16")
    model, losses = _trained(tf.distribute.get_strategy())
    assert model.layers[0].compute_dtype == "float16"
    assert model.trainable_variables[0].dtype == "float32"
    assert np.isfinite(losses).all()
    assert losses[-1] < 0.5 * losses[0]
