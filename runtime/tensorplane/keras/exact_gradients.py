"""Keras' losses, gradients and moments on several replicas, as one process computes them from the whole batch.

Keras averages over replicas where it should average over samples, and clips and checks gradients of single replicas
instead of their sum. Each function here takes Keras' own and returns what replaces it in a step of several replicas;
elsewhere it calls Keras' own.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf

from tensorplane.keras.replicas import in_step, inverse_share, present, several, share, summed

Function = Callable[..., Any]


def scale_loss(original: Function) -> Function:
    """A replica's mean loss counts as its share of the samples, not as one of so many replicas."""

    @functools.wraps(original)
    def scale(value: tf.Tensor) -> tf.Tensor:
        return value * share(value.dtype) if in_step() else original(value)

    return scale


def unscale_loss(original: Function) -> Function:
    """The reverse of `scale_loss`."""

    @functools.wraps(original)
    def unscale(value: tf.Tensor) -> tf.Tensor:
        return value * inverse_share(value.dtype) if in_step() else original(value)

    return unscale


def apply_mask(original: Function) -> Function:
    """The mean of a masked loss divides by the valid entries of all replicas, not of one."""

    @functools.wraps(original)
    def apply(sample_weight: Any, mask: Any, dtype: Any, reduction: Any) -> Any:
        weight = original(sample_weight, mask, dtype, reduction)
        if mask is None or reduction not in ("mean", "sum_over_batch_size") or not in_step():
            return weight
        counts = tf.stack([tf.cast(tf.size(mask), tf.float64), tf.reduce_sum(tf.cast(mask, tf.float64))])
        counts *= present(tf.float64)
        total, valid = tf.unstack(counts)
        all_total, all_valid = tf.unstack(summed(counts))
        return weight * tf.cast(tf.math.divide_no_nan(all_total * valid, all_valid * total), weight.dtype)

    return apply


def reduce_values(original: Function) -> Function:
    """The mean with sample weights divides by the weights of all replicas, not of one."""

    @functools.wraps(original)
    def reduce(values: Any, sample_weight: Any = None, reduction: Any = "sum_over_batch_size") -> Any:
        loss = original(values, sample_weight, reduction)
        if reduction != "mean_with_sample_weight" or sample_weight is None or not in_step():
            return loss
        mine = tf.reduce_sum(tf.cast(sample_weight, tf.float64)) * present(tf.float64)
        part = tf.math.divide_no_nan(mine, summed(mine)) * inverse_share(tf.float64)
        return loss * tf.cast(part, loss.dtype)

    return reduce


class _Reduced(threading.local):
    """Whether the gradients that the caller's thread applies are already sums over all replicas."""

    depth = 0


_reduced = _Reduced()


def apply_gradients(original: Function) -> Function:
    """Optimizers sum the gradients of all replicas before they clip, check, scale or accumulate them."""

    @functools.wraps(original)
    def apply(self: Any, grads: Sequence[Any], trainable_variables: Any = None) -> Any:
        if not _exchanges() or _is_inner(self):
            return original(self, grads, trainable_variables)
        inner = getattr(self, "inner_optimizer", None)
        if inner is not None:
            # It is called in other threads.
            inner._tensorplane_inner = True
        first = not _reduced.depth
        _reduced.depth += 1
        try:
            return original(self, _summed(grads) if first else grads, trainable_variables)
        finally:
            _reduced.depth -= 1

    return apply


def all_reduce(original: Function) -> Function:
    """The sum that `apply_gradients` has already computed."""

    @functools.wraps(original)
    def reduce(self: Any, grads_and_vars: Any) -> Any:
        return grads_and_vars if _reduced.depth or _is_inner(self) else original(self, grads_and_vars)

    return reduce


def _exchanges() -> bool:
    context = tf.distribute.get_replica_context()
    return context is not None and several(context.strategy)


def _is_inner(optimizer: Any) -> bool:
    return bool(getattr(optimizer, "_tensorplane_inner", False))


def _summed(grads: Sequence[Any]) -> list[Any]:
    present = [grad for grad in grads if grad is not None]
    sums = iter(summed(present) if present else [])
    return [None if grad is None else next(sums) for grad in grads]


def moments(original: Function) -> Function:
    """Mean and variance over all replicas, from differences to the mean: squares lose the digits of a large mean."""

    @functools.wraps(original)
    def compute(x: tf.Tensor, axes: Any, keepdims: bool) -> tuple[tf.Tensor, tf.Tensor]:
        if not tf.distribute.get_replica_context():
            return original(x, axes, keepdims)  # type: ignore[no-any-return]
        counts_as = present(x.dtype)
        count = tf.reduce_sum(tf.ones_like(x), axis=axes, keepdims=True) * counts_as
        total = tf.reduce_sum(x, axis=axes, keepdims=True) * counts_as
        sums, counts = tf.unstack(summed(tf.stack([total, count])))
        mean = tf.math.divide_no_nan(sums, counts)
        # The mean's own part of the gradient adds up to 0.
        squares = tf.reduce_sum(tf.square(x - tf.stop_gradient(mean)), axis=axes, keepdims=True)
        squares = summed(squares * counts_as)
        variance = tf.math.divide_no_nan(squares, counts)
        if keepdims:
            return mean, variance
        return tf.squeeze(mean, axes), tf.squeeze(variance, axes)

    return compute
