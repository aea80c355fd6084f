"""The replicas of a strategy: which of them this process runs, and each one's share of a step's batch."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import tensorflow as tf

from tensorplane.errors import StateError


@dataclass(frozen=True)
class Replicas:
    """All replicas of a strategy, and those of this process."""

    total: int
    first: int
    """Index of this process's first replica among all."""
    local: int
    """Number of replicas in this process."""
    workers: int

    @classmethod
    def of(cls, strategy: tf.distribute.Strategy) -> Replicas:
        """The replicas of a Mirrored or MultiWorkerMirrored strategy."""
        if not several(strategy):
            return cls(1, 0, 1, 1)
        contexts: list[tf.distribute.InputContext] = []

        def note(context: tf.distribute.InputContext) -> tf.data.Dataset:
            contexts.append(context)
            return tf.data.Dataset.range(1)

        strategy.distribute_datasets_from_function(note)
        (context,) = contexts
        local = context.num_replicas_in_sync // context.num_input_pipelines
        return cls(context.num_replicas_in_sync, context.input_pipeline_id * local, local, context.num_input_pipelines)


def several(strategy: tf.distribute.Strategy) -> bool:
    """Whether the strategy has several replicas that exchange gradients in every step, on CPUs or GPUs."""
    kinds = (tf.distribute.MirroredStrategy, tf.distribute.MultiWorkerMirroredStrategy)
    return isinstance(strategy, kinds) and bool(strategy.num_replicas_in_sync > 1)


@dataclass
class Share:
    """The share of a step that a replica computes."""

    rows: tf.Tensor
    total: tf.Tensor
    """The step's samples of all replicas."""
    sizes_vary: bool = False
    """Whether replicas exchange something in it that has another size in each step."""
    losses: dict[int, list[Any]] = field(default_factory=dict)
    """What layers have added to the loss, by the layer's id."""


class _Shares(threading.local):
    """What a replica's thread computes now."""

    now: Share | None = None


_shares = _Shares()


@contextmanager
def sharing(rows: tf.Tensor, total: tf.Tensor) -> Iterator[Share]:
    """In this block, the caller's replica computes `rows` of the step's `total` samples."""
    before = _shares.now
    _shares.now = Share(tf.cast(rows, tf.float64), tf.cast(total, tf.float64))
    try:
        yield _shares.now
    finally:
        _shares.now = before


def in_step() -> bool:
    """Whether the caller is in a step, in a replica."""
    return _shares.now is not None


def added_losses() -> dict[int, list[Any]] | None:
    """What layers have added to the loss of the caller's replica in this step, by the layer's id; None outside."""
    return None if _shares.now is None else _shares.now.losses


def share(dtype: Any) -> tf.Tensor:
    """The replica's part of the step's samples, from 0 to 1. The parts of all replicas add up to 1."""
    now = _now()
    return tf.cast(tf.math.divide_no_nan(now.rows, now.total), dtype)


def present(dtype: Any) -> tf.Tensor:
    """1, or 0 for a replica without samples, whose batch is another's. 1 outside of steps."""
    if not in_step():
        return tf.ones([], dtype)
    return tf.cast(_now().rows > 0, dtype)


def inverse_share(dtype: Any) -> tf.Tensor:
    """1 / share, or 0 for a replica without samples."""
    now = _now()
    return tf.cast(tf.math.divide_no_nan(now.total, now.rows), dtype)


def total_rows() -> tf.Tensor:
    """The step's samples of all replicas, in float64."""
    return _now().total


def summed(value: Any) -> Any:
    """The sum of a value, or of each of a list, over all replicas. All replicas must call it."""
    return tf.distribute.get_replica_context().all_reduce(tf.distribute.ReduceOp.SUM, value)


def note_that_sizes_vary() -> None:
    """Called where the caller's replica exchanges something that has another size in each step."""
    if _shares.now is not None:
        _shares.now.sizes_vary = True


def _now() -> Share:
    if _shares.now is None:
        raise StateError("share: the caller is not in a step of a replica")
    return _shares.now
