"""The library in training containers: worker roles, checkpoints, the training loop, a clean stop, publishing.

Importing it does not load TensorFlow; the first use of a name that requires TensorFlow does. Streams, which also
require Kafka's client, are in `tensorplane.stream`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from tensorplane.publish import publish
from tensorplane.stop import EXIT_SAVED, StopRequest

__all__ = ["EXIT_SAVED", "Checkpoints", "Loop", "Order", "Place", "Schedule", "StopRequest", "publish", "say"]
__version__ = "0.1.0"
"""Recorded in a run's `run.json`; another version continues the same run."""

if TYPE_CHECKING:
    from tensorplane.checkpoints import Checkpoints
    from tensorplane.cluster import Place
    from tensorplane.data import Order
    from tensorplane.loop import Loop, Schedule, say
else:
    _NEED_TENSORFLOW = {
        "Checkpoints": "checkpoints",
        "Place": "cluster",
        "Order": "data",
        "Loop": "loop",
        "Schedule": "loop",
        "say": "loop",
    }

    def __getattr__(name: str) -> object:
        if name not in _NEED_TENSORFLOW:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(f"{__name__}.{_NEED_TENSORFLOW[name]}"), name)
