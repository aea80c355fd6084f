"""The containers and variables that functions of callbacks share with the program, through closures or globals."""

from __future__ import annotations

import inspect
from collections import deque
from collections.abc import Iterator
from typing import Any

import keras
import tensorflow as tf

CONTAINERS = (list, dict, set, deque)
"""Types whose objects a program changes in place."""
_MOST_ENTRIES = 10_000
"""Of a container; a larger one is more likely data than state, and each save would read it."""


def of(callback: Any) -> Iterator[tuple[str, Any]]:
    """The containers and variables that a callback shares with its program, each with a name."""
    for function in [*vars(callback).values(), *_own(callback)]:
        if inspect.isfunction(function) and _is_of_program(function):
            try:
                names = inspect.getclosurevars(function)
            except ValueError:  # a local of the program that has no value yet
                continue
            for name, value in [*names.nonlocals.items(), *names.globals.items()]:
                if isinstance(value, (tf.Variable, keras.Variable)) or _is_small_container(value):
                    yield f"{function.__qualname__}: {name}", value


def _is_small_container(value: Any) -> bool:
    return isinstance(value, CONTAINERS) and len(value) <= _MOST_ENTRIES


def _own(callback: Any) -> list[Any]:
    """The methods of a callback's classes."""
    classes = [one for one in type(callback).__mro__ if not one.__module__.startswith(("keras.", "builtins"))]
    return [method for one in classes for method in vars(one).values()]


def _is_of_program(function: Any) -> bool:
    """Whether a function is no installed package's, whose own containers are none of the callback's state."""
    return "site-packages" not in function.__code__.co_filename
