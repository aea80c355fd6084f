"""What a program trains on: the order of examples, data sets with a cache, and the servers of tf.data service."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

__all__ = ["Order", "shard"]

if TYPE_CHECKING:
    from tensorplane.data.order import Order, shard
else:

    def __getattr__(name: str) -> object:
        # The servers start faster without what programs use.
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module("tensorplane.data.order"), name)
