"""Keras' losses, gradients and moments on several replicas, as one process computes them from the whole batch.

Each replica computes the loss of its own rows, as one process computes it from all rows; its gradients then count as
its share of the samples, and are summed before they are clipped, checked, scaled or accumulated. Keras divides losses
by the number of replicas instead, which leaves out losses that are one number already, and counts each replica alike.
Each function here takes Keras' own and returns what replaces it in a step of several replicas; elsewhere it calls
Keras' own.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import Any

import tensorflow as tf

from tensorplane.keras.replicas import (
    in_step,
    inverse_share,
    note_that_sizes_vary,
    present,
    several,
    share,
    summed,
    total_rows,
)
from tensorplane.keras.table_lookups import are_unique, is_row_independent, lookups_of

Function = Callable[..., Any]

_LOSS = "keras.src.losses.loss"


def scale_loss(original: Function) -> Function:
    """A replica's loss stays that of its own rows: `apply_gradients` weights the gradients."""

    @functools.wraps(original)
    def scale(value: tf.Tensor) -> tf.Tensor:
        return value if in_step() else original(value)

    return scale


class _Compiled(threading.local):
    """How many of the losses that `compile` got the caller's thread computes."""

    depth = 0


_compiled = _Compiled()


def compiled_loss(original: Function) -> Function:
    """In here, a loss is what `compile` got: how its sums and its single values become gradients is known."""

    @functools.wraps(original)
    def call(self: Any, *arguments: Any, **keywords: Any) -> Any:
        _compiled.depth += 1
        try:
            return original(self, *arguments, **keywords)
        finally:
            _compiled.depth -= 1

    return call


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


def reduce_weighted_values(original: Function) -> Function:
    """A loss that is one number already counts with the sample weights of all replicas."""

    @functools.wraps(original)
    def reduce(
        values: Any,
        sample_weight: Any = None,
        mask: Any = None,
        reduction: Any = "sum_over_batch_size",
        dtype: Any = None,
    ) -> Any:
        weighted = sample_weight is not None or mask is not None
        if in_step() and weighted and tf.convert_to_tensor(values).shape.rank == 0:
            sample_weight, mask = _weight_of_a_number(sample_weight, mask, reduction), None
        return original(values, sample_weight, mask, reduction, dtype)

    return reduce


def _weight_of_a_number(sample_weight: Any, mask: Any, reduction: Any) -> tf.Tensor:
    """The factor that Keras' reduction of `number * weights` comes to, for the whole batch."""
    weights = tf.cast(mask if sample_weight is None else sample_weight, tf.float64)
    count = tf.cast(tf.size(weights), tf.float64)
    if mask is not None:
        valid = tf.cast(mask, tf.float64)
        count = tf.reduce_sum(valid)
        if sample_weight is not None:
            weights, valid = import_module(_LOSS).squeeze_or_expand_to_same_rank(weights, valid)
            weights *= valid
    total, count = tf.unstack(summed(tf.stack([tf.reduce_sum(weights), count]) * present(tf.float64)))
    if reduction == "mean_with_sample_weight":
        return tf.ones([], tf.float64)
    return total if reduction in ("sum", "none", None) else tf.math.divide_no_nan(total, count)


def reduce_values(original: Function) -> Function:
    """A mean with sample weights divides by the weights of all replicas; a sum is that of all replicas."""

    @functools.wraps(original)
    def reduce(values: Any, sample_weight: Any = None, reduction: Any = "sum_over_batch_size") -> Any:
        loss = original(values, sample_weight, reduction)
        if not in_step() or tf.convert_to_tensor(values).shape.rank == 0:
            return loss
        if reduction == "mean_with_sample_weight" and sample_weight is not None:
            mine = tf.reduce_sum(tf.cast(sample_weight, tf.float64)) * present(tf.float64)
            part = tf.math.divide_no_nan(mine, summed(mine)) * inverse_share(tf.float64)
            return loss * tf.cast(part, loss.dtype)
        if reduction == "sum" and _compiled.depth:
            return loss * inverse_share(loss.dtype)
        if reduction in ("none", None) and _compiled.depth:
            # Its gradient is that of the sum; metrics see the values.
            as_sum = loss * inverse_share(loss.dtype)
            return as_sum + tf.stop_gradient(loss - as_sum)
        return loss

    return reduce


def average_loss(original: Function) -> Function:
    """`tf.nn.compute_average_loss`: the mean over the whole batch, from a replica's rows."""

    @functools.wraps(original)
    def average(per_example_loss: Any, sample_weight: Any = None, global_batch_size: Any = None) -> Any:
        if not in_step():
            return original(per_example_loss, sample_weight, global_batch_size)
        size = tf.cast(total_rows(), tf.int64) if global_batch_size is None else global_batch_size
        loss = original(per_example_loss, sample_weight, size)
        return loss * inverse_share(loss.dtype)

    return average


