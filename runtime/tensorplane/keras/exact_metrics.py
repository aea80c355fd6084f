"""Keras' metrics on several replicas, as one process computes them from the whole batch."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import keras
import tensorflow as tf

from tensorplane.keras.replicas import in_step, share

Function = Callable[..., Any]


def samplewise_values(original: Function) -> Function:
    """What is one number for a replica's rows, such as its loss, counts as the replica's share of the samples.

    But for Sum, to which each replica adds its own.
    """

    @functools.wraps(original)
    def reduce(values: Any, sample_weight: Any, reduce_fn: Any, dtype: Any) -> Any:
        averages = in_step() and sample_weight is None and reduce_fn is not keras.ops.sum
        if averages and tf.convert_to_tensor(values).shape.rank == 0:
            sample_weight = share(tf.float64)
            values = tf.where(sample_weight > 0, values, tf.zeros_like(values))
        return original(values, sample_weight, reduce_fn, dtype)

    return reduce


class Results:
    """The results of metrics that a replica's step computed, from the samples of the replica alone."""

    def __init__(self) -> None:
        self._found: dict[int, tuple[Any, int, Any]] = {}

    def note(self, metric: Any, result: Any) -> None:
        """Remembers that the leaves of `result` are those of this metric."""
        for index, leaf in enumerate(tf.nest.flatten(result)):
            # The leaf is kept, so that no other gets its id.
            self._found[id(leaf)] = metric, index, leaf

    def metrics_of(self, leaves: Sequence[Any]) -> list[Any]:
        """The metrics whose results are among the leaves, each once."""
        return list({id(metric): metric for leaf in leaves if (metric := self._source(leaf)[0]) is not None}.values())

    def is_result(self, leaf: Any) -> bool:
        """Whether the leaf is the result of a metric."""
        return id(leaf) in self._found

    def decide(self, leaf: Any) -> bool:
        """Whether the leaf is computed from results. Eagerly that cannot be known."""
        if self.is_result(leaf) or not tf.is_symbolic_tensor(leaf):
            return False
        results = {found.name for _, _, found in self._found.values() if tf.is_symbolic_tensor(found)}
        waiting, seen = [leaf], set[str]()
        while waiting:
            one = waiting.pop()
            if one.name in results:
                return True
            if one.name not in seen:
                seen.add(one.name)
                waiting += one.op.inputs
        return False

    def replaced(self, leaf: Any, values: dict[int, list[Any]]) -> Any:
        """The leaf of the same metric's result from `values`: by the metric's id, its variables of all replicas."""
        metric, index, _ = self._found[id(leaf)]
        return tf.nest.flatten(metric.stateless_result(values[id(metric)]))[index]

    def _source(self, leaf: Any) -> tuple[Any, int, Any]:
        return self._found.get(id(leaf), (None, 0, None))


class _Noting(threading.local):
    """Where the metrics note the results that the caller's thread computes."""

    results: Results | None = None


_noting = _Noting()


@contextmanager
def noted(model: Any) -> Iterator[Results]:
    """In this block, the results of the model's metrics are noted."""
    for metric in model.metrics:
        _note_results(type(metric))
    before, _noting.results = _noting.results, Results()
    try:
        yield _noting.results
    finally:
        _noting.results = before


def _note_results(kind: Any) -> None:
    """From now on, metrics of this class note their results where `noted` asks for it."""
    if getattr(kind.result, "notes", False):
        return
    original = kind.result

    @functools.wraps(original)
    def result(self: Any) -> Any:
        # A result may be a variable, which on several replicas is no number.
        found = tf.nest.map_structure(_value, original(self))
        if _noting.results is not None:
            _noting.results.note(self, found)
        return found

    result.notes = True  # type: ignore[attr-defined]
    kind.result = result


def _value(leaf: Any) -> Any:
    return tf.convert_to_tensor(leaf) if isinstance(leaf, (tf.Variable, keras.Variable)) else leaf


@contextmanager
def unmeasured(model: Any) -> Iterator[None]:
    """In this block, the model's metrics count nothing, and their results are 0."""
    metrics = list(model.metrics)
    for metric in metrics:
        metric.update_state = lambda *_, **__: None
        metric.result = lambda: tf.zeros([])
    try:
        yield
    finally:
        for metric in metrics:
            del metric.update_state, metric.result


@contextmanager
def measured_apart(model: Any) -> Iterator[None]:
    """In this block, the model's metrics count into values that nobody else sees, from where they are now.

    Their variables are the strategy's, so they cannot be assigned in one process.
    """
    metrics = list(model.metrics)
    for metric in metrics:
        apart = _Apart(metric)
        metric.update_state, metric.result = apart.update_state, apart.result
    try:
        yield
    finally:
        for metric in metrics:
            del metric.update_state, metric.result


class _Apart:
    """A metric whose variables have other values."""

    def __init__(self, metric: Any) -> None:
        self._metric = metric
        self._values = [tf.convert_to_tensor(variable) for variable in metric.variables]

    def update_state(self, *arguments: Any, **keywords: Any) -> None:
        with keras.StatelessScope(self._mapping()) as scope:
            type(self._metric).update_state(self._metric, *arguments, **keywords)
        self._values = [scope.get_current_value(variable) for variable in self._metric.variables]

    def result(self) -> Any:
        with keras.StatelessScope(self._mapping()):
            return tf.nest.map_structure(tf.convert_to_tensor, type(self._metric).result(self._metric))

    def _mapping(self) -> list[tuple[Any, tf.Tensor]]:
        return list(zip(self._metric.variables, self._values, strict=True))
