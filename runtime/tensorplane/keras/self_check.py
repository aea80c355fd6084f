"""Compares one step on all replicas with the same step in one process."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from tensorplane.keras import repair, seed_generators, steps
from tensorplane.keras.batches import Batches
from tensorplane.keras.replicas import several

_RATE = 2.0**20
"""Learning rate of the compared step: large, so that subtracting two weights leaves the gradient's digits."""
_RANDOM = ("rate", "dropout", "recurrent_dropout", "stddev")
"""Attributes of layers that add noise, which differs between replicas and one process."""
_TOLERANCE = {"float64": 1e-9, "float32": 1e-3, "float16": 5e-2, "bfloat16": 5e-2}
_FACTORS = (0.6875, 1.3125)
"""Factors of the loss, exact in every type. Divided out of the gradient, they show how it rounds."""
_LAST_DIGITS = 8
"""How many units in the last place the weights change with each factor: that shows how activations round.

On GPUs, parts of a batch round otherwise than the whole, and a ReLU near 0 then passes one sample more or less.
"""
_ROUNDINGS = 10.0
"""How many times this rounding two orders of summation may differ."""
_PROBES = 10
"""How often the rounding is measured if it explains a difference of gradients only then.

One probe sees a single ReLU near 0 in about half of the cases.
"""


class Differs(RuntimeError):
    """Training on several replicas computes other gradients than one process."""


def verify(model: Any, batch: Any) -> float:
    """Check that a step on all replicas computes the gradients of the same step in one process.

    `model` is compiled and was created in the strategy's scope; `batch` is a global batch, as the dataset gives it, and
    the same on all workers, which must all call this. Weights, optimizer and seeds are left as they were; dropout and
    noise are off in the compared steps.

    Returns the largest difference, relative to the largest gradient of the same variable, or to a hundredth of the
    model's if that is more. Raises Differs with one line if it is more than rounding explains: 1e-9 in float64, 1e-3 in
    float32, 0.05 in mixed precision. For variables whose gradients round by more, which is measured, the difference is
    relative to what would make this rounding the limit.
    """
    strategy = model.distribute_strategy
    batch = tf.nest.map_structure(tf.convert_to_tensor, batch)
    with strategy.scope():
        model._symbolic_build(data_batch=batch)
    if not several(strategy):
        return 0.0
    repair.install()
    repair.repair_moments()
    with ExitStack() as undo:
        undo.enter_context(_full_precision())
        undo.enter_context(_without_noise(model))
        undo.enter_context(_restored(model))
        mine = _on_replicas(model, batch)
    with ExitStack() as undo:
        undo.enter_context(_full_precision())
        undo.enter_context(_without_noise(model))
        undo.enter_context(_restored(model))
        reference = _in_one_process(model, batch)
        for rounding in _roundings(model, batch, reference):
            worst, where = _largest(model, mine, reference, rounding)
            if worst <= _tolerance(model):
                return worst
    raise Differs(
        f"model: the gradient of {where} on several replicas differs by {worst:.2g} from one process; {_remedy(model)}"
    )


def _on_replicas(model: Any, batch: Any) -> list[np.ndarray]:
    """The gradients that a step on all replicas applies."""
    before = [weight.numpy() for weight in model.trainable_weights]
    own = model.optimizer
    with model.distribute_strategy.scope():
        model.optimizer = keras.optimizers.SGD(_RATE)
        model.optimizer.build(model.trainable_weights)
    try:
        batches = Batches(tf.data.Dataset.from_tensors(batch), model.distribute_strategy)
        steps.function(model, model.train_step, training=True)(iter(batches))
    finally:
        model.optimizer = own
    after = [weight.numpy() for weight in model.trainable_weights]
    return [(old - new) / _RATE for old, new in zip(before, after, strict=True)]


