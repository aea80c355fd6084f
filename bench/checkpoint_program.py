"""A training of steps of 150 to 300 ms with 48 MB of state, timed at several checkpoint intervals. Prints JSON.

`checkpoint_program.py FOLDER ROUNDS MINUTES INTERVAL...`: each round trains a segment with each INTERVAL, in steps; 0
saves nothing. With MINUTES between interruptions, the interval that the library computes for them is a further one; 0
for none. All segments are of one process and alternate, since the speed of two processes differs by more than a
checkpoint costs. One worker is enough: of several, one writes.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import tensorflow as tf

from tensorplane import Checkpointer, Place

_LEAST_STEP_SECONDS = 0.15
_TIMED_STEPS = 10
_SEGMENT_STEPS = 40
_COMPUTE_SECONDS = 40.0


def main(folder: str, rounds: str, minutes: str, *intervals: str) -> None:
    tf.config.threading.set_intra_op_parallelism_threads(1)
    weights = [tf.Variable(tf.random.stateless_normal([2000, 1000], [1, layer]) / 50) for layer in range(2)]
    slots = [[tf.Variable(tf.zeros_like(each)) for each in weights] for _ in range(2)]

    @tf.function(reduce_retracing=True)  # type: ignore[untyped-decorator]  # TensorFlow has no types
    def train(batch: tf.Tensor) -> None:
        with tf.GradientTape() as tape:
            loss = tf.add_n([tf.reduce_mean((batch @ each) ** 2) for each in weights])
        for each, gradient, first, second in zip(weights, tape.gradient(loss, weights), *slots, strict=True):
            first.assign(0.9 * first + 0.1 * gradient)
            second.assign(0.999 * second + 0.001 * gradient**2)
            each.assign_sub(1e-4 * first / (tf.sqrt(second) + 1e-7))

    batch = _batch(train)
    step = partial(train, batch)
    state: dict[str, Any] = {"weights": weights, "slots": slots}
    wanted = [int(each) for each in intervals]
    computed = _computed(Path(folder) / "computed", float(minutes), step, state) if float(minutes) else 0
    if computed and computed not in wanted:
        wanted.append(computed)
    checkpoints = Checkpointer(Path(folder) / "swept", Place(), every_steps=1, **state)
    seconds: dict[int, list[float]] = {interval: [] for interval in wanted}
    for number in range(int(rounds)):
        for interval in wanted if number % 2 else reversed(wanted):
            seconds[interval].append(_segment(checkpoints, interval, step))
    checkpoints.close()
    print(json.dumps({"computed": computed, "step_seconds": seconds}))


def _batch(train: Callable[[tf.Tensor], None]) -> tf.Tensor:
    """The smallest of some batches whose steps take long enough on this machine; they have been warmed up, too."""
    rows = 750
    while True:
        batch = tf.random.stateless_normal([rows, 2000], [2, 2])
        train(batch)
        began = time.monotonic()
        for _ in range(_TIMED_STEPS):
            train(batch)
        if (time.monotonic() - began) / _TIMED_STEPS >= _LEAST_STEP_SECONDS:
            return batch
        rows *= 2


def _computed(folder: Path, minutes: float, step: Callable[[], None], state: dict[str, Any]) -> int:
    """The interval after some time of training as a user's loop trains."""
    checkpoints = Checkpointer(folder, Place(), interruption_minutes=minutes, **state)
    number, began = 0, time.monotonic()
    while time.monotonic() - began < _COMPUTE_SECONDS:
        step()
        number += 1
        if checkpoints.due(number):
            checkpoints.save(number)
    checkpoints.close()
    return checkpoints.next_due - checkpoints.last


def _segment(checkpoints: Checkpointer, interval: int, step: Callable[[], None]) -> float:
    """Seconds per step. Each save comes before its steps, so that all it costs falls into the segment."""
    count = interval * max(1, round(_SEGMENT_STEPS / interval)) if interval else _SEGMENT_STEPS
    began = time.monotonic()
    for number in range(count):
        if interval and number % interval == 0:
            checkpoints.save(checkpoints.last + 1)
        step()
    checkpoints.flush()
    return (time.monotonic() - began) / count


if __name__ == "__main__":
    main(*sys.argv[1:])
