"""Compares the first batch of a `fit` on several replicas with one process, before the first step.

What several replicas cannot compute as one process does is refused, where it is known what it is; the rest is said.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

import keras
import numpy as np
import tensorflow as tf

from tensorplane.errors import UsageError
from tensorplane.keras import self_check, steps
from tensorplane.keras.batches import bounds
from tensorplane.keras.exact_metrics import measured_apart, unmeasured
from tensorplane.keras.mean_of_samples import calls_noted, is_mean, rows_between
from tensorplane.log import warn

Found = TypeVar("Found")
_NUMBER = "one number for a batch that is not the mean over its samples, so replicas cannot compute it"
_METRIC = "let metrics add up a value per sample"
_STATE = "update it from a sum over all replicas (all_reduce of tf.distribute)"
_ROUNDS = 10.0
"""How many times more than a gradient a metric may round, such as a ratio of differences."""
_LAST_DIGITS = 64.0
"""How many units in the last place a variable may round that a step changes little."""
_MOST_GIB = 8.0
"""What a comparison may copy into the host's memory, which pods have beside that of GPUs. The same on all workers."""
_SINGLE = "train on one replica (strategy: single)"


def has_own_step(model: Any) -> bool:
    """Whether the model's class has a train_step of its own."""
    return type(model).train_step is not keras.Model.train_step


def has_own_test_step(model: Any) -> bool:
    """Whether the model's class has a test_step of its own."""
    return type(model).test_step is not keras.Model.test_step


def check(model: Any, batch: Any, *, refuse: bool, validates: bool = False) -> None:
    """Compares one step on some samples. All workers must call it, with the same samples.

    Raises UsageError for losses whose value of a batch is not the mean of its samples' values, and says so if not
    `refuse`; those of a train_step of one's own are seen in its gradients alone. Says what else differs: gradients,
    what the step reports, also a test_step of one's own if the fit `validates`, and variables that are not trained.
    BatchNormalization that normalizes each replica's samples alone is meant to differ, and is compared as if it did
    not. Weights and seeds are left as they were; metrics are reset.
    """
    try:
        with _synchronized(model):
            known, others = _faults(model, batch, validates=validates and has_own_test_step(model))
    except Exception as error:  # what cannot be compared can still be trained
        line = str(error).partition("\n")[0] or type(error).__name__
        line = f"a step on several replicas could not be compared with one process: {line}; training goes on"
        warn(f"model: {line}", everywhere=True)
        return
    if known and refuse:
        raise UsageError(known[0])
    for fault in [*known, *others]:
        warn(fault)


def _faults(model: Any, batch: Any, *, validates: bool) -> tuple[list[str], list[str]]:
    """What replicas are known not to be able to compute, and what else differs."""
    own = has_own_step(model)
    losses, dependent = ([], []) if own else _alone(_faulty_losses, model, batch)
    if losses:
        return losses, []
    if (gib := self_check.copied_bytes(model) / 2**30) > _MOST_GIB:
        return [], [*dependent, _too_large(gib)]
    if own:
        step = self_check.compare(model, batch, validates=validates)
        return [], _differences(model, step, told=())
    step = self_check.compare(model, batch, validates=validates)
    if self_check.differs(model, step.worst) and (added := _alone(_added_losses_of_no_mean, model, batch)):
        return added, []
    metrics = _alone(_metrics_of_no_mean, model, batch)
    return [], [
        *dependent,
        *metrics.values(),
        *_differences(model, step, told=[*metrics, *(dependent and ["loss"])]),
    ]


def _too_large(gib: float) -> str:
    return (
        f"model: a step was not compared with one process, as that copies {gib:.0f} GiB of weights and gradients into "
        "the host's memory; tensorplane.verify(model, batch) compares the gradients all the same"
    )


def _differences(model: Any, step: self_check.StepComparison, told: Collection[str]) -> list[str]:
    """How a step differs from one process: in its gradients, else in the rest. `told`: reports to leave out."""
    if self_check.differs(model, step.worst):
        return [f"{self_check.difference_line(model, step.worst, step.where)} (tensorplane.verify compares any batch)"]
    return _outcomes_that_differ(model, step, told)


def _outcomes_that_differ(model: Any, step: self_check.StepComparison, told: Collection[str]) -> list[str]:
    """What a step keeps or reports, where it is not what one process does."""
    if state := _state_that_differs(model, step):
        # Reports may depend on it.
        return state
    found = _that_differ(model, "a step", step.outcome.logs, step.of_one.logs, told, _METRIC)
    if step.validation:
        found += _that_differ(model, "a validation", *step.validation, told, _METRIC)
    return found


def _state_that_differs(model: Any, step: self_check.StepComparison) -> list[str]:
    """Lines for the variables that the step changes otherwise than in one process, compared with their change."""
    apart = [path for path in step.of_one.state if _is_apart(model, step, path)]
    weights = {one.path for one in model.trainable_variables}
    by_hand = [path for path in apart if path in weights]
    lines = [
        _line(path, "a step", step.outcome.state[path], step.of_one.state[path], _STATE)
        for path in apart
        if path not in weights
    ]
    if by_hand:
        more = f" and {len(by_hand) - 1} more weights" if len(by_hand) > 1 else ""
        lines += [
            f"model: train_step updates {by_hand[0]}{more} without an optimizer, each replica from its own samples; "
            f"let an optimizer apply the gradients, or {_SINGLE}"
        ]
    return lines


