"""Gathers one number from every worker, so that all of them decide the same from the same numbers."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import tensorflow as tf

from tensorplane.errors import UsageError


class Agreement:
    """Gathers numbers from the workers of the strategy to which a checkpoint's variables belong.

    Every worker calls it at the same point of the program, as with any collective operation.
    """

    def __init__(self, checkpoint: tf.train.Checkpoint, workers: int) -> None:
        self._checkpoint, self._workers = checkpoint, workers

    def gather(self, number: float) -> list[float]:
        """The number that each worker passes, once per replica, the chief's first. With one worker, its own alone."""
        if self._workers == 1 or self._strategy is None:
            return [number]
        gathered = self._all_gather(tf.constant(number, tf.float64))
        return [float(each) for each in self._strategy.experimental_local_results(gathered)[0].numpy()]

    @cached_property
    def _strategy(self) -> tf.distribute.Strategy | None:
        """The workers' strategy with synchronous training; None if only a coordinator runs the program."""
        for tracked in tf.train.TrackableView(self._checkpoint).descendants():
            # A variable of Keras 3 holds TensorFlow's.
            for variable in (tracked, getattr(tracked, "_value", None)):
                found = getattr(variable, "distribute_strategy", None)
                if isinstance(found, tf.distribute.MultiWorkerMirroredStrategy):
                    return found
                if isinstance(found, tf.distribute.ParameterServerStrategy):
                    return None
        raise UsageError(
            "no variable of the checkpoint belongs to the workers' strategy; create the model in `strategy.scope()`"
        )

    @cached_property
    def _all_gather(self) -> Any:
        strategy: Any = self._strategy

        def on_replica(number: tf.Tensor) -> tf.Tensor:
            return tf.distribute.get_replica_context().all_gather(number[tf.newaxis], axis=0)

        return tf.function(lambda number: strategy.run(on_replica, args=(number,)))
