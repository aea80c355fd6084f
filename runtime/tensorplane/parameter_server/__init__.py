"""Asynchronous training with parameter servers: the chief's loop and `fit`, the servers, divided variables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tensorplane import lazy_imports

__all__ = ["ByStep", "strategy", "train"]

if TYPE_CHECKING:
    from tensorplane.parameter_server.training import ByStep, strategy, train
else:
    # Modules that only need to know whether there are servers import less.
    __getattr__ = lazy_imports.module_getattr("tensorplane.parameter_server", dict.fromkeys(__all__, "training"))
