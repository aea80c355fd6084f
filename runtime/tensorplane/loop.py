"""The training loop: many steps per call into TensorFlow, checkpoints, a machine-readable log, a clean stop."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import tensorflow as tf

from tensorplane import step_record
from tensorplane.checkpoints.checkpointer import Checkpointer
from tensorplane.cluster import Place
from tensorplane.input_wait import timed
from tensorplane.log import say as say  # programs of deployed runs import it from here
from tensorplane.progress import Progress
from tensorplane.schedule import Schedule
from tensorplane.stop import StopRequest, exit_when_saved
from tensorplane.watchdog import watched


class Loop:
    """Trains from `step` to the end of the schedule. All workers run the same steps and stop at the same one."""

    def __init__(
        self, strategy: tf.distribute.Strategy, place: Place, train_step: Callable[..., tf.Tensor], step: tf.Variable
    ) -> None:
        self._strategy, self._place, self._step = strategy, place, step
        self._train_step = train_step
        place.check_trains()
        if place.servers:
            return
        step_record.expected()
        with strategy.scope():
            self._loss = tf.Variable(
                0.0,
                trainable=False,
                synchronization=tf.VariableSynchronization.ON_READ,
                aggregation=tf.VariableAggregation.SUM,
            )
        self._advance = tf.function(self._steps)

    def run(self, batches: Any, schedule: Schedule, checkpoints: Checkpointer, stop: StopRequest) -> None:
        """Trains, and returns after the last step with its checkpoint saved. On SIGTERM: saves, then SystemExit."""
        if self._place.servers:
            from tensorplane.parameter_server import training

            training.train(self._strategy, self._train_step, self._step, batches, schedule, checkpoints, stop)
            return
        iterators = [iter(batches)]
        progress = Progress(self._place, int(self._step), schedule.steps)
        with stop.deferred(), watched():
            while (step := int(self._step)) < schedule.steps:
                look = schedule.next_look(step, checkpoints)
                count = min(look, step - step % schedule.log_every + schedule.log_every, schedule.steps) - step
                try:
                    loss, waited, asked = self._advance(iterators[0], tf.constant(count), tf.constant(float(stop.came)))
                except tf.errors.OutOfRangeError:
                    if not stop.came:
                        raise
                    # The stop request ended the data within these steps, so the last save is the result.
                    exit_when_saved(step, checkpoints.flush, is_chief=self._place.is_chief)
                self._step.assign_add(count)
                step += count
                step_record.done(step)
                progress.report(step, loss=float(loss), waited_seconds=float(waited))
                if schedule.is_due(step, checkpoints) or asked or step == schedule.steps:
                    checkpoints.save(step)
                if asked and step < schedule.steps:
                    exit_when_saved(step, checkpoints.flush, is_chief=self._place.is_chief)
            checkpoints.flush()
        step_record.ended()
        _delete_later(iterators)

    def _steps(self, iterator: Any, count: tf.Tensor, stop: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
        waited = tf.constant(0.0, tf.float64)
        for _ in tf.range(count):
            batch, seconds = timed(lambda: next(iterator))
            waited += seconds
            self._strategy.run(self._one, args=(batch,))
        summed = self._strategy.run(self._report, args=(stop,))
        loss, asked = tf.unstack(self._strategy.experimental_local_results(summed)[0])
        return loss, waited, asked > 0

    def _one(self, batch: Any) -> None:
        self._loss.assign(self._train_step(*batch))

    def _report(self, stop: tf.Tensor) -> tf.Tensor:
        # All workers learn in the same step that one was asked to stop, so that none waits for another.
        mine = tf.stack([self._loss.read_value(), stop])
        context = tf.distribute.get_replica_context()
        return context.all_reduce(tf.distribute.ReduceOp.SUM, mine)


def _delete_later(iterators: list[Any]) -> None:
    """Deletes iterators without waiting for their end, as long as the program has something else to do.

    TensorFlow can miss that a pipeline's tuner is cancelled. The deletion then lasts until the tuner next wakes: about
    as long as the iterator has existed, at most a minute. The program's end waits for this thread: one that is inside
    TensorFlow when the interpreter ends would abort the process.
    """
    threading.Thread(target=iterators.clear).start()
