"""Writes a model as a SavedModel from one worker alone, since the others may have ended."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import tensorflow as tf

from tensorplane.keras.optimizers import optimizers_of


def export(model: Any, folder: Path) -> None:
    """Writes a Keras model (Keras 3 or tf_keras) with its serving signatures, or a `tf.Module`."""
    keras = _keras_of(model)
    if keras is None:
        tf.saved_model.save(model, str(folder))
    elif keras.__name__ == "keras":
        with _ordinary_variables(model):
            model.export(str(folder), verbose=False)
    else:
        model.export(str(folder))


def _keras_of(model: Any) -> Any:
    """The Keras whose model this is; None if it is none."""
    found = (sys.modules.get(name) for name in ("keras", "tf_keras"))
    return next((keras for keras in found if keras and isinstance(model, keras.Model)), None)


@contextmanager
def _ordinary_variables(model: Any) -> Iterator[None]:
    """In this block, a model of Keras 3 has ordinary variables: some distributed ones are read from all workers.

    The model stays the user's own, with all that Keras could not make again from its configuration. Metrics and
    optimizers get zeros: a model server needs none, but TensorFlow saves what a model refers to.
    """
    held = list(_distributed(model))
    weights = {id(variable) for variable in model.variables}
    for owner, name, value in held:
        is_state = hasattr(owner, "_value") and id(owner) not in weights
        with tf.device("CPU:0"):
            now = tf.Variable(tf.zeros(value.shape, value.dtype) if is_state else value.numpy(), trainable=False)
        object.__setattr__(owner, name, now)
    try:
        yield
    finally:
        for owner, name, value in held:
            object.__setattr__(owner, name, value)


def _distributed(model: Any) -> Iterator[tuple[Any, str, Any]]:
    """The distributed variables, each with what has it and the attribute: Keras' own variable, or a layer."""
    layers = model._flatten_layers()
    metrics = [*model.metrics, *(metric for layer in layers for metric in layer._metrics)]
    states = [variable for one in [*metrics, *optimizers_of(model)] for variable in one.variables]
    for variable in {id(one): one for one in [*model.variables, *states]}.values():
        if isinstance(variable._value, tf.distribute.DistributedValues):
            yield variable, "_value", variable._value
    for layer in layers:
        for name, value in list(vars(layer).items()):
            if isinstance(value, tf.Variable) and isinstance(value, tf.distribute.DistributedValues):
                yield layer, name, value
