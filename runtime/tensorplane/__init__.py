"""The library in training containers: worker roles, checkpoints, the training loop, a clean stop, publishing.

Importing it does not load TensorFlow; the first use of a name that requires TensorFlow does. Streams, which also
require Kafka's client, are in `tensorplane.stream`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tensorplane import lazy_imports
from tensorplane.errors import TensorplaneError
from tensorplane.log import say
from tensorplane.publish import publish
from tensorplane.stop import EXIT_SAVED, StopRequest
from tensorplane.version import __version__ as __version__

__all__ = [
    "EXIT_SAVED",
    "Checkpointer",
    "Checkpoints",
    "Loop",
    "Order",
    "Place",
    "Schedule",
    "StopRequest",
    "TensorplaneError",
    "callbacks",
    "dataset",
    "fit",
    "follow",
    "publish",
    "say",
    "shard",
    "strategy",
    "verify",
]

if TYPE_CHECKING:
    from tensorplane import callbacks
    from tensorplane.checkpoints.checkpointer import Checkpointer, Checkpoints
    from tensorplane.checkpoints.follow import follow
    from tensorplane.cluster import Place, strategy
    from tensorplane.data.dataset import dataset
    from tensorplane.data.order import Order, shard
    from tensorplane.keras.fit import fit
    from tensorplane.keras.self_check import verify
    from tensorplane.loop import Loop
    from tensorplane.schedule import Schedule
else:
    _homes = {
        "callbacks": "callbacks",
        "Checkpointer": "checkpoints.checkpointer",
        "Checkpoints": "checkpoints.checkpointer",
        "Place": "cluster",
        "Order": "data.order",
        "Loop": "loop",
        "Schedule": "schedule",
        "dataset": "data.dataset",
        "shard": "data.order",
        "fit": "keras.fit",
        "follow": "checkpoints.follow",
        "strategy": "cluster",
        "verify": "keras.self_check",
    }
    __getattr__ = lazy_imports.module_getattr("tensorplane", _homes)
