"""The examples of each step, determined by step and seed only, so that a resumed run sees the same ones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import tensorflow as tf

from tensorplane.cluster import Place
from tensorplane.errors import UsageError
from tensorplane.parameter_server.servers import ByStep, is_parameter_server


@dataclass(frozen=True)
class Order:
    """Endless epochs over `examples`, each shuffled differently, each with every example once."""

    examples: int
    global_batch: int
    seed: int

    def indices(self, step: tf.Tensor, replica: int, replicas: int) -> tf.Tensor:
        """The examples that one replica trains on in one step (from 0)."""
        share = self.global_batch // replicas
        return self.at(step * self.global_batch + replica * share + tf.range(share, dtype=tf.int64))

    def share(self, replicas: int) -> int:
        """Examples of each replica in one step. Raises UsageError if the replicas cannot share a batch equally."""
        return share_of(self.global_batch, replicas)

    def at(self, position: tf.Tensor) -> tf.Tensor:
        """The examples at these positions in the endless sequence of all epochs."""
        epoch = position // self.examples
        seed = tf.fill(tf.shape(position), tf.constant(self.seed, tf.int64))
        seeds = tf.stack([seed, epoch, tf.zeros_like(epoch)], axis=1)
        # Not its wrapper, tf.random.experimental.index_shuffle, which in 2.21 fails on a seed per index.
        return tf.raw_ops.RandomIndexShuffle(
            index=position % self.examples, seed=seeds, max_index=tf.constant(self.examples - 1, tf.int64), rounds=4
        )

    def batches(self, strategy: tf.distribute.Strategy, example: Callable[[tf.Tensor], Any], *, first_step: int) -> Any:
        """The distributed batches from `first_step` on. `example` maps a batch of indices to a step's input."""
        if is_parameter_server(strategy):
            # Workers are handed steps in any order, so a step's number is all that decides its batch.
            return ByStep(lambda step: example(self.indices(step, 0, 1)))
        replicas = strategy.num_replicas_in_sync
        self.share(replicas)

        def pipeline(context: tf.distribute.InputContext) -> tf.data.Dataset:
            local = replicas // context.num_input_pipelines
            numbers = tf.data.Dataset.range(first_step * local, tf.int64.max)

            def batch(number: tf.Tensor) -> Any:
                replica = tf.cast(context.input_pipeline_id * local, tf.int64) + number % local
                return example(self.indices(number // local, replica, replicas))

            return numbers.map(batch).prefetch(8)

        return strategy.distribute_datasets_from_function(pipeline)


def share_of(global_batch: int, replicas: int) -> int:
    """Examples of each replica. Raises UsageError if the replicas cannot share a batch equally."""
    share, rest = divmod(global_batch, replicas)
    if rest:
        nearest = " or ".join(str(each * replicas) for each in (share, share + 1) if each)
        raise UsageError(f"global_batch: {global_batch} is not a multiple of {replicas} replicas; set {nearest}")
    return share


def shard(dataset: tf.data.Dataset, place: Place | None = None) -> tf.data.Dataset:
    """Every n-th element for each of n workers, by default of the cluster in TF_CONFIG.

    For a `tf.data` pipeline of your own. Call it first, before shuffling, mapping and batching, so that each worker
    only reads its part. The strategy then does not shard the dataset again; batches stay global batches.
    """
    place = place or Place.current()
    options = tf.data.Options()
    options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.OFF
    return dataset.shard(place.workers, place.index).with_options(options)
