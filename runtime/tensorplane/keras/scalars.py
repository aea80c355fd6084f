"""Variables of several replicas as numbers of Python, as in `float(model.optimizer.learning_rate)` of a callback."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import tensorflow as tf


def allow() -> None:
    """TensorFlow's other variables have `float` and `int`; Keras calls them for its own."""
    kind = import_module("tensorflow.python.distribute.values").DistributedVariable
    if not hasattr(kind, "__float__"):
        kind.__float__, kind.__int__ = _float, _int


def _float(self: Any) -> float:
    return float(tf.convert_to_tensor(self))


def _int(self: Any) -> int:
    return int(tf.convert_to_tensor(self))
