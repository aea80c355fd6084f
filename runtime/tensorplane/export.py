"""Writes a model as a SavedModel from one worker alone, since the others may have ended."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

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

    A model with code of its own cannot be copied from its configuration, and is exported as it is.
    """
    if not any(isinstance(variable, tf.distribute.DistributedValues) for variable in _variables(model)):
        return model
    if not getattr(model, "inputs", None):
        return model
    copy = keras.models.clone_model(model)
    copy.set_weights(model.get_weights())
    return copy


def _variables(model: Any) -> list[Any]:
    return [getattr(variable, "value", variable) for variable in model.variables]
