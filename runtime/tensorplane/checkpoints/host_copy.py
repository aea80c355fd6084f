"""A copy of a checkpoint's values in host memory, written to files while training goes on.

TensorFlow's own asynchronous checkpoints (`CheckpointOptions.experimental_enable_async_checkpoint`) are not used: they
leave out objects that cannot copy themselves with no more than a log line, and give a variable that each replica sums
for itself (BatchNormalization, metrics) a plain copy that restores differently.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tensorflow as tf

_GRAPH_KEY = "_CHECKPOINTABLE_OBJECT_GRAPH"
"""The key under which TensorFlow stores the objects that the other keys belong to."""


@dataclass(frozen=True)
class HostCopy:
    """The values of one step, by their keys in a checkpoint."""

    keys: tuple[str, ...]
    slices: tuple[str, ...]
    """The part of a sharded variable that each value is; empty for a whole one."""
    values: tuple[tf.Tensor, ...]

    @classmethod
    def of(cls, checkpoint: tf.train.Checkpoint) -> HostCopy | None:
        """Copies the values now. None if this TensorFlow, or an object of the checkpoint, cannot be copied this way.

        Every worker must call it, because reading some variables is a collective operation. On a CPU nothing is copied
        yet: TensorFlow gives a variable new memory at its next update while the copy holds the former one.
        """
        found = _values(checkpoint)
        if found is None:
            return None
        with tf.device(_host()):
            values = tuple(tf.identity(value) for _, _, value in found)
        return cls(tuple(key for key, _, _ in found), tuple(part for _, part, _ in found), values)

    def write(self, prefix: Path) -> None:
        """Writes `PREFIX.index` and `PREFIX.data-00000-of-00001`, as `tf.train.Checkpoint.write` does."""
        with tf.device(_host()):
            tf.raw_ops.SaveV2(
                prefix=str(prefix),
                tensor_names=list(self.keys),
                shape_and_slices=list(self.slices),
                tensors=list(self.values),
            )


def _values(checkpoint: tf.train.Checkpoint) -> list[tuple[str, str, Any]] | None:
    """Key, slice and value of everything in the checkpoint, on whatever device it is."""
    # Part of every checkpoint; its first use creates it.
    _ = checkpoint.save_counter
    try:
        # Not public: `tf.train.Checkpoint.write` reads and writes in one call.
        from tensorflow.python.checkpoint import graph_view, save_util

        serialize = save_util.serialize_graph_view
    except (ImportError, AttributeError):
        return None
    serialized, _, registered, graph = serialize(graph_view.ObjectGraphView(checkpoint))
    if registered:
        return None
    found = [
        (key, part, getattr(value, "tensor", value))
        for by_key in serialized.values()
        for key, by_slice in by_key.items()
        for part, value in (by_slice if isinstance(by_slice, dict) else {"": by_slice}).items()
    ]
    # Without a value: an object of which only the existence is recorded.
    found = [each for each in found if each[2] is not None]
    return [*found, (_GRAPH_KEY, "", tf.constant(graph.SerializeToString()))]


def _host() -> str:
    """This process's CPU, also where the strategy places operations on other tasks."""
    return str(tf.config.list_logical_devices("CPU")[0].name)
