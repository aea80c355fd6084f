"""Trains on a topic of numbers: its model is how often each number was seen. Killed and started again by the tests."""

from __future__ import annotations

import os
from pathlib import Path

from tensorplane import StopRequest

STOP = StopRequest()

import tensorflow as tf  # noqa: E402

from tensorplane import Checkpoints, Loop, Place, Schedule, say  # noqa: E402
from tensorplane.stream import Position, Topic, batches  # noqa: E402

BATCH = 10


def main() -> None:
    numbers = int(os.environ["NUMBERS"])
    schedule = Schedule(steps=numbers // BATCH, save_every=int(os.environ["SAVE_EVERY"]), log_every=5)
    place = Place.current()
    strategy = place.strategy()
    topic = Topic.from_environment("events")
    with strategy.scope():
        position = Position(topic)
        seen = tf.Variable(tf.zeros([numbers], tf.int64), aggregation=tf.VariableAggregation.SUM)
    step = tf.Variable(0, dtype=tf.int64)
    folder = Path(os.environ["CHECKPOINT_DIR"])
    checkpoints = Checkpoints(folder, place, saved=position.commit, position=position, seen=seen, step=step)
    resumed = checkpoints.restore()
    say(resumed=resumed, step=int(step))

    def train_step(number: tf.Tensor, moved: tf.Tensor) -> tf.Tensor:
        seen.assign_add(tf.math.bincount(number, minlength=numbers, maxlength=numbers, dtype=tf.int64))
        position.advance(moved)
        return tf.constant(0.0)

    data = batches(
        position,
        strategy,
        lambda values: tf.strings.to_number(values, tf.int32),
        global_batch=BATCH,
        count=schedule.steps - int(step),
        stopping=lambda: STOP.came,
    )
    Loop(strategy, place, train_step, step).run(data, schedule, checkpoints, STOP)
    counts = seen.numpy()
    say(lost=int((counts == 0).sum()), twice=int((counts > 1).sum()))


if __name__ == "__main__":
    main()
