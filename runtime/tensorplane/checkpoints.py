"""Checkpoints with bit-exact resume: model, optimizer and step, written by the chief, read by every worker."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import tensorflow as tf

from tensorplane.cluster import Place


class Checkpoints:
    """Saves and restores one training run's state in a folder that all workers see.

    A save is atomic: TensorFlow names a checkpoint in the folder's `checkpoint` file only after
    the checkpoint's own files are in place, and replaces that file by a rename.
    """

    def __init__(
        self, folder: Path, place: Place, *, keep: int = 3, saved: Callable[[], None] | None = None, **state: Any
    ) -> None:
        """`saved` is called by the chief after each save, for actions that require a safe state."""
        self._shared = folder
        self._saved = saved if place.is_chief else None
        self._checkpoint = tf.train.Checkpoint(**state)
        self._scratch = None if place.is_chief else tempfile.TemporaryDirectory(prefix="checkpoints-")
        # Every worker of a MultiWorkerMirrored run must save, because reading some variables is a collective operation.
        own = Path(self._scratch.name) if self._scratch else folder
        self._manager = tf.train.CheckpointManager(self._checkpoint, str(own), max_to_keep=keep)

    def restore(self) -> bool:
        """Restore the newest checkpoint; objects without a counterpart are an error. False if there is none."""
        newest = tf.train.latest_checkpoint(str(self._shared))
        if newest is None:
            return False
        self._checkpoint.restore(newest).assert_consumed()
        return True

    def save(self, step: int) -> None:
        """Save the state of `step`."""
        self._manager.save(checkpoint_number=step)
        if self._saved:
            self._saved()
