"""`verify` passes where replicas compute what one process does, and names the fault where they do not."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

import tensorplane
from tensorplane.keras import repair, self_check
from tensorplane.keras.self_check import Differs
from tests.runtime import two_replicas

_NIGHTLY = pytest.mark.nightly("as in `make test`, for another unit of the layer")

# One sample more for one replica than for the other.
BATCH = (np.random.default_rng(1).normal(size=(5, 4)).astype("float32"), np.array([0, 1, 1, 0, 1]))


def _model(*middle: Any, kind: Any = keras.Sequential) -> Any:
    keras.utils.set_random_seed(1)
    with two_replicas.strategy().scope():
        model = kind([keras.Input((4,)), keras.layers.Dense(6), *middle, keras.layers.Dense(2)])
        loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        model.compile(keras.optimizers.Adam(0.01), loss)
    return model


def test_verify_passes_and_leaves_the_model_as_it_was() -> None:
    model = _model(keras.layers.BatchNormalization(synchronized=True), keras.layers.Dropout(0.5, seed=1))
    before = model.get_weights()
    assert tensorplane.verify(model, BATCH) < 1e-3
    assert all(np.array_equal(one, other) for one, other in zip(before, model.get_weights(), strict=True))


class Slower:
    """A plain object, which is no part of a model."""

    def __init__(self) -> None:
        self.factor = tf.Variable(1.0, trainable=False, aggregation=tf.VariableAggregation.MEAN)


class Slowed(keras.Sequential):  # type: ignore[misc]  # Keras has no types
    slower: Any = None

    def train_step(self, data: Any) -> Any:
        self.slower.factor.assign(self.slower.factor * 0.5)
        x, y = data
        with tf.GradientTape() as tape:
            loss = self.compute_loss(x, y, self(x, training=True)) * self.slower.factor
        self.optimizer.apply(tape.gradient(loss, self.trainable_variables), self.trainable_variables)
        return {"loss": loss}


def test_a_comparison_changes_no_variable_outside_of_the_model(capfd: pytest.CaptureFixture[str]) -> None:
    model = _model(kind=Slowed)
    with two_replicas.strategy().scope():
        slower = model.slower = Slower()
    assert tensorplane.verify(model, BATCH) < 1e-3
    assert slower.factor.numpy() == 1.0
    tensorplane.fit(model, *BATCH, batch_size=5, shuffle=False)
    assert slower.factor.numpy() == 0.5
    assert "in one process" not in capfd.readouterr().err


def test_each_replica_counts_the_losses_that_layers_add_for_its_own_samples() -> None:
    """Also if replicas exchange something in between."""
    keras.utils.set_random_seed(1)
    with two_replicas.strategy().scope():
        layers = [keras.layers.Dense(6, activity_regularizer="l1"), keras.layers.BatchNormalization(synchronized=True)]
        model = keras.Sequential([keras.Input((3, 4)), *layers, keras.layers.Dense(2)])
        model.compile("sgd", keras.losses.SparseCategoricalCrossentropy(from_logits=True, ignore_class=1))
    random = np.random.default_rng(1)
    batch = random.normal(size=(5, 3, 4)).astype("float32"), random.integers(0, 2, (5, 3))
    model.optimizer.build(model.trainable_variables)
    assert tensorplane.verify(model, batch) < 1e-3


def test_verify_turns_off_the_dropout_of_cells_and_leaves_it_as_it_was() -> None:
    lstm = keras.layers.LSTM(5, dropout=0.5, recurrent_dropout=0.5)
    assert tensorplane.verify(_model(keras.layers.Reshape((2, 3)), lstm), BATCH) < 1e-3
    assert (lstm.dropout, lstm.recurrent_dropout) == (0.5, 0.5)


def test_verify_allows_for_gradients_that_are_all_rounding() -> None:
    # Normalization cancels the bias before it; in bfloat16, more than a tenth of the model's largest gradient is left.
    policy = keras.config.dtype_policy()
    keras.config.set_dtype_policy("mixed_bfloat16")
    try:
        model = _model(keras.layers.BatchNormalization(synchronized=True))
    finally:
        keras.config.set_dtype_policy(policy)
    assert tensorplane.verify(model, BATCH) < 0.05


def test_verify_allows_for_activations_that_round_otherwise_on_replicas(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on GPUs, whose kernels depend on the size of the batch; on CPUs, a sample's activations do not."""
    own = self_check._on_replicas

    def otherwise(model: Any, batch: Any) -> Any:
        random = np.random.default_rng(1)
        for weight in model.trainable_weights:
            value = weight.numpy()
            weight.assign(value * (1 + np.finfo(value.dtype).eps * random.choice([-1, 1], value.shape)))
        return own(model, batch)

    monkeypatch.setattr(self_check, "_on_replicas", otherwise)
    model = _model(keras.layers.ReLU())
    kernel = model.layers[0].kernel
    kernel.assign(kernel.numpy()[[0, 0, 2, 3]] * [[1], [-1], [1], [1]])
    # The ReLU's input is 0 for the first sample, but for rounding.
    x = BATCH[0].copy()
    x[0] = [1, 1, 0, 0]
    assert tensorplane.verify(model, (x, BATCH[1])) < 1e-3