def _is_apart(model: Any, step: self_check.StepComparison, path: str) -> bool:
    several, one, before = (state[path] for state in (step.outcome.state, step.of_one.state, step.before))
    kind = tf.as_dtype(one.dtype)
    if not kind.is_floating:
        return not np.array_equal(several, one)
    last = _LAST_DIGITS * float(np.finfo(kind.as_numpy_dtype if kind != tf.bfloat16 else np.float16).eps)
    several, one, before = (np.asarray(value, np.float64) for value in (several, one, before))
    moved = float(np.max(np.abs(one - before), initial=0.0))
    most = _ROUNDS * self_check.tolerance(model) * moved + last
    return not np.allclose(several, one, rtol=last, atol=most, equal_nan=True)


def _that_differ(model: Any, what: str, several: Any, one: Any, told: Collection[str], remedy: str) -> list[str]:
    most = _ROUNDS * self_check.tolerance(model)
    of_one = dict(keras.tree.flatten_with_path(one))
    return [
        _line("/".join(map(str, path)), what, value, of_one[path], remedy)
        for path, value in keras.tree.flatten_with_path(several)
        if path[-1:] not in [(name,) for name in told]
        and not np.allclose(value, of_one[path], rtol=most, atol=most, equal_nan=True)
    ]


def _line(name: str, what: str, several: Any, one: Any, remedy: str) -> str:
    return (
        f"{name}: is {_shown(several)} after {what} on several replicas, and {_shown(one)} in one process; "
        f"{remedy}, or {_SINGLE}"
    )


def _shown(value: Any) -> str:
    return " ".join(np.array2string(np.asarray(value), precision=6, threshold=4).split())


def _alone(faults: Callable[[Any, Any, int], Found], model: Any, batch: Any) -> Found:
    with self_check.untouched(model):
        found: Found = self_check.in_one_process(faults, model, batch, model.distribute_strategy.num_replicas_in_sync)
        return found


def _faulty_losses(model: Any, batch: Any, replicas: int) -> tuple[list[str], list[str]]:
    """Lines for the losses of `compile` that are one number for a batch, but not the mean over its samples; and for
    those whose value of a sample depends on the others.
    """
    compiled = model._compile_loss._flat_losses if model._compile_loss else []
    losses = list({id(one.loss): one.loss for one in compiled}.values())
    x, y, weight = keras.utils.unpack_x_y_sample_weight(batch)
    with calls_noted(losses, "call") as calls, unmeasured(model):
        model._compute_loss(x=x, y=y, y_pred=model(x), sample_weight=weight, training=False)
    faulty = [one for one in calls if not is_mean(one, replicas)]
    numbers = [
        f"loss: {one.holder.name} returns {_NUMBER}; return a value per sample (keras.losses.Dice: axis=(1, 2, 3)), or "
        f"{_SINGLE}"
        for one in faulty
        if one.is_number
    ]
    dependent = [
        f"loss: {one.holder.name} compares the samples of a batch, and a replica sees only its own; {_SINGLE}"
        for one in faulty
        if not one.is_number
    ]
    return numbers, dependent


def _metrics_of_no_mean(model: Any, batch: Any, replicas: int) -> dict[str, str]:
    """The lines for functions of `compile` that are one number for a batch, but not the mean over its samples, by name.

    A step on a few samples may report nearly the same.
    """
    compiled = model._compile_metrics.metrics if model._compile_metrics else []
    functions = [one for one in compiled if isinstance(one, keras.metrics.MeanMetricWrapper)]
    if not functions:
        return {}
    x, y, weight = keras.utils.unpack_x_y_sample_weight(batch)
    with calls_noted(functions, "_fn") as calls, measured_apart(model):
        model.compute_metrics(x, y, model(x, training=False), weight)
    return {
        metric.name: f"metrics: {metric.name} returns {_NUMBER}; return a value per sample, or add up sums in a "
        "keras.metrics.Metric"
        for metric in (one.holder for one in calls if one.is_number and not is_mean(one, replicas))
    }


def _added_losses_of_no_mean(model: Any, batch: Any, replicas: int) -> list[str]:
    """The layers whose `add_loss` is not the mean over a batch's samples."""
    x, *_ = keras.utils.unpack_x_y_sample_weight(batch)
    count = int(tf.shape(tf.nest.flatten(x)[0])[0])
    whole = _added(model, x)
    parts = [0.0] * len(whole)
    for replica in range(replicas):
        begin, end = bounds(count, replica, replicas)
        if end > begin:
            mine = _added(model, rows_between(x, begin, end))
            parts = [total + (end - begin) / count * one for total, (_, one) in zip(parts, mine, strict=True)]
    return [
        f"add_loss: {name} adds {_NUMBER}; add the mean over the samples, or {_SINGLE}"
        for (name, value), part in zip(whole, parts, strict=True)
        if abs(part - value) > 1e-4 * max(abs(value), 1e-3)
    ]


def _added(model: Any, x: Any) -> list[tuple[str, float]]:
    """What each layer adds to the loss of some samples."""
    model(x, training=False)
    adding = [layer for layer in model._flatten_layers() if layer._losses]
    return [(layer.name, sum(float(tf.reduce_sum(one)) for one in layer._losses)) for layer in adding]


@contextmanager
def _synchronized(model: Any) -> Iterator[None]:
    """In this block, BatchNormalization measures the samples of all replicas."""
    alone: Sequence[Any] = [layer for layer in model._flatten_layers() if steps.measures_alone(layer)]
    for layer in alone:
        layer.synchronized = True
    try:
        yield
    finally:
        for layer in alone:
            layer.synchronized = False
