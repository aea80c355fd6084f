"""What `fit` saves besides model and optimizer."""

from __future__ import annotations

import keras
import numpy as np
import pytest
import tensorflow as tf

from tensorplane import seeds
from tensorplane.keras import repeatable
from tensorplane.keras.fit_state import FitState, plain


def test_a_callback_continues_with_the_state_of_the_interrupted_one() -> None:
    def plateau() -> keras.callbacks.Callback:
        callback = keras.callbacks.ReduceLROnPlateau("loss", patience=0, min_delta=0.5, mode="min")
        callback.set_model(keras.Sequential([keras.Input((1,)), keras.layers.Dense(1)]))
        callback.model.compile("sgd", "mse")
        callback.on_train_begin()
        return callback

    interrupted, resumed, state = plateau(), plateau(), FitState()
    before = plain(interrupted)
    interrupted.on_epoch_end(0, {"loss": 1.0})
    state.remember([interrupted], [before])
    state.remind([resumed])
    # Keras has inverted min_delta at the first epoch's end: the resumed one must not invert it again.
    assert (resumed.best, resumed.min_delta, resumed.monitor_op) == (1.0, -0.5, keras.ops.less)
    resumed.on_epoch_end(1, {"loss": 0.9})
    assert float(resumed.model.optimizer.learning_rate) == pytest.approx(0.001)


def test_arrays_of_callbacks_keep_their_bits() -> None:
    class Best(keras.callbacks.Callback):  # type: ignore[misc]  # Keras has no types
        best_weights: list[np.ndarray] | None = None

    one, other, state = Best(), Best(), FitState()
    one.best_weights = [np.array([[0.1, np.inf]], np.float32), np.arange(3)]
    state.remember([one], [plain(Best())])
    state.remind([other])
    assert other.best_weights is not None
    assert [array.dtype for array in other.best_weights] == [np.float32, np.int64]
    assert all(np.array_equal(a, b) for a, b in zip(one.best_weights, other.best_weights, strict=True))


def test_a_shuffle_without_a_seed_is_refused_and_one_with_a_seed_is_not() -> None:
    tf.random.set_seed(None)
    repeatable.check(tf.data.Dataset.range(9).shuffle(9, seed=1).batch(3))
    with pytest.raises(repeatable.NotRepeatable, match="dataset: ShuffleDataset has no seed"):
        repeatable.check(tf.data.Dataset.range(9).shuffle(9).batch(3))
    with pytest.raises(repeatable.NotRepeatable, match="dataset: RandomUniform has no seed"):
        repeatable.check(tf.data.Dataset.range(9).map(lambda _: tf.random.uniform([])))


def test_a_dataset_that_gives_up_its_order_is_refused() -> None:
    data, options = tf.data.Dataset.range(9), tf.data.Options()
    options.deterministic = False
    parallel = data.map(lambda x: x + 1, num_parallel_calls=2, deterministic=False).batch(3)
    for unordered in (parallel, data.with_options(options).batch(3)):
        with pytest.raises(repeatable.NotRepeatable, match="dataset: deterministic=False"):
            repeatable.check(unordered)


def test_a_runs_seed_is_that_of_its_name_in_every_pod_and_after_every_restart() -> None:
    chief = seeds.of_run({"CHECKPOINT_DIR": "/ckpt/.digits-1a/77/digits-1a", "TF_CONFIG": "{}"})
    assert chief == seeds.of_run({"CHECKPOINT_DIR": "/ckpt/digits-1a"})
    assert chief != seeds.of_run({"CHECKPOINT_DIR": "/ckpt/digits-2b"})
