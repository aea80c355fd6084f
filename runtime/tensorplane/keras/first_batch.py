"""Compares the first batch of a `fit` on several replicas with one process, before the first step.

What several replicas cannot compute as one process does is refused, where it is known what it is; the rest is said.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from tensorplane.keras import self_check, steps
from tensorplane.keras.batches import bounds
from tensorplane.keras.exact_metrics import unmeasured
from tensorplane.log import warn

_NUMBER = "which is not the mean over its samples, so replicas cannot compute it from their parts of the batch"
_SINGLE = "train on one replica (strategy: single)"


def has_own_step(model: Any) -> bool:
    """Whether the model's class has a train_step of its own."""
    return type(model).train_step is not keras.Model.train_step


def check(model: Any, batch: Any, *, refuse: bool) -> None:
    """Compare one step on some samples. All workers must call it, with the same samples.

    Raises ValueError for losses whose value of a batch is not the mean of its samples' values; says so if not
    `refuse`, or in a train_step of one's own. Says whether gradients differ. BatchNormalization that normalizes each
    replica's samples alone is meant to differ, and is compared as if it did not. Weights and seeds are left as they
    were; metrics are reset.
    """
    try:
        with _synchronized(model):
            known, others = _faults(model, batch)
    except Exception as error:  # what cannot be compared can still be trained
        line = str(error).partition("\n")[0] or type(error).__name__
        line = f"a step on several replicas could not be compared with one process: {line}; training goes on"
        warn(f"model: {line}", everywhere=True)
        return
    if known and refuse:
        raise ValueError(known[0])
    for fault in [*known, *others]:
        warn(f"{fault} (tensorplane.verify compares any batch)")


def _faults(model: Any, batch: Any) -> tuple[list[str], list[str]]:
    """What replicas are known not to be able to compute, and what else differs."""
    if not has_own_step(model) and (numbers := _alone(_losses_of_no_mean, model, batch)):
        return numbers, []
    worst, where = self_check.difference(model, batch)
    if not self_check.differs(model, worst):
        return [], []
    if not has_own_step(model) and (added := _alone(_added_losses_of_no_mean, model, batch)):
        return added, []
    return [], [self_check.fault(model, worst, where)]


def _alone(faults: Callable[[Any, Any, int], list[str]], model: Any, batch: Any) -> list[str]:
    with self_check.untouched(model):
        found: list[str] = self_check.in_one_process(
            faults, model, batch, model.distribute_strategy.num_replicas_in_sync
        )
        return found


def _losses_of_no_mean(model: Any, batch: Any, replicas: int) -> list[str]:
    """The losses of `compile` that are one number for a batch, but not the mean over its samples."""
    with _calls_noted(model) as calls:
        x, y, weight = keras.utils.unpack_x_y_sample_weight(batch)
        with unmeasured(model):
            model._compute_loss(x=x, y=y, y_pred=model(x), sample_weight=weight, training=False)
    return [
        f"loss: {loss.name} is one number for a batch, {_NUMBER}; return a value for each sample (keras.losses.Dice: "
        f"axis=(1, 2, 3)), or {_SINGLE}"
        for loss, call, (true, predicted) in calls
        if tf.convert_to_tensor(call(true, predicted)).shape.rank == 0 and not _is_mean(call, true, predicted, replicas)
    ]


@contextmanager
def _calls_noted(model: Any) -> Iterator[list[tuple[Any, Callable[..., Any], tuple[Any, Any]]]]:
    """In this block, the losses of `compile` are noted: each with its `call`, and what it was called with."""
    noted: list[tuple[Any, Callable[..., Any], tuple[Any, Any]]] = []
    compiled = model._compile_loss._flat_losses if model._compile_loss else []
    losses = list({id(one.loss): one.loss for one in compiled}.values())

    def noting(loss: Any, call: Callable[..., Any]) -> Callable[..., Any]:
        def noted_call(y_true: Any, y_pred: Any) -> Any:
            noted.append((loss, call, (y_true, y_pred)))
            return call(y_true, y_pred)

        return noted_call

    for loss in losses:
        loss.call = noting(loss, loss.call)
    try:
        yield noted
    finally:
        for loss in losses:
            del loss.call


def _is_mean(call: Callable[..., Any], true: Any, predicted: Any, replicas: int) -> bool:
    """Whether the value for all samples is the mean of those for the replicas' parts, also for other numbers."""
    random = np.random.default_rng(0)

    def drawn(value: tf.Tensor) -> tf.Tensor:
        return tf.constant(random.uniform(0.05, 0.95, value.shape), value.dtype) if value.dtype.is_floating else value

    def padded(value: tf.Tensor) -> tf.Tensor:
        """Some entries are 0, which losses may leave out."""
        zeros = tf.zeros_like(value)
        return tf.where(random.random(value.shape) < 0.5, zeros, value) if value.dtype.is_numeric else value

    others = tf.nest.map_structure(drawn, (true, predicted))
    for values in ((true, predicted), others, (tf.nest.map_structure(padded, true), others[1])):
        count = int(tf.shape(tf.nest.flatten(values)[0])[0])
        whole = np.asarray(call(*values), np.float64)
        ends = [bounds(count, replica, replicas) for replica in range(replicas)]
        parts = [
            (end - begin) / count * np.asarray(call(*_rows(values, begin, end)), np.float64)
            for begin, end in ends
            if end > begin
        ]
        if np.isfinite(whole) and abs(sum(parts) - whole) > 1e-4 * max(abs(float(whole)), 1e-3):
            return False
    return True


def _rows(values: Any, begin: int, end: int) -> Any:
    return tf.nest.map_structure(lambda value: value[begin:end], values)


def _added_losses_of_no_mean(model: Any, batch: Any, replicas: int) -> list[str]:
    """The layers whose `add_loss` is not the mean over a batch's samples."""
    x, *_ = keras.utils.unpack_x_y_sample_weight(batch)
    count = int(tf.shape(tf.nest.flatten(x)[0])[0])
    whole = _added(model, x)
    parts = [0.0] * len(whole)
    for replica in range(replicas):
        begin, end = bounds(count, replica, replicas)
        if end > begin:
            mine = _added(model, _rows(x, begin, end))
            parts = [total + (end - begin) / count * one for total, (_, one) in zip(parts, mine, strict=True)]
    return [
        f"add_loss: the loss that {name} adds is a number, {_NUMBER}; add the mean over the samples, or {_SINGLE}"
        for (name, value), part in zip(whole, parts, strict=True)
        if abs(part - value) > 1e-4 * max(abs(value), 1e-3)
    ]


def _added(model: Any, x: Any) -> list[tuple[str, float]]:
    """What each layer adds to the loss of some samples."""
    model(x, training=False)
    return [(layer.name, float(sum(layer._losses))) for layer in model._flatten_layers() if layer._losses]


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
