"""The examples of each step, determined by step and seed only, so that a resumed run sees the same ones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import tensorflow as tf


@dataclass(frozen=True)
class Order:
    """Endless epochs over `examples`, each shuffled differently, each with every example once."""

    examples: int
    global_batch: int
    seed: int

    def indices(self, step: tf.Tensor, replica: int, replicas: int) -> tf.Tensor:
        """The examples that one replica trains on in one step (from 0)."""
        share = self.global_batch // replicas
        position = step * self.global_batch + replica * share + tf.range(share, dtype=tf.int64)
        epoch = position // self.examples
        seeds = tf.stack([tf.fill([share], tf.constant(self.seed, tf.int64)), epoch, tf.zeros_like(epoch)], axis=1)
        # Not its wrapper, tf.random.experimental.index_shuffle, which in 2.21 fails on a seed per index.
        return tf.raw_ops.RandomIndexShuffle(
            index=position % self.examples, seed=seeds, max_index=tf.constant(self.examples - 1, tf.int64), rounds=4
        )

    def batches(self, strategy: tf.distribute.Strategy, example: Callable[[tf.Tensor], Any], *, first_step: int) -> Any:
        """The distributed batches from `first_step` on. `example` maps a batch of indices to a step's input."""
        replicas = strategy.num_replicas_in_sync
        if self.global_batch % replicas:
            raise ValueError(f"a global batch of {self.global_batch} cannot be shared by {replicas} replicas")

        def pipeline(context: tf.distribute.InputContext) -> tf.data.Dataset:
            local = replicas // context.num_input_pipelines
            numbers = tf.data.Dataset.range(first_step * local, tf.int64.max)

            def batch(number: tf.Tensor) -> Any:
                replica = tf.cast(context.input_pipeline_id * local, tf.int64) + number % local
                return example(self.indices(number // local, replica, replicas))

            return numbers.map(batch).prefetch(8)

        return strategy.distribute_datasets_from_function(pipeline)
