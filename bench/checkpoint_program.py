"""A training of steps of some 100 ms and 48 MB of state, which saves as its arguments say. Prints its times as JSON.

`checkpoint_program.py FOLDER SECONDS STEPS MINUTES`: STEPS between saves, or MINUTES between interruptions; 0 and 0 for
none. One process: what a save costs does not depend on the number of workers, of which one writes.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import tensorflow as tf

from tensorplane import Checkpointer, Place

_WARM_UP = 20


def main(folder: str, seconds: str, steps: str, minutes: str) -> None:
    tf.config.threading.set_intra_op_parallelism_threads(1)
    weights = [tf.Variable(tf.random.stateless_normal([2000, 1000], [1, layer]) / 50) for layer in range(2)]
    slots = [[tf.Variable(tf.zeros_like(each)) for each in weights] for _ in range(2)]
    batch = tf.random.stateless_normal([250, 2000], [2, 2])

    def train() -> None:
        with tf.GradientTape() as tape:
            loss = tf.add_n([tf.reduce_mean((batch @ each) ** 2) for each in weights])
        for each, gradient, first, second in zip(weights, tape.gradient(loss, weights), *slots, strict=True):
            first.assign(0.9 * first + 0.1 * gradient)
            second.assign(0.999 * second + 0.001 * gradient**2)
            each.assign_sub(1e-4 * first / (tf.sqrt(second) + 1e-7))

    step = tf.function(train)
    how = {"every_steps": int(steps) or None, "interruption_minutes": float(minutes) or None}
    checkpoints = Checkpointer(Path(folder), Place(), weights=weights, slots=slots, **how)  # type: ignore[arg-type]
    saves = int(steps) or float(minutes)
    number = saved = last = 0
    began = time.monotonic()
    while number <= _WARM_UP or time.monotonic() - began < float(seconds):
        if number == _WARM_UP:
            began, saved = time.monotonic(), 0
        step()
        number += 1
        if saves and checkpoints.due(number):
            checkpoints.save(number)
            saved, last = saved + 1, number
    checkpoints.flush()
    spent = time.monotonic() - began
    facts = {"steps": number - _WARM_UP, "seconds": spent, "saves": saved, "interval": checkpoints.next_due - last}
    print(json.dumps(facts))


if __name__ == "__main__":
    main(*sys.argv[1:])
