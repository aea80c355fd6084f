"""This process's task in the cluster and its strategy, both from TF_CONFIG."""

from __future__ import annotations

import functools
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass

import tensorflow as tf

from tensorplane import seeds, step_record
from tensorplane.errors import StateError, UsageError
from tensorplane.keras import repair


@dataclass(frozen=True)
class Place:
    """The index of this process among the workers. Without TF_CONFIG, it is the only one."""

    workers: int = 1
    """Processes that run this program in step. The workers of a parameter-server job do not run it."""
    index: int = 0
    servers: int = 0
    """Parameter servers that hold the variables."""
    evaluates: bool = False
    """Whether it is the job's evaluator: outside the cluster, alone, and never chief. It reads checkpoints."""

    @classmethod
    def current(cls, environment: Mapping[str, str] = os.environ) -> Place:
        """The task in TF_CONFIG. Raises UsageError if it is invalid."""
        config = json.loads(environment.get("TF_CONFIG") or "{}")
        if not config:
            return cls()
        cluster, task = config.get("cluster", {}), config.get("task", {})
        if task.get("type") == "evaluator":
            return cls(evaluates=True)
        if servers := len(cluster.get("ps", [])):
            if task.get("type") != "chief" or len(cluster.get("chief", [])) != 1:
                raise UsageError(
                    f"TF_CONFIG: task {task} of a cluster with parameter servers; only its one chief runs a program, "
                    "the others run tensorplane.parameter_server.server"
                )
            return cls(servers=servers)
        if set(cluster) - {"chief", "worker"}:
            raise UsageError(f"TF_CONFIG: this library runs chief and worker tasks, not {', '.join(sorted(cluster))}")
        chiefs = len(cluster.get("chief", []))
        workers = chiefs + len(cluster.get("worker", []))
        index = task.get("index", 0) + (chiefs if task.get("type") == "worker" else 0)
        if task.get("type") not in cluster or not 0 <= index < workers:
            raise UsageError(f"TF_CONFIG: task {task} is not one of the cluster's {workers} tasks")
        return cls(workers, index)

    @property
    def is_chief(self) -> bool:
        """Whether this process writes shared output: checkpoints, the model, the log."""
        return self.index == 0 and not self.evaluates

    def check_trains(self) -> None:
        """Raises UsageError in an evaluator: it would train a model that nobody reads."""
        if self.evaluates:
            raise UsageError(
                "TF_CONFIG: task evaluator does not train; give strategy.evaluator a command of its own, or read "
                "checkpoints where Place.current().evaluates"
            )

    def strategy(self) -> tf.distribute.Strategy:
        """The strategy for this cluster and its GPUs.

        ParameterServer in a cluster with parameter servers, MultiWorkerMirrored for several workers, Mirrored for
        several GPUs, else the default strategy. An evaluator's are its own GPUs. Each call in a process gets the same
        one, but with parameter servers. Raises UsageError on TPUs.
        """
        if self._has_tpus():
            raise UsageError(
                "strategy: this machine has TPUs, on which the library does not train; create a "
                "tf.distribute.TPUStrategy, and resume with keras.callbacks.BackupAndRestore"
            )
        if self.servers:
            from tensorplane.parameter_server import servers

            return servers.strategy()
        if self.workers > 1:
            return _of_workers()
        if len(tf.config.list_physical_devices("GPU")) > 1:
            return _of_gpus()
        return tf.distribute.get_strategy()

    def _has_tpus(self) -> bool:
        # Devices must not be looked for before several workers are connected; their pods have the variable.
        return "TPU_WORKER_HOSTNAMES" in os.environ or (
            self.workers == 1 and bool(tf.config.list_physical_devices("TPU"))
        )


# One in a process, for programs that make each model in a function with a scope of its own: TensorFlow numbers the
# exchanges of each strategy from the same number on, and confuses those of two.
@functools.cache
def _of_gpus() -> tf.distribute.Strategy:
    return tf.distribute.MirroredStrategy()


@functools.cache
def _of_workers() -> tf.distribute.Strategy:
    try:
        with step_record.connecting():
            return tf.distribute.MultiWorkerMirroredStrategy()
    except RuntimeError as error:
        if "at program startup" not in str(error):
            raise
        raise StateError(
            "strategy: TensorFlow has run operations before its workers were connected; "
            "call tensorplane.strategy() first, before you create tensors and data sets"
        ) from None


def strategy(environment: Mapping[str, str] = os.environ) -> tf.distribute.Strategy:
    """The strategy for this process: from TF_CONFIG and the visible GPUs. Call it before any other use of TensorFlow.

    With several workers or a folder for checkpoints, it also seeds TensorFlow, NumPy and Python, unless TensorFlow has
    a seed, so that all workers and all restarts shuffle in the same order. Raises UsageError if TF_CONFIG is invalid
    and on TPUs, and UnknownKeras if the installed Keras cannot be repaired.
    """
    place = Place.current(environment)
    if place.workers > 1 or environment.get("CHECKPOINT_DIR"):
        seeds.set_common(environment)
    chosen = place.strategy()
    if chosen.num_replicas_in_sync > 1:
        repair.install()
    return chosen
