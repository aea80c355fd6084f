"""Writes a model as a SavedModel from one worker alone, since the others may have ended."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf


def export(model: Any, folder: Path) -> None:
    """Write a Keras model (Keras 3 or tf_keras) with its serving signatures, or a `tf.Module`."""
    keras = _keras_of(model)
    if keras is None:
        tf.saved_model.save(model, str(folder))
    else:
        _outside_strategies(keras, model).export(
            str(folder), **({"verbose": False} if keras.__name__ == "keras" else {})
        )


def _keras_of(model: Any) -> Any:
    """The Keras whose model this is; None if it is none."""
    found = (sys.modules.get(name) for name in ("keras", "tf_keras"))
    return next((keras for keras in found if keras and isinstance(model, keras.Model)), None)


def _outside_strategies(keras: Any, model: Any) -> Any:
    """A copy with ordinary variables, because some distributed ones are read from all workers.

    A model with code of its own cannot be copied from its configuration, and is exported as it is. Losses and metrics
    are not copied: a model server needs none.
    """
    if not any(isinstance(variable, tf.distribute.DistributedValues) for variable in _variables(model)):
        return model
    if not getattr(model, "inputs", None):
        return model
    with _uncompiled(model):
        copy = keras.models.clone_model(model)
    for layer, twin in zip(model._flatten_layers(), copy._flatten_layers(), strict=True):
        _give_state(layer, twin)
    return copy


@contextmanager
def _uncompiled(model: Any) -> Iterator[None]:
    """In this block, `clone_model` does not compile the copy, for which it would have to know the user's losses."""
    compiled = getattr(model, "compiled", False)
    if compiled:
        model.compiled = False
    try:
        yield
    finally:
        if compiled:
            model.compiled = True


def _give_state(layer: Any, twin: Any) -> None:
    """Copy what Keras saves of one layer: its weights, and what it has adapted to, such as a vocabulary."""
    weights: dict[str, Any] = {}
    layer.save_own_variables(weights)
    twin.load_own_variables({name: np.asarray(value) for name, value in weights.items()})
    if hasattr(layer, "save_assets"):
        with tempfile.TemporaryDirectory() as folder:
            layer.save_assets(folder)
            twin.load_assets(folder)


def _variables(model: Any) -> list[Any]:
    return [getattr(variable, "value", variable) for variable in model.variables]
