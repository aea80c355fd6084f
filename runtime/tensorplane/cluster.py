"""This process's place among the workers, and the strategy that follows from it: both come from TF_CONFIG."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass

import tensorflow as tf


@dataclass(frozen=True)
class Place:
    """Which of the workers this process is. A process without TF_CONFIG is the only one."""

    workers: int = 1
    index: int = 0

    @classmethod
    def current(cls, environment: Mapping[str, str] = os.environ) -> Place:
        """The place that TF_CONFIG gives this process. ValueError says what is wrong with it."""
        config = json.loads(environment.get("TF_CONFIG") or "{}")
        if not config:
            return cls()
        cluster, task = config.get("cluster", {}), config.get("task", {})
        if set(cluster) - {"chief", "worker"}:
            raise ValueError(f"TF_CONFIG: this library runs chief and worker tasks, not {', '.join(sorted(cluster))}")
        chiefs = len(cluster.get("chief", []))
        workers = chiefs + len(cluster.get("worker", []))
        index = task.get("index", 0) + (chiefs if task.get("type") == "worker" else 0)
        if task.get("type") not in cluster or not 0 <= index < workers:
            raise ValueError(f"TF_CONFIG: task {task} is none of the cluster's {workers} tasks")
        return cls(workers, index)

    @property
    def is_chief(self) -> bool:
        """Whether this process writes what all of them share: checkpoints, the model, the log."""
        return self.index == 0

    def strategy(self) -> tf.distribute.Strategy:
        """MultiWorkerMirrored among several workers, Mirrored over several GPUs, the default otherwise."""
        if self.workers > 1:
            return tf.distribute.MultiWorkerMirroredStrategy()
        if len(tf.config.list_physical_devices("GPU")) > 1:
            return tf.distribute.MirroredStrategy()
        return tf.distribute.get_strategy()
