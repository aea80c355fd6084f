"""Undoes what two computations that are compared write into variables, also into those that no part of a model has."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

from tensorflow.python.ops.resource_variable_ops import ResourceVariable

from tensorplane.keras.constant_draws import is_compared

_WRITES = ("assign", "assign_add", "assign_sub", "scatter_update", "scatter_add", "scatter_sub", "scatter_nd_update")
"""The methods of a variable of one replica with which programs and Keras change it."""


@contextmanager
def undone_writes() -> Iterator[None]:
    """After this block, variables have the values from before it. Functions must run eagerly in it."""
    before: dict[int, tuple[Any, Any]] = {}
    # What replicas update together, they update in the caller's thread.
    mine = threading.current_thread()

    def noting(write: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(write)
        def written(self: Any, *arguments: Any, **keywords: Any) -> Any:
            compared = threading.current_thread() is mine or is_compared()
            if compared and id(self) not in before:
                before[id(self)] = self, self.read_value()
            return write(self, *arguments, **keywords)

        return written

    try:
        with ExitStack() as undo:
            for name in _WRITES:
                write = getattr(ResourceVariable, name)
                undo.enter_context(patch.object(ResourceVariable, name, noting(write)))
            yield
    finally:
        for variable, value in before.values():
            variable.assign(value)
