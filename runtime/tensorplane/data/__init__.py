"""What a program trains on: the order of examples, data sets with a cache, and the servers of tf.data service."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tensorplane import lazy_imports

__all__ = ["Order", "shard"]

if TYPE_CHECKING:
    from tensorplane.data.order import Order, shard
else:
    # The servers start faster without what programs use.
    __getattr__ = lazy_imports.module_getattr("tensorplane.data", dict.fromkeys(__all__, "order"))
