"""One worker of `bench/weak_scaling.py`: trains a dense network on random numbers through the library's `Loop`.

Its 1.6 million weights are 6.6 MB of gradients in each step; the batch of each worker is the same for any number of
workers, the first argument. The chief prints its steps per second after the warm-up.
"""

from __future__ import annotations

import sys
import time

from tensorplane import StopRequest

STOP = StopRequest()

import tensorflow as tf  # noqa: E402
from tensorflow import keras  # noqa: E402

from tensorplane import Checkpointer, Loop, Order, Place, Schedule  # noqa: E402

_WARM_UP, _STEPS, _WIDTH = 5, 25, 900


def main(batch: int) -> float:
    """Steps per second; `batch`: examples of each worker in a step."""
    tf.config.threading.set_intra_op_parallelism_threads(1)
    keras.utils.set_random_seed(1)
    member = Place.current()
    strategy = member.strategy()
    order = Order(examples=1 << 16, global_batch=batch * member.workers, seed=1)
    with strategy.scope():
        layers = [keras.layers.Dense(_WIDTH, activation="relu") for _ in range(3)]
        model = keras.Sequential([keras.Input((64,)), *layers, keras.layers.Dense(1)])
        optimizer = keras.optimizers.SGD(0.01)
        optimizer.build(model.trainable_variables)
    step = tf.Variable(0, dtype=tf.int64)

    def train_step(x: tf.Tensor) -> tf.Tensor:
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(model(x) ** 2) / order.global_batch
        optimizer.apply(tape.gradient(loss, model.trainable_variables), model.trainable_variables)
        return loss

    def example(indices: tf.Tensor) -> tuple[tf.Tensor]:
        return (tf.random.stateless_normal([batch, 64], tf.stack([indices[0], 1])),)

    loop = Loop(strategy, member, train_step, step)
    checkpoints = Checkpointer(None, member, model=model)
    rates = []
    for until in (_WARM_UP, _WARM_UP + _STEPS):
        batches = order.batches(strategy, example, first_step=int(step))
        began, first = time.monotonic(), int(step)
        loop.run(batches, Schedule(until), checkpoints, STOP)
        rates.append((until - first) / (time.monotonic() - began))
    return rates[-1]


if __name__ == "__main__":
    print("rate", main(int(sys.argv[1])), flush=True)
