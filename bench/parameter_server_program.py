"""One task of `bench/parameter_server.py`: `parameter_server_program.py WAY`, library or hand.

The chief trains a dense network on random numbers, by `tensorplane.parameter_server.train`, or by a
`ClusterCoordinator` as TensorFlow's guide has it, with as many steps in a call. It prints the steps it has reached.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

import tensorflow as tf
from tensorflow import keras

from tensorplane import Checkpointer, Schedule, StopRequest, say
from tensorplane.parameter_server import server, training

_STEPS, _EPOCH, _EACH = 3500, 500, 10
_BATCH, _CLASSES = 64, 10
_TASK = json.loads(os.environ["TF_CONFIG"])["task"]


def _data(_: tf.distribute.InputContext) -> tf.data.Dataset:
    x = tf.random.stateless_normal([4096, 784], [1, 2])
    y = tf.random.stateless_uniform([4096], [1, 3], 0, _CLASSES, tf.int64)
    return tf.data.Dataset.from_tensor_slices((x, y)).shuffle(4096, seed=1).repeat().batch(_BATCH).prefetch(2)


def _train_step(strategy: Any) -> Any:
    with strategy.scope():
        model: Any = keras.Sequential(
            [keras.Input((784,)), keras.layers.Dense(128, activation="relu"), keras.layers.Dense(_CLASSES)]
        )
        optimizer: Any = keras.optimizers.SGD(0.01)
        optimizer.build(model.trainable_variables)

    def train_step(x: tf.Tensor, y: tf.Tensor) -> tf.Tensor:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(keras.losses.sparse_categorical_crossentropy(y, model(x), from_logits=True))
        variables = model.trainable_variables
        optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))
        return loss

    return train_step


def _library() -> None:
    stop = StopRequest()
    strategy = training.strategy()
    train_step, step = _train_step(strategy), tf.Variable(0, dtype=tf.int64)
    training.train(
        strategy, train_step, step, _data, Schedule(_STEPS), Checkpointer(None, step=step), stop, steps_per_call=_EACH
    )


def _by_hand(resolver: Any) -> None:
    strategy = tf.distribute.ParameterServerStrategy(resolver)
    coordinator = tf.distribute.coordinator.ClusterCoordinator(strategy)
    train_step = _train_step(strategy)

    @tf.function  # type: ignore[untyped-decorator]  # TensorFlow has no types
    def steps(iterator: Any) -> tf.Tensor:
        loss = tf.constant(0.0)
        for _ in tf.range(_EACH):
            loss = strategy.run(train_step, args=next(iterator))
        return loss

    iterator = iter(coordinator.create_per_worker_dataset(lambda: _data(tf.distribute.InputContext())))
    for end in range(_EPOCH, _STEPS + 1, _EPOCH):
        for _ in range(_EPOCH // _EACH):
            loss = coordinator.schedule(steps, args=(iterator,))
        coordinator.join()
        say(step=end, loss=float(loss.fetch()))


def main() -> None:
    way = sys.argv[1]
    if way == "library":
        if _TASK["type"] != "chief":
            sys.exit(server.main())
        _library()
        return
    resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver(rpc_layer="grpc")
    if _TASK["type"] == "chief":
        _by_hand(resolver)
    else:
        tf.distribute.Server(resolver.cluster_spec(), _TASK["type"], _TASK["index"], protocol="grpc").join()


if __name__ == "__main__":
    main()
