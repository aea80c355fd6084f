"""An older program: a graph in each worker, variables on parameter servers, its cluster from the command line."""

from __future__ import annotations

import argparse
import os
from typing import Any

import numpy as np
import tensorflow.compat.v1 as tf
from data import load
from digits_network import FILE

STEPS, BATCH = 1500, 64


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    for name in ("ps_hosts", "worker_hosts", "job_name"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--task_index", type=int, required=True)
    return parser.parse_args()


def layer(name: str, x: Any, inputs: int, outputs: int) -> Any:
    with tf.variable_scope(name):
        kernel = tf.get_variable("kernel", [inputs, outputs], initializer=tf.glorot_uniform_initializer(seed=1))
        return x @ kernel + tf.get_variable("bias", [outputs], initializer=tf.zeros_initializer())


def main() -> None:
    tf.disable_v2_behavior()
    given = parsed()
    cluster = tf.train.ClusterSpec({"ps": given.ps_hosts.split(","), "worker": given.worker_hosts.split(",")})
    server = tf.distribute.Server(cluster, job_name=given.job_name, task_index=given.task_index)
    if given.job_name == "ps":
        server.join()
    (images, digits), held_out = load(FILE)
    worker = f"/job:worker/task:{given.task_index}"
    with tf.device(tf.train.replica_device_setter(worker_device=worker, cluster=cluster)):
        step = tf.train.get_or_create_global_step()
        x, y = tf.placeholder(tf.float32, [None, 8, 8]), tf.placeholder(tf.int64, [None])
        hidden = tf.nn.relu(layer("hidden", tf.reshape(x, [-1, 64]) / 16, 64, 64))
        logits = layer("logits", hidden, 64, 10)
        loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits))
        train = tf.train.AdamOptimizer(3e-3).minimize(loss, global_step=step)
        accuracy = tf.reduce_mean(tf.cast(tf.equal(tf.argmax(logits, 1), y), tf.float32))
    chance, done, measure_at, right = np.random.default_rng(given.task_index), 0, 0, 0.0
    with tf.train.MonitoredTrainingSession(
        master=server.target,
        is_chief=given.task_index == 0,
        checkpoint_dir=os.environ["CHECKPOINT_DIR"] if given.task_index == 0 else None,
        save_checkpoint_steps=500,
        hooks=[tf.train.StopAtStepHook(last_step=STEPS)],
    ) as session:
        while not session.should_stop():
            # First of all, because a worker that starts late may compute a single step.
            if done >= measure_at:
                measure_at, right = done + 100, session.run(accuracy, {x: held_out[0], y: held_out[1]})
                continue
            chosen = chance.integers(len(digits), size=BATCH)
            _, done = session.run([train, step], {x: images[chosen], y: digits[chosen]})
    print(f"worker={given.task_index} step={done} accuracy_of_graph={right:.4f}", flush=True)


if __name__ == "__main__":
    main()
