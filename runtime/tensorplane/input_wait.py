"""How long training waits for its input, and how many examples it gets."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any

import tensorflow as tf


def timed(get: Callable[[], Any]) -> tuple[Any, tf.Tensor]:
    """What `get` reads from an iterator, and the seconds that this took. For graphs, where no other clock runs.

    0 seconds with `enable_op_determinism`, which forbids the clock.
    """
    if not clock_runs():
        return get(), tf.constant(0.0, tf.float64)
    began = tf.timestamp()
    with tf.control_dependencies([began]):
        batch = get()
    read = [part for part in tf.nest.flatten(batch, expand_composites=True) if part is not None]
    with tf.control_dependencies(read):
        return batch, tf.timestamp() - began


def clock_runs() -> bool:
    """Whether TensorFlow's clock may be read."""
    with tf.init_scope():
        try:
            tf.timestamp()
        except tf.errors.FailedPreconditionError:
            return False
    return True


class Meter:
    """Counts the examples of a dataset, and the seconds for which its reader waited for them.

    For readers whose code cannot be changed: it is the last part of the dataset, so it runs when the reader asks.
    """

    def __init__(self) -> None:
        # Not a tf.Variable: in the scope of a strategy, that would be one of each replica.
        with tf.device("CPU:0"):
            self._counted = tf.raw_ops.VarHandleOp(dtype=tf.float64, shape=[2], shared_name=f"meter-{uuid.uuid4().hex}")
        self._taken = (0.0, 0.0)
        tf.raw_ops.AssignVariableOp(resource=self._counted, value=tf.zeros([2], tf.float64))

    def over(self, dataset: tf.data.Dataset, rows: Callable[[Any], tf.Tensor]) -> tf.data.Dataset:
        """The same dataset, counted. `rows`: number of examples of one of its elements."""
        times = clock_runs()

        def now() -> tf.Tensor:
            return tf.timestamp() if times else tf.constant(0.0, tf.float64)

        def add_wait(began: tf.Tensor, batch: Any) -> Any:
            facts = tf.stack([tf.cast(rows(batch), tf.float64), now() - began])
            tf.raw_ops.AssignAddVariableOp(resource=self._counted, value=facts)
            return batch

        clock = tf.data.Dataset.counter().map(lambda _: now())
        options = tf.data.Options()
        # TensorFlow would read ahead after the count, and the reader's wait would not be what is measured; so it reads
        # ahead before.
        options.experimental_optimization.inject_prefetch = False
        return tf.data.Dataset.zip(clock, dataset.prefetch(tf.data.AUTOTUNE)).map(add_wait).with_options(options)

    def take(self) -> tuple[float, float]:
        """Examples and seconds since the last call."""
        before = self._taken
        examples, seconds = tf.raw_ops.ReadVariableOp(resource=self._counted, dtype=tf.float64).numpy().tolist()
        self._taken = (examples, seconds)
        return examples - before[0], seconds - before[1]
