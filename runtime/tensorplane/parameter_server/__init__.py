"""Asynchronous training with parameter servers: the chief's loop and `fit`, the servers, divided variables."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

__all__ = ["ByStep", "strategy", "train"]

if TYPE_CHECKING:
    from tensorplane.parameter_server.training import ByStep, strategy, train
else:

    def __getattr__(name: str) -> object:
        # Modules that only need to know whether there are servers import less.
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module("tensorplane.parameter_server.training"), name)
