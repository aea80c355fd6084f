"""Random operations that give a constant, so that two computations with random draws can be compared."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from importlib import import_module
from typing import Any
from unittest.mock import patch

import tensorflow as tf

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


@contextmanager
def constant_draws() -> Iterator[None]:
    """In this block, random numbers are the middle of their range, or 0.5 for a normal distribution.

    What is traced in it keeps the constants: let functions run eagerly.
    """
    with ExitStack() as undo:
        for module, draws in _DRAWS.items():
            for name, draw in draws.items():
                undo.enter_context(patch.object(import_module(module), name, draw))
        yield