@pytest.mark.parametrize("unit", [0, *(pytest.param(unit, marks=_NIGHTLY) for unit in range(1, 6))])
def test_verify_allows_for_a_single_activation_that_rounds_otherwise(
    monkeypatch: pytest.MonkeyPatch, unit: int
) -> None:
    """The first probes of the rounding may not see it."""
    own = self_check._on_replicas

    def otherwise(model: Any, batch: Any) -> Any:
        kernel = model.layers[0].kernel
        value = kernel.numpy()
        value[0, unit] *= 1 + np.finfo(value.dtype).eps
        kernel.assign(value)
        return own(model, batch)

    monkeypatch.setattr(self_check, "_on_replicas", otherwise)
    model = _model(keras.layers.ReLU())
    kernel = model.layers[0].kernel
    value = kernel.numpy()
    # The ReLU's input is 0 for the first sample, but for rounding.
    value[0, unit], value[1, unit] = 0.5, -0.5
    kernel.assign(value)
    x = BATCH[0].copy()
    x[0] = [1, 1, 0, 0]
    assert tensorplane.verify(model, (x, BATCH[1])) < 1e-3


def test_verify_compares_without_tensor_float_32(monkeypatch: pytest.MonkeyPatch) -> None:
    enabled = tf.config.experimental.tensor_float_32_execution_enabled
    seen = []
    for name in ("_on_replicas", "_of_one_process"):
        own = getattr(self_check, name)

        def noting(*arguments: Any, own: Any = own) -> Any:
            seen.append(enabled())
            return own(*arguments)

        monkeypatch.setattr(self_check, name, noting)
    before = enabled()
    tensorplane.verify(_model(), BATCH)
    assert before and not any(seen) and len(seen) == 2
    assert enabled() == before


def test_a_batch_with_fewer_samples_than_replicas_counts_once() -> None:
    # TensorFlow's fused convolution fails on the empty batch that a replica would have.
    layers = [keras.layers.Reshape((2, 3, 1)), keras.layers.Conv2D(3, 2, activation="relu"), keras.layers.Flatten()]
    model = _model(*layers, keras.layers.BatchNormalization(synchronized=True))
    one = tuple(part[:1] for part in BATCH)
    assert tensorplane.verify(model, one) < 1e-3
    data = tf.data.Dataset.from_tensor_slices(BATCH).batch(4)
    loss = model.evaluate(data, verbose=0)
    logits = model.predict(data, verbose=0)
    assert logits.shape == (5, 2)
    assert loss == pytest.approx(float(np.mean(keras.ops.convert_to_numpy(model.loss(BATCH[1], logits)))), rel=1e-5)


def test_predictions_keep_their_type() -> None:
    with two_replicas.strategy().scope():
        model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(2, dtype="mixed_bfloat16")])
    model.compile("sgd", "mse")
    predicted = model.predict(tf.data.Dataset.from_tensor_slices(BATCH[0]).batch(3), verbose=0)
    assert predicted.shape == (5, 2) and predicted.dtype == keras.ops.convert_to_numpy(model(BATCH[0])).dtype


def test_verify_names_the_layer_that_normalizes_each_replica_alone() -> None:
    with pytest.raises(Differs, match="set synchronized=True on alone") as error:
        tensorplane.verify(_model(keras.layers.BatchNormalization(name="alone")), BATCH)
    assert "\n" not in str(error.value)


class OwnStep(keras.Sequential):  # type: ignore[misc]  # Keras has no types
    reduce = staticmethod(tf.reduce_mean)

    def train_step(self, data: Any) -> Any:
        x, y = data
        with tf.GradientTape() as tape:
            loss = self.reduce(keras.losses.sparse_categorical_crossentropy(y, self(x), from_logits=True))
        self.optimizer.apply(tape.gradient(loss, self.trainable_variables), self.trainable_variables)
        return {"loss": loss}


class OwnSum(OwnStep):
    reduce = staticmethod(tf.reduce_sum)


def test_verify_passes_a_train_step_that_takes_the_mean_of_its_samples_and_refuses_one_that_takes_their_sum() -> None:
    assert tensorplane.verify(_model(kind=OwnStep), BATCH) < 1e-3
    with pytest.raises(Differs, match="be the mean over its samples") as error:
        tensorplane.verify(_model(kind=OwnSum), BATCH)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("name", "planted"),
    [
        ("keras.src.losses.loss:reduce_values", lambda values, *_: tf.reduce_sum(values)),
        ("keras.src.optimizers.base_optimizer:BaseOptimizer.apply", None),
    ],
)
def test_verify_refuses_a_keras_whose_functions_no_longer_do_what_they_did(
    monkeypatch: pytest.MonkeyPatch, name: str, planted: Any
) -> None:
    module, _, path = name.partition(":")
    owner: Any = import_module(module)
    *owners, attribute = path.split(".")
    for part in owners:
        owner = getattr(owner, part)
    if planted is None:
        # A Keras that no longer calls what sums the gradients of all replicas.
        planted = getattr(owner, attribute).__wrapped__
        optimizer = import_module("keras.src.backend.tensorflow.optimizer").TFOptimizer
        monkeypatch.setattr(optimizer, "_all_reduce_sum_gradients", lambda self, grads_and_vars: grads_and_vars)
    monkeypatch.setattr(owner, attribute, planted)
    with pytest.raises(Differs, match=r"model: the gradient of .* on several replicas differs by") as error:
        tensorplane.verify(_model(), BATCH)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("name", ["_make_function", "_maybe_symbolic_build"])
def test_keras_of_another_shape_is_refused_in_one_line_and_left_as_it_is(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    trainer = import_module("keras.src.backend.tensorflow.trainer")
    monkeypatch.delattr(trainer, "_tensorplane")
    monkeypatch.setattr(trainer.TensorFlowTrainer, name, lambda self, another, parameter: None)
    before = dict(vars(trainer.TensorFlowTrainer))
    with pytest.raises(repair.UnknownKeras, match=f"has no TensorFlowTrainer.{name} of the known form") as error:
        repair.install()
    assert "\n" not in str(error.value)
    assert dict(vars(trainer.TensorFlowTrainer)) == before
