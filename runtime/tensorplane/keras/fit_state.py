"""What a resumed `fit` needs besides model and optimizer: position, metrics of the epoch, state of callbacks."""

from __future__ import annotations

import base64
import json
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

import numpy as np
import tensorflow as tf

from tensorplane.keras.replicas import several

POSITION = ("step", "epoch", "step_in_epoch", "iterators", "taken", "finished")


class FitState(tf.Module):  # type: ignore[misc]  # TensorFlow has no types
    """Variables that are saved with the model."""

    def __init__(self) -> None:
        super().__init__(name="fit")
        self.position = tf.Variable(tf.zeros([len(POSITION)], tf.int64), trainable=False)
        self.metrics = tf.Variable(tf.zeros([0, 0], tf.float64), trainable=False, shape=[None, None])
        self.callbacks = tf.Variable(tf.zeros([0], tf.uint8), trainable=False, shape=[None])

    def at(self) -> dict[str, int]:
        """The position, by name."""
        return dict(zip(POSITION, self.position.numpy().tolist(), strict=True))

    def move(self, **position: int) -> None:
        """Set the position."""
        self.position.assign([int(position[name]) for name in POSITION])

    def remember(self, callbacks: Sequence[Any], initial: Sequence[Mapping[str, Any]]) -> None:
        """Take the values that callbacks have changed since `initial`."""
        changed = [
            {name: value for name, value in plain(one).items() if name not in before or before[name] != value}
            for one, before in zip(callbacks, initial, strict=True)
        ]
        self.callbacks.assign(np.frombuffer(json.dumps(changed).encode(), np.uint8))

    def remind(self, callbacks: Sequence[Any]) -> None:
        """Give the callbacks the values of `remember`."""
        text = self.callbacks.numpy().tobytes()
        for one, changed in zip(callbacks, json.loads(text) if text else [], strict=False):
            for name, value in changed.items():
                setattr(one, name, _object(value))


def plain(callback: Any) -> dict[str, Any]:
    """The attributes of a callback that JSON can express, with arrays, and functions by their names."""
    found = {}
    for name, value in vars(callback).items():
        if name not in ("params", "model", "_model", "validation_data"):
            try:
                found[name] = _json(value)
            except TypeError:
                continue
    return found


def _json(value: Any) -> Any:
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray) and value.dtype.kind in "biuf":
        data = base64.b64encode(np.ascontiguousarray(value).tobytes()).decode()
        return {"": "array", "dtype": value.dtype.str, "shape": value.shape, "data": data}
    if isinstance(value, (list, tuple)):
        return [_json(one) for one in value]
    if isinstance(value, dict) and all(isinstance(name, str) for name in value):
        return {name: _json(one) for name, one in value.items()}
    module, name = getattr(value, "__module__", ""), getattr(value, "__qualname__", "")
    if callable(value) and _named(module, name) is value:
        return {"": "function", "module": module, "name": name}
    raise TypeError(type(value).__name__)


def _named(module: str, name: str) -> Any:
    return getattr(sys.modules.get(module), name, None)


def _object(value: Any) -> Any:
    if isinstance(value, list):
        return [_object(one) for one in value]
    if not isinstance(value, dict):
        return value
    if value.get("") == "array":
        data = base64.b64decode(value["data"])
        return np.frombuffer(data, value["dtype"]).reshape(value["shape"]).copy()
    if value.get("") == "function":
        return getattr(import_module(value["module"]), value["name"])
    return {name: _object(one) for name, one in value.items()}


class LocalMetrics:
    """What each replica has counted in the epoch so far. Sums over replicas would lose the last digits."""

    def __init__(self, model: Any) -> None:
        self._strategy = model.distribute_strategy
        variables = [variable.value for metric in model.metrics for variable in metric.variables]
        self._variables = [one for one in variables if one.dtype.is_floating or one.dtype.is_integer]
        self._rows = tf.function(lambda: self._strategy.run(self._gathered))
        self._assigned = tf.function(lambda rows: self._strategy.run(self._assign, args=(rows,)))

    def read(self) -> np.ndarray:
        """A row for each replica. All workers must call it."""
        if not self._variables:
            return np.zeros([1, 0])
        return np.asarray(self._strategy.experimental_local_results(self._rows())[0])

    def write(self, rows: np.ndarray) -> None:
        """The reverse. With another number of replicas, the first gets the sum."""
        count = self._strategy.num_replicas_in_sync
        if rows.shape[0] != count:
            rows = np.concatenate([rows.sum(axis=0, keepdims=True), np.zeros([count - 1, rows.shape[1]])])
        if rows.shape[1]:
            self._assigned(tf.constant(rows))

    def _gathered(self) -> tf.Tensor:
        row = tf.concat([tf.reshape(tf.cast(one, tf.float64), [1, -1]) for one in self._variables], axis=1)
        context = tf.distribute.get_replica_context()
        return context.all_gather(row, axis=0) if several(self._strategy) else row

    def _assign(self, rows: tf.Tensor) -> None:
        row = rows[tf.distribute.get_replica_context().replica_id_in_sync_group]
        sizes = [int(np.prod(one.shape)) for one in self._variables]
        for variable, value in zip(self._variables, tf.split(row, sizes), strict=True):
            variable.assign(tf.cast(tf.reshape(value, variable.shape), variable.dtype))