def regularization_loss(original: Function) -> Function:
    """`tf.nn.scale_regularization_loss`: each replica has the whole, and counts as its share."""

    @functools.wraps(original)
    def scale(regularization_loss: Any) -> Any:
        return tf.reduce_sum(regularization_loss) if in_step() else original(regularization_loss)

    return scale


class _Reduced(threading.local):
    """Whether the gradients that the caller's thread applies are already sums over all replicas."""

    depth = 0


_reduced = _Reduced()

_instead: list[Function] = []
"""What is called instead of an optimizer's `apply`, in all threads; the newest counts."""


@contextmanager
def applying(function: Callable[[Any, Sequence[Any], Sequence[Any] | None], object]) -> Iterator[None]:
    """In this block, `function` gets each optimizer's own gradients and variables instead of the optimizer.

    It returns NotImplemented to let an optimizer do what it does.
    """
    _instead.append(function)
    try:
        yield
    finally:
        _instead.remove(function)


def apply_gradients(original: Function) -> Function:
    """Optimizers weight and sum the gradients of all replicas before they clip, check, scale or accumulate them."""

    @functools.wraps(original)
    def apply(self: Any, grads: Sequence[Any], trainable_variables: Any = None) -> Any:
        if _instead and (done := _instead[-1](self, grads, trainable_variables)) is not NotImplemented:
            return done
        if not exchanges() or _is_inner(self):
            return original(self, grads, trainable_variables)
        first = not _reduced.depth
        _reduced.depth += 1
        try:
            found = sums(grads) if first else grads
            # At the end of the data there is no batch: a step that has none counts no iteration, and decays no weight.
            # One barrier: each operation would depend on each gradient.
            barrier = tf.group(*(grad for grad in found if grad is not None))
            # Inner ones are called in other threads.
            with summed_already(*_inner(self)), tf.control_dependencies([barrier]):
                return original(self, found, trainable_variables)
        finally:
            _reduced.depth -= 1

    apply._tensorplane_sums = True  # type: ignore[attr-defined]
    return apply


def sum_before(optimizers: Iterable[Any]) -> None:
    """From now on, what the classes of these optimizers do in an `apply` of their own, they do with sums."""
    for kind in {type(one) for one in optimizers}:
        if not getattr(kind.apply, "_tensorplane_sums", False):
            kind.apply = apply_gradients(kind.apply)


def all_reduce(original: Function) -> Function:
    """The sum that `apply_gradients` has already computed."""

    @functools.wraps(original)
    def reduce(self: Any, grads_and_vars: Any) -> Any:
        return grads_and_vars if _reduced.depth or _is_inner(self) else original(self, grads_and_vars)

    return reduce


def exchanges() -> bool:
    """Whether the caller is one of several replicas."""
    context = tf.distribute.get_replica_context()
    return context is not None and several(context.strategy)


def _inner(optimizer: Any) -> list[Any]:
    """The optimizers that another one calls: of a LossScaleOptimizer, also those of its MultiOptimizer."""
    inner = getattr(optimizer, "inner_optimizer", None)
    return [] if inner is None else [inner, *getattr(inner, "optimizers", ())]


@contextmanager
def summed_already(*optimizers: Any) -> Iterator[None]:
    """In this block, these optimizers take gradients as sums, in whatever thread."""
    for one in optimizers:
        one._tensorplane_inner = getattr(one, "_tensorplane_inner", 0) + 1
    try:
        yield
    finally:
        for one in optimizers:
            one._tensorplane_inner -= 1


def _is_inner(optimizer: Any) -> bool:
    return bool(getattr(optimizer, "_tensorplane_inner", 0))


def sums(grads: Sequence[Any]) -> list[Any]:
    """The gradients of the whole batch, from those of a replica's rows. All replicas must call it."""
    found = list(grads)
    # One exchange cannot carry two types.
    by_type: dict[tuple[Any, bool], list[int]] = {}
    for index, grad in enumerate(grads):
        if grad is not None:
            found[index] = _weighted(grad) if in_step() else grad
            by_type.setdefault((grad.dtype, isinstance(grad, tf.IndexedSlices)), []).append(index)
    for indices in by_type.values():
        for index, total in zip(indices, _summed([found[index] for index in indices]), strict=True):
            found[index] = total
    return found