def _in_one_process(model: Any, batch: Any, factor: float = 1.0) -> list[np.ndarray]:
    """The gradients of the whole batch, without the strategy, computed from `factor` times the loss."""
    x, y, sample_weight = keras.utils.unpack_x_y_sample_weight(batch)
    variables = [weight.value for weight in model.trainable_weights]
    with tf.GradientTape() as tape:
        predicted = model(x, training=True)
        loss = model.compute_loss(x=x, y=y, y_pred=predicted, sample_weight=sample_weight, training=True)
        loss = loss * tf.cast(factor, loss.dtype)
    gradients = tape.gradient(loss, variables, unconnected_gradients=tf.UnconnectedGradients.ZERO)
    return [tf.convert_to_tensor(one).numpy() / factor for one in gradients]


def _roundings(model: Any, batch: Any, reference: Sequence[np.ndarray]) -> Iterator[list[float]]:
    """By how much the gradient of each variable changes if all numbers round otherwise, after ever more probes.

    Changes the weights.
    """
    found = [0.0] * len(reference)
    weights = [weight.numpy() for weight in model.trainable_weights]
    random = np.random.default_rng(0)
    for probe in range(_PROBES):
        for weight, value in zip(model.trainable_weights, weights, strict=True):
            last = _LAST_DIGITS * np.finfo(value.dtype).eps
            weight.assign(value * (1 + last * random.choice([-1, 1], value.shape)).astype(value.dtype))
        other = _in_one_process(model, batch, _FACTORS[probe % len(_FACTORS)])
        found = [max(most, _apart(*pair)) for most, *pair in zip(found, other, reference, strict=True)]
        if probe + 1 >= len(_FACTORS):
            yield found


def _apart(one: np.ndarray, other: np.ndarray) -> float:
    return float(np.max(np.abs(one - other), initial=0.0))


def _tolerance(model: Any) -> float:
    return max(_TOLERANCE.get(layer.compute_dtype, 1e-3) for layer in model._flatten_layers())


def _largest(
    model: Any, mine: Sequence[np.ndarray], reference: Sequence[np.ndarray], rounding: Sequence[float]
) -> tuple[float, str]:
    """The largest difference, and the path of its variable."""
    tolerance = _tolerance(model)
    worst, where = 0.0, ""
    # A gradient that should be 0 is rounding.
    least = 0.01 * max(float(np.max(np.abs(one), initial=0.0)) for one in reference) or 1.0
    for weight, one, other, noise in zip(model.trainable_weights, mine, reference, rounding, strict=True):
        scale = max(least, float(np.max(np.abs(other), initial=0.0)), _ROUNDINGS * noise / tolerance)
        difference = _apart(one, other) / scale
        if weight.constraint is None and not difference <= worst:
            worst, where = difference, weight.path
    return worst, where


def _remedy(model: Any) -> str:
    alone = [layer.name for layer in model._flatten_layers() if steps.measures_alone(layer)]
    if alone:
        return f"set synchronized=True on {', '.join(alone)}, which normalizes each replica's part of the batch alone"
    return "in a custom train_step, take the loss from self.compute_loss, which knows the replica's share of the batch"


@contextmanager
def _full_precision() -> Iterator[None]:
    """Without TensorFloat-32, in which the products of a batch's part differ from the whole's in the fourth digit."""
    before = tf.config.experimental.tensor_float_32_execution_enabled()
    tf.config.experimental.enable_tensor_float_32_execution(False)
    try:
        yield
    finally:
        tf.config.experimental.enable_tensor_float_32_execution(before)


@contextmanager
def _without_noise(model: Any) -> Iterator[None]:
    # A layer with a cell has the cell's as properties; the cell is one of the layers, too.
    changed = [
        (layer, name, getattr(layer, name))
        for layer in model._flatten_layers()
        for name in _RANDOM
        if isinstance(getattr(layer, name, None), float) and not isinstance(getattr(type(layer), name, None), property)
    ]
    for layer, name, _ in changed:
        setattr(layer, name, 0.0)
    try:
        yield
    finally:
        for layer, name, value in changed:
            setattr(layer, name, value)


@contextmanager
def _restored(model: Any) -> Iterator[None]:
    """Weights and seeds as before; metrics as at the begin of an epoch."""
    variables = [*model.weights, *seed_generators.states_of(model)]
    before = [variable.numpy() for variable in variables]
    try:
        yield
    finally:
        for variable, value in zip(variables, before, strict=True):
            variable.assign(value)
        model.reset_metrics()
