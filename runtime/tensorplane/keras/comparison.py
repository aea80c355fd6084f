"""What makes two computations comparable: random operations give a constant, and writes into variables are undone, also
those into variables that no part of a model has."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from importlib import import_module
from typing import Any
from unittest.mock import patch

import tensorflow as tf
from tensorflow.python.ops.resource_variable_ops import ResourceVariable

from tensorplane.keras.replicas import several

_STATEFUL = "tensorflow.python.ops.gen_random_ops"
_STATELESS = "tensorflow.python.ops.gen_stateless_random_ops_v2"


def _constant(shape: Any, dtype: Any) -> tf.Tensor:
    return tf.fill(shape, tf.cast(0.5, dtype))


def _middle(shape: Any, least: Any, most: Any) -> tf.Tensor:
    return tf.fill(shape, least + (most - least) // 2)


_DRAWS: dict[str, dict[str, Callable[..., tf.Tensor]]] = {
    _STATEFUL: {
        "random_standard_normal": lambda shape, dtype, **_: _constant(shape, dtype),
        "truncated_normal": lambda shape, dtype, **_: _constant(shape, dtype),
        "random_uniform": lambda shape, dtype, **_: _constant(shape, dtype),
        "random_uniform_int": lambda shape, minval, maxval, **_: _middle(shape, minval, maxval),
        "random_shuffle": lambda value, **_: tf.convert_to_tensor(value),
    },
    _STATELESS: {
        "stateless_random_normal_v2": lambda shape, *_, dtype=tf.float32, **__: _constant(shape, dtype),
        "stateless_truncated_normal_v2": lambda shape, *_, dtype=tf.float32, **__: _constant(shape, dtype),
        "stateless_random_uniform_v2": lambda shape, *_, dtype=tf.float32, **__: _constant(shape, dtype),
        "stateless_random_uniform_int_v2": lambda shape, key=None, counter=None, alg=None, minval=0, maxval=1, **_: (
            _middle(shape, minval, maxval)
        ),
        "stateless_shuffle": lambda value, *_, **__: tf.convert_to_tensor(value),
    },
}
"""What TensorFlow calls for each draw, by module: what the public functions of tf.random and keras.random end in."""


class _Thread(threading.local):
    """The caller's thread."""

    is_compared = False
    """Whether it computes what is compared, without a strategy."""


_thread = _Thread()


@contextmanager
def constant_draws() -> Iterator[None]:
    """In this block, random numbers are the middle of their range, or 0.5 for a normal distribution.

    In replicas, and in threads that are `compared`; not in those that prepare the data meanwhile. What is traced in the
    block keeps the constants: let functions run eagerly.
    """
    with ExitStack() as undo:
        for module, draws in _DRAWS.items():
            for name, draw in draws.items():
                owner = import_module(module)
                undo.enter_context(patch.object(owner, name, _where_compared(draw, getattr(owner, name))))
        yield


def compared(function: Callable[..., Any], *arguments: Any) -> Any:
    """What a function returns with constant draws, in a block of `constant_draws`."""
    _thread.is_compared = True
    return function(*arguments)


def is_compared() -> bool:
    """Whether the caller's thread computes what is compared, alone or as a replica."""
    return _thread.is_compared or several(tf.distribute.get_strategy())


def _where_compared(draw: Callable[..., tf.Tensor], original: Callable[..., tf.Tensor]) -> Callable[..., tf.Tensor]:
    @functools.wraps(original)
    def drawn(*arguments: Any, **keywords: Any) -> tf.Tensor:
        return (draw if is_compared() else original)(*arguments, **keywords)

    return drawn


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
