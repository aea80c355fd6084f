"""Whether what a function of labels and outputs gives for a batch is the mean over its samples, or of each alone.

Replicas can compute that from their parts of the batch, and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np
import tensorflow as tf

from tensorplane.keras.batches import bounds


class Call(NamedTuple):
    """A call of a function of a loss or a metric."""

    holder: Any
    function: Callable[..., Any]
    values: tuple[Any, Any]

    @property
    def is_number(self) -> bool:
        """Whether it gives one number for a batch."""
        return bool(tf.convert_to_tensor(self.function(*self.values)).shape.rank == 0)


@contextmanager
def calls_noted(holders: Sequence[Any], name: str) -> Iterator[list[Call]]:
    """In this block, calls of the functions that the holders have under this name are noted."""
    noted: list[Call] = []

    def noting(holder: Any, function: Callable[..., Any]) -> Callable[..., Any]:
        def noted_call(y_true: Any, y_pred: Any, **keywords: Any) -> Any:
            noted.append(Call(holder, partial(function, **keywords), (y_true, y_pred)))
            return function(y_true, y_pred, **keywords)

        return noted_call

    with ExitStack() as undo:
        for holder in holders:
            undo.enter_context(patch.object(holder, name, noting(holder, getattr(holder, name))))
        yield noted


def is_mean(call: Call, replicas: int) -> bool:
    """Whether the value for all samples is the mean of those for the replicas' parts, also for other samples."""
    return all(_holds(call.function, probe, replicas) for probe in _probes(*call.values))


def _holds(function: Callable[..., Any], values: Any, replicas: int) -> bool:
    """Whether it is the mean, or that cannot be known: not all numbers are labels, and some functions have a state."""
    with suppress(Exception):
        whole, parts = _whole_and_parts(function, values, replicas)
        if _agree(whole, parts):
            return True
        again, _ = _whole_and_parts(function, values, replicas)
        return not np.array_equal(whole, again, equal_nan=True)
    return True


def _whole_and_parts(function: Callable[..., Any], values: Any, replicas: int) -> tuple[np.ndarray, np.ndarray]:
    """The value of all samples, and the mean of the parts' values; or each sample's value, from all and from parts."""
    count = int(tf.shape(tf.nest.flatten(values)[0])[0])
    whole = np.asarray(function(*values), np.float64)
    ends = [bounds(count, replica, replicas) for replica in range(replicas)]
    parts = [
        (end - begin, np.asarray(function(*rows_between(values, begin, end)), np.float64))
        for begin, end in ends
        if end > begin
    ]
    if whole.shape[:1] == (count,):
        return whole, np.concatenate([part for _, part in parts])
    # Such as a value for each word of the batch: Keras takes their mean.
    mean = np.sum([size / count * np.mean(part) for size, part in parts])
    return np.asarray(np.mean(whole)), np.asarray(mean)


def _agree(whole: np.ndarray, parts: np.ndarray) -> bool:
    """Whether they are equal, or there is nothing to compare."""
    if not np.all(np.isfinite(whole)):
        return True
    return bool(np.all(np.abs(whole - parts) <= 1e-4 * np.maximum(np.abs(whole), 1e-3)))


def _probes(true: Any, predicted: Any) -> Iterator[tuple[Any, Any]]:
    """Labels and outputs: those of the batch, drawn ones, and labels that differ between the replicas' parts."""
    random = np.random.default_rng(0)

    def drawn(value: tf.Tensor) -> tf.Tensor:
        return tf.constant(random.uniform(0.05, 0.95, value.shape), value.dtype) if value.dtype.is_floating else value

    def replaced(number: float) -> Callable[[tf.Tensor], tf.Tensor]:
        def some(value: tf.Tensor) -> tf.Tensor:
            if not (value.dtype.is_floating or (value.dtype.is_integer and number <= 0)):
                return value
            return tf.where(random.random(value.shape) < 0.5, tf.cast(number, value.dtype), value)

        return some

    def in_order(value: tf.Tensor) -> tf.Tensor:
        if not value.dtype.is_numeric:
            return value
        return tf.gather(value, tf.argsort(tf.reduce_sum(tf.reshape(value, [tf.shape(value)[0], -1]), axis=1)))

    yield true, predicted
    others = tf.nest.map_structure(drawn, (true, predicted))
    yield others
    # Labels that a loss may leave out, or count: how many there are differs between the parts.
    for change in (in_order, replaced(0), replaced(-1), replaced(np.nan)):
        yield tf.nest.map_structure(change, true), others[1]


def rows_between(values: Any, begin: int, end: int) -> Any:
    """The samples from `begin` up to, but without, `end`."""
    return tf.nest.map_structure(lambda value: value[begin:end], values)
