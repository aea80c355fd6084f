"""Checkpoints of a run: when they are due, how they are written and read, and who may write."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tensorplane import lazy_imports

__all__ = ["Checkpointer", "Checkpoints", "UnreadableCheckpoints"]

if TYPE_CHECKING:
    from tensorplane.checkpoints.checkpointer import Checkpointer, Checkpoints, UnreadableCheckpoints
else:
    # The launcher imports `run_folder`, without TensorFlow.
    __getattr__ = lazy_imports.module_getattr("tensorplane.checkpoints", dict.fromkeys(__all__, "checkpointer"))
