"""Checkpoints of a run: when they are due, how they are written and read, and who may write."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

__all__ = ["Checkpointer", "Checkpoints", "UnreadableCheckpoints"]

if TYPE_CHECKING:
    from tensorplane.checkpoints.checkpointer import Checkpointer, Checkpoints, UnreadableCheckpoints
else:

    def __getattr__(name: str) -> object:
        # The launcher imports `run_folder`, without TensorFlow.
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module("tensorplane.checkpoints.checkpointer"), name)