def _summed(grads: Sequence[Any]) -> list[Any]:
    if not isinstance(grads[0], tf.IndexedSlices):
        return list(summed(list(grads)))
    # What all replicas look up alike has a gradient for each row of the table; what they look up for their own samples
    # has one for each of the samples. A step may do both with one table.
    lookups = [_lookups(grad) for grad in grads]
    parts = [part for lookup in lookups for part in lookup]
    alike = [is_row_independent(rows) for _, rows in parts]
    of_all = [one.values for (one, _), same in zip(parts, alike, strict=True) if same]
    of_each = [one for (one, _), same in zip(parts, alike, strict=True) if not same]
    if of_each:
        note_that_sizes_vary()
    values, gathered = (iter(summed(some) if some else ()) for some in (of_all, of_each))
    totals = iter(
        [
            tf.IndexedSlices(next(values), one.indices, one.dense_shape)
            if same
            else _as_one_looks_up(next(gathered), one, rows)
            for (one, rows), same in zip(parts, alike, strict=True)
        ]
    )
    return [_joined([next(totals) for _ in lookup]) for lookup in lookups]


def _lookups(grad: tf.IndexedSlices) -> list[tuple[tf.IndexedSlices, tf.Tensor]]:
    """The slices of each lookup, and the tensor that tells which rows it looks up."""
    rows = lookups_of(grad.indices)
    if len(rows) == 1:
        return [(grad, grad.indices)]
    sizes = [tf.size(one) for one in rows]
    parts = zip(tf.split(grad.values, sizes), tf.split(grad.indices, sizes), rows, strict=True)
    return [(tf.IndexedSlices(values, indices, grad.dense_shape), one) for values, indices, one in parts]


def _joined(slices: list[tf.IndexedSlices]) -> tf.IndexedSlices:
    """The slices of all lookups of a table."""
    if len(slices) == 1:
        return slices[0]
    values = tf.concat([one.values for one in slices], axis=0)
    return tf.IndexedSlices(values, tf.concat([one.indices for one in slices], axis=0), slices[0].dense_shape)


def _as_one_looks_up(total: tf.IndexedSlices, mine: tf.IndexedSlices, looked_up: tf.Tensor) -> tf.IndexedSlices:
    """The slices of all replicas, each row once if that is how a step looks rows up, as for sparse inputs: optimizers
    square each slice of its own.
    """
    if not are_unique(looked_up):
        return total
    rows, places = tf.unique(total.indices)
    values = tf.math.unsorted_segment_sum(total.values, places, tf.size(rows))
    return tf.IndexedSlices(values, rows, total.dense_shape)


def _weighted(grad: Any) -> Any:
    """The gradient, counting as the replica's share of the samples. Without samples it is 0, also for NaN."""
    values = grad.values if isinstance(grad, tf.IndexedSlices) else grad
    part = share(values.dtype)
    values = tf.where(part > 0, values * part, tf.zeros_like(values))
    return tf.IndexedSlices(values, grad.indices, grad.dense_shape) if isinstance(grad, tf.IndexedSlices) else values


def moments(original: Function) -> Function:
    """Mean and variance over all replicas, from differences to the mean: squares lose the digits of a large mean."""

    @functools.wraps(original)
    def compute(x: tf.Tensor, axes: Any, keepdims: bool) -> tuple[tf.Tensor, tf.Tensor]:
        if not exchanges():
            return original(x, axes, keepdims)  # type: ignore[no-any-return]
        counts_as = present(x.dtype)
        count = tf.reduce_sum(tf.ones_like(x), axis=axes, keepdims=True) * counts_as
        total = tf.reduce_sum(x, axis=axes, keepdims=True) * counts_as
        sums, counts = tf.unstack(_everyones(tf.stack([total, count])))
        mean = tf.math.divide_no_nan(sums, counts)
        # The mean's own part of the gradient adds up to 0.
        squares = tf.reduce_sum(tf.square(x - tf.stop_gradient(mean)), axis=axes, keepdims=True)
        squares = _everyones(squares * counts_as)
        variance = tf.math.divide_no_nan(squares, counts)
        if keepdims:
            return mean, variance
        return tf.squeeze(mean, axes), tf.squeeze(variance, axes)

    return compute


def _everyones(value: tf.Tensor) -> tf.Tensor:
    """The sum over all replicas. In its gradient each replica's loss counts as the replica's share of the samples."""
    if not in_step():
        return summed(value)
    part, inverse = share(value.dtype), inverse_share(value.dtype)

    @tf.custom_gradient  # type: ignore[untyped-decorator]  # TensorFlow has no types
    def weighted(one: tf.Tensor) -> Any:
        return summed(one), lambda upstream: summed(upstream * part) * inverse

    return weighted(value)
