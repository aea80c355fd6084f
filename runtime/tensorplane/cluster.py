"""This process's task in the cluster and its strategy, both from TF_CONFIG."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass

import tensorflow as tf


@dataclass(frozen=True)
class Place:
    """The index of this process among the workers. Without TF_CONFIG, it is the only one."""

    workers: int = 1
    index: int = 0

    @classmethod
    def current(cls, environment: Mapping[str, str] = os.environ) -> Place:
        """The task in TF_CONFIG. Raises ValueError if it is invalid."""
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
            raise ValueError(f"TF_CONFIG: task {task} is not one of the cluster's {workers} tasks")
        return cls(workers, index)

    @property
    def is_chief(self) -> bool:
        """Whether this process writes shared output: checkpoints, the model, the log."""
        return self.index == 0

    def strategy(self) -> tf.distribute.Strategy:
        """MultiWorkerMirrored for several workers, Mirrored for several GPUs, else the default strategy."""
        if self.workers > 1:
            return tf.distribute.MultiWorkerMirroredStrategy()
        if len(tf.config.list_physical_devices("GPU")) > 1:
            return tf.distribute.MirroredStrategy()
        return tf.distribute.get_strategy()
