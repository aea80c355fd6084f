"""What a train step uses and no object of the checkpoint has: variables of losses, of closures, of plain objects.

They are known when the step is traced. A fit that resumes with such variables traces it once more, before callbacks see
them.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any
from weakref import WeakKeyDictionary

import keras
import numpy as np
import tensorflow as tf
from tensorflow.python.checkpoint.graph_view import ObjectGraphView

from tensorplane.keras import repeatable
from tensorplane.keras.json_values import from_json, to_json
from tensorplane.log import warn

_MOST_BYTES, _MOST_READ_BYTES = 64 << 20, 1 << 20
"""Of a variable that the step changes, and of one that it only reads: larger ones are weights of a teacher or a table,
not numbers that a callback changes.
"""
_REMEDY = "make them attributes of the model"
_READS = ("ReadVariableOp", "ResourceGather", "ResourceGatherNd")

_OF_REPLICAS = tf.distribute.DistributedValues


class Captured:
    """The variables that the train step of a model captures, in the order in which its trace does."""

    def __init__(self) -> None:
        self.replicas = 1
        self.saved: set[int] = set()
        """Identities of the handles of the variables that the checkpoint has."""
        self.resumes = False
        """Whether training is saved."""
        self._handles: list[tf.Tensor] = []
        self._told = self._told_of_lost = False

    def forget(self) -> None:
        """The train step will be another: its captures are unknown until it is traced."""
        self._handles = []

    def give(self, values: Iterable[Any]) -> None:
        """Gives the variables what `values` returned."""
        values = list(values)
        if len(values) != len(self._handles):
            not_restored(f"the checkpoint has {len(values)} of them, and train_step uses {len(self._handles)}")
            return
        for handle, value in zip(self._handles, values, strict=True):
            _write(handle, from_json(value))

    def values(self) -> list[Any]:
        """The values of the variables, as JSON."""
        return [to_json(_read(handle)) for handle in self._handles]

    def trace(self) -> None:
        """Called at the end of the trace of a train step."""
        if tf.executing_eagerly():
            return
        graph = tf.compat.v1.get_default_graph()
        known = {*self.saved, *map(id, self._handles)}
        used = [outer for outer, inner in graph.captures if id(outer) not in known and _may_change(outer, inner)]
        kept = [handle for handle in used if self.replicas == 1 and _bytes(handle) <= _MOST_BYTES]
        self._handles += kept
        if self.resumes and len(kept) < len(used) and not self._told_of_lost:
            self._told_of_lost = True
            why = "training has several replicas" if self.replicas > 1 else f"larger than {_MOST_BYTES >> 20} MiB"
            warn(
                f"train_step: {len(used) - len(kept)} variables that are not attributes of the model will not be saved "
                f"({why}); {_REMEDY}"
            )
        if self.resumes and not self._told and (names := repeatable.draws_in(graph)):
            self._told = True
            warn(
                f"train_step: the random state of {', '.join(names)} is not saved, so a resumed fit draws other "
                "numbers; use keras.random with a SeedGenerator that is an attribute of the layer"
            )


_captured: WeakKeyDictionary[Any, Captured] = WeakKeyDictionary()


def of(model: Any) -> Captured:
    """What the train step of this model captures."""
    return _captured.setdefault(model, Captured())


def noted(model: Any, step: Callable[..., Any]) -> Callable[..., Any]:
    """A train step whose captures are noted as it is traced."""
    captured = of(model)
    captured.replicas = model.distribute_strategy.num_replicas_in_sync

    @functools.wraps(step)
    def run(*arguments: Any) -> Any:
        result = step(*arguments)
        captured.trace()
        return result

    return run


def not_restored(reason: str) -> None:
    """Says why captured variables keep the values that the program gives them."""
    warn(f"train_step: variables that are not attributes of the model are not restored: {reason}; {_REMEDY}")


def handles(root: Any, *more: Any) -> set[int]:
    """Identities of the handles of all variables that belong to a trackable object, and of `more` variables."""
    found, _ = ObjectGraphView(root).breadth_first_traversal()
    values = [one.value if isinstance(one, keras.Variable) else one for one in [*found, *more]]
    parts = [part for one in values for part in (one.values if isinstance(one, _OF_REPLICAS) else [one])]
    return {id(part.handle) for part in parts if isinstance(part, tf.Variable)}


def _may_change(handle: tf.Tensor, inner: tf.Tensor) -> bool:
    """Whether a captured tensor is a variable of the program that a step or a callback may change."""
    uses = [op.type for op in inner.consumers()]
    # The exchange between replicas has variables of its own, of which branches may have a part, too.
    if (
        not uses
        or any(one.startswith("Collective") for one in uses)
        or not repeatable.is_variable(handle)
        or not (_dtype(handle).is_numeric or _dtype(handle).is_bool)
    ):
        return False
    return _bytes(handle) <= _MOST_READ_BYTES or any(one not in _READS for one in uses)


def _bytes(handle: tf.Tensor) -> int:
    shape = tf.TensorShape(handle._handle_data.shape_and_type[0].shape)
    return int(shape.num_elements() or 0) * int(_dtype(handle).size)


def _dtype(handle: tf.Tensor) -> tf.DType:
    return tf.as_dtype(handle._handle_data.shape_and_type[0].dtype)


def _read(handle: tf.Tensor) -> np.ndarray:
    return np.asarray(tf.raw_ops.ReadVariableOp(resource=handle, dtype=_dtype(handle)).numpy())


def _write(handle: tf.Tensor, value: np.ndarray) -> None:
    before = _read(handle)
    if (before.shape, before.dtype) != (value.shape, value.dtype):
        was, is_now = (f"{one.dtype} of shape {one.shape}" for one in (value, before))
        not_restored(f"one was {was}, and is {is_now}")
        return
    tf.raw_ops.AssignVariableOp(resource=handle, value=tf.constant(value))
