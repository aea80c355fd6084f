"""The training loop: many steps per call into TensorFlow, checkpoints, a machine-readable log, a clean stop."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import tensorflow as tf

from tensorplane import first_step
from tensorplane.checkpoints import Checkpoints
from tensorplane.cluster import Place
from tensorplane.stop import EXIT_SAVED, StopRequest


@dataclass(frozen=True)
class Schedule:
    """How many steps to train, and when to save and log."""

    steps: int
    save_every: int
    log_every: int = 50
    """Steps per call into TensorFlow; SIGTERM is only checked between calls."""


class Loop:
    """Trains from `step` to the end of the schedule. All workers run the same steps and stop at the same one."""

    def __init__(
        self, strategy: tf.distribute.Strategy, place: Place, train_step: Callable[..., tf.Tensor], step: tf.Variable
    ) -> None:
        self._strategy, self._place, self._step = strategy, place, step
        self._train_step = train_step
        first_step.expected()
        with strategy.scope():
            self._loss = tf.Variable(
                0.0,
                trainable=False,
                synchronization=tf.VariableSynchronization.ON_READ,
                aggregation=tf.VariableAggregation.SUM,
            )
        self._advance = tf.function(self._steps)

    def run(self, batches: Any, schedule: Schedule, checkpoints: Checkpoints, stop: StopRequest) -> None:
        """Train, and return after the last step with its checkpoint saved. On SIGTERM: save, then SystemExit."""
        iterator = iter(batches)
        with stop.deferred():
            while (step := int(self._step)) < schedule.steps:
                started = time.monotonic()
                count = self._until_next_event(step, schedule)
                try:
                    loss, asked = self._advance(iterator, tf.constant(count), tf.constant(float(stop.came)))
                except tf.errors.OutOfRangeError:
                    if not stop.came:
                        raise
                    # The stop request ended the data within these steps, so the last save is the result.
                    self._say(stopped=step)
                    sys.exit(EXIT_SAVED)
                first_step.done()
                self._step.assign_add(count)
                step += count
                self._say(step=step, loss=f"{loss:.6f}", steps_per_second=f"{count / (time.monotonic() - started):.1f}")
                if asked or step % schedule.save_every == 0 or step == schedule.steps:
                    checkpoints.save(step)
                    self._say(saved=step)
                if asked and step < schedule.steps:
                    self._say(stopped=step)
                    sys.exit(EXIT_SAVED)

    def _until_next_event(self, step: int, schedule: Schedule) -> int:
        ends = (step - step % every + every for every in (schedule.save_every, schedule.log_every))
        return min(*ends, schedule.steps) - step

    def _steps(self, iterator: Any, count: tf.Tensor, stop: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        for _ in tf.range(count):
            self._strategy.run(self._one, args=(next(iterator),))
        summed = self._strategy.run(self._report, args=(stop,))
        loss, asked = tf.unstack(self._strategy.experimental_local_results(summed)[0])
        return loss, asked > 0

    def _one(self, batch: Any) -> None:
        self._loss.assign(self._train_step(*batch))

    def _report(self, stop: tf.Tensor) -> tf.Tensor:
        # All workers learn in the same step that one was asked to stop, so that none waits for another.
        mine = tf.stack([self._loss.read_value(), stop])
        context = tf.distribute.get_replica_context()
        return context.all_reduce(tf.distribute.ReduceOp.SUM, mine)

    def _say(self, **facts: object) -> None:
        if self._place.is_chief:
            say(**facts)


def say(**facts: object) -> None:
    """Prints one line of `name=value` words: the form of every line that other programs read."""
    print("tensorplane:", *(f"{name}={value}" for name, value in facts.items()), flush=True)
