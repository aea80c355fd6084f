"""Creates all variables of a model, its metrics and its optimizers before the first step, without asking other workers.

Checkpoints are restored into them, and variables of several replicas cannot be created in a step.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib import import_module
from typing import Any

import keras
import tensorflow as tf

from tensorplane.errors import UsageError
from tensorplane.keras import scope, seed_generators
from tensorplane.keras.batches import Batch
from tensorplane.keras.exact_gradients import applying, sum_before
from tensorplane.keras.exact_metrics import unmeasured
from tensorplane.keras.optimizers import optimizers_of
from tensorplane.keras.replicas import Replicas, several
from tensorplane.log import warn

_ABSENT = (tf.OptionalSpec, type(tf.type_spec_from_value(None)))
"""Types of what a batch does not have, such as labels."""


def build(model: Any, iterator: Any) -> None:
    """Creates the variables for the batches of an epoch iterator."""
    spec = _without_absent(iterator.batches.element_spec)
    scope.check_model(model)
    scope.check_optimizers(model)
    if several(model.distribute_strategy):
        sum_before(optimizers_of(model))
    seed_generators.shared(model.distribute_strategy)
    with model.distribute_strategy.scope():
        if _has_call(model):
            _build_layers(model, spec, lambda: _read(iterator))
        if _needs_trace(model):
            _trace(model, spec)


def trace(model: Any, iterator: Any, at_end: Callable[[], None]) -> None:
    """Traces the train_step on the batches of an epoch iterator. `at_end` is called at the end of the trace."""
    with model.distribute_strategy.scope():
        _trace(model, _without_absent(iterator.batches.element_spec), at_end)


def build_from(model: Any, batch: Any) -> None:
    """Creates the variables for a batch."""
    seed_generators.shared(model.distribute_strategy)
    with model.distribute_strategy.scope():
        if _has_call(model):
            _build_layers(model, batch, lambda: batch)
        if _needs_trace(model):
            _trace(model, batch)


def build_to_predict(model: Any, values: Any) -> None:
    """Creates the variables of a model that predicts before anything else has built it."""
    with model.distribute_strategy.scope():
        model.predict_step(values)


def _has_call(model: Any) -> bool:
    """Whether the model can be called on a batch. A GAN, whose train_step calls its parts, often cannot."""
    return type(model).call not in (keras.Model.call, keras.layers.Layer.call)


def _build_layers(model: Any, spec: Any, read: Callable[[], Any]) -> None:
    leaves = [leaf for leaf in tf.nest.flatten(spec) if leaf is not None]
    if any(leaf.shape.rank is None for leaf in leaves):
        spec = read()
    try:
        model._symbolic_build(data_batch=spec)
    except Exception:
        if type(model).train_step is not keras.Model.train_step:
            # Only it knows what is what in a batch: of anchors, positives and negatives, Keras would call the first.
            with suppress(Exception):
                _trace(model, spec)
                return
        if all(None not in leaf.shape.as_list()[1:] for leaf in leaves):
            raise
        # Some layers need all sizes, such as Flatten before Dense.
        model._symbolic_build(data_batch=read())


def _read(iterator: Any) -> Any:
    """The first batch, as the first replica of this worker gets it."""
    batch = next(iter(iterator.batches), None)
    if batch is None:
        raise UsageError("dataset: has no batches; pass at least one")
    if iterator.batches.is_shuffled:
        warn(
            "dataset: sizes are unknown until a batch is read, so training begins with the second shuffled order; call "
            "the model on a batch before fit"
        )
    return first_of_replicas(batch, iterator._distribute_strategy)


def first_of_replicas(batch: Any, strategy: tf.distribute.Strategy) -> Any:
    """What the first replica of this worker gets."""
    values = batch.values if isinstance(batch, Batch) else batch
    return tf.nest.map_structure(lambda value: strategy.experimental_local_results(value)[0], values)


def _without_absent(spec: Any) -> Any:
    return tf.nest.map_structure(lambda leaf: None if isinstance(leaf, _ABSENT) else leaf, spec)


def _needs_trace(model: Any) -> bool:
    """Whether only the train_step tells which variables there are."""
    if _has_call(model):
        return any(not one.built for one in optimizers_of(model) if one is not model.optimizer)
    return not all(part.built for part in [*_parts(model), *optimizers_of(model)])


def _trace(model: Any, batch: Any, at_end: Callable[[], None] = lambda: None) -> None:
    """Traces the train_step without executing it: its layers build themselves, and its optimizers are built here."""
    found: dict[int, tuple[Any, list[Any]]] = {}

    def note(optimizer: Any, grads: Sequence[Any], variables: Sequence[Any] | None) -> None:
        if not optimizer.built and variables is not None:
            found[id(optimizer)] = optimizer, list(variables)

    def step(values: Any) -> None:
        model.distribute_strategy.run(lambda one: _nothing(model.train_step(one)), args=(values,))
        at_end()

    with applying(note), unmeasured(model):
        if Replicas.of(model.distribute_strategy).local > 1 and not all(part.built for part in _parts(model)):
            _build_parts(model, batch)
        tf.function(step, autograph=False).get_concrete_function(tf.nest.map_structure(_spec, batch))
    for optimizer, variables in found.values():
        optimizer.build(variables)


def _build_parts(model: Any, batch: Any) -> None:
    """Builds the layers that a train_step calls before its first gradient, which Keras' symbols do not have.

    Several replicas of a process cannot create their variables in a step.
    """

    def symbol(leaf: Any) -> Any:
        return None if leaf is None else keras.KerasTensor(leaf.shape.as_list(), leaf.dtype.name)

    with suppress(Exception):
        import_module("keras.src.backend").compute_output_spec(
            lambda values: _nothing(model.train_step(values)), tf.nest.map_structure(symbol, batch)
        )


def _parts(model: Any) -> list[Any]:
    return list(model._flatten_layers(include_self=False))


def _nothing(_: Any) -> None:
    """The value of a step of which only the trace is wanted."""


def _spec(leaf: Any) -> Any:
    return leaf if isinstance(leaf, tf.TypeSpec) or leaf is None else tf.type_spec_from_value(leaf)
