"""`fit` as Keras has it, on one worker or several, with checkpoints and exact resume."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import closing
from importlib import import_module
from pathlib import Path
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from tensorplane import seeds
from tensorplane.callbacks import Resume
from tensorplane.data.dataset import Inputs
from tensorplane.errors import UsageError
from tensorplane.parameter_server.servers import is_parameter_server
from tensorplane.watchdog import watched

_ADAPTERS = "keras.src.trainers.data_adapters.data_adapter_utils"
_ARRAYS = (np.ndarray, tf.Tensor)


def fit(
    model: Any,
    x: Any,
    y: Any = None,
    *,
    callbacks: Sequence[Any] | None = (),
    folder: Path | str | None = None,
    every_steps: int | None = None,
    name: str = "",
    verbose: int | str = 0,
    **keywords: Any,
) -> Any:
    """Trains a compiled Keras model with `model.fit`; continues if an earlier call was interrupted. Returns History.

    `x` is a tf.data.Dataset of global batches, the result of `tensorplane.dataset`, or arrays with `y`, `batch_size`
    (global) and `shuffle`; other keywords are those of `model.fit`. `folder`, `every_steps` and `name` are those of
    `Resume`. Raises UsageError for data whose order cannot be repeated. At SIGTERM the program exits with code 75 after
    a save, and with the same code if another worker does not answer.
    """
    # One alone, None, or lists in a list, as Keras takes them.
    callbacks = keras.tree.flatten(callbacks or ())
    if isinstance(keywords.get("validation_data"), Inputs):
        raise UsageError(
            "validation_data: a tensorplane.dataset has no end; pass arrays, or a tf.data.Dataset of batches"
        )
    if is_parameter_server(model.distribute_strategy):
        from tensorplane.parameter_server import fit

        return fit.fit(model, x, y, callbacks=callbacks, folder=folder, every_steps=every_steps, name=name, **keywords)
    if not isinstance(model, keras.Model):
        raise UsageError(
            f"model: a {type(model).__module__}.{type(model).__name__} is not a model of Keras 3; "
            "call its own fit, which trains on several workers too"
        )
    resume = Resume(folder, every_steps=every_steps, name=name)
    if _are_arrays(x):
        x, keywords = _dataset(x, y, keywords)
        y = None
    if isinstance(x, Inputs):
        keywords.setdefault("steps_per_epoch", x.steps_per_epoch)
        x = x.batches(model.distribute_strategy)
    if kinds := {type(leaf).__name__ for leaf in tf.nest.flatten(x) if _is_like_an_array(leaf)}:
        raise UsageError(f"x: has {', '.join(sorted(kinds))}, which fit does not take; pass numpy.asarray of each")
    if not isinstance(x, (tf.data.Dataset, tf.distribute.DistributedDataset)):
        raise UsageError(
            f"x: the order of a {type(x).__name__} cannot be repeated when training resumes; "
            "pass a tf.data.Dataset or arrays"
        )
    resume.validation_data, resume.validation_steps = map(keywords.get, ("validation_data", "validation_steps"))
    # Keras warns of `shuffle` for a dataset.
    keywords["shuffle"] = False
    with watched(), closing(resume):
        return model.fit(x, y, callbacks=[*callbacks, resume], verbose=verbose, **keywords)


def _are_arrays(x: Any) -> bool:
    leaves = tf.nest.flatten(x)
    return bool(leaves) and all(isinstance(leaf, _ARRAYS) for leaf in leaves)


def _is_like_an_array(leaf: Any) -> bool:
    """Whether it is none, but has a fixed order, such as a DataFrame."""
    return hasattr(leaf, "__array__") and not isinstance(leaf, _ARRAYS)


def _dataset(x: Any, y: Any, keywords: dict[str, Any]) -> tuple[tf.data.Dataset, dict[str, Any]]:
    """Arrays as batches, shuffled by a seed, and the keywords that remain for Keras."""
    rest = dict(keywords)
    weight, given = rest.pop("sample_weight", None), rest.pop("batch_size", None)
    shuffle, split = rest.pop("shuffle", True), rest.pop("validation_split", None) or 0.0
    if rest.get("validation_data") is not None:
        # As in Keras, nothing is held out then.
        split = 0.0
    if y is None and weight is not None:
        raise UsageError("sample_weight: given without y, which it would be taken for; pass y")
    # As a train_step gets them. A list would be one tensor to tf.data.
    whole = keras.tree.lists_to_tuples(keras.utils.pack_x_y_sample_weight(x, y, weight))
    count = _samples(whole)
    end = math.floor(count * (1 - split))
    if not 0 < end <= count - bool(split):
        raise UsageError(f"validation_split: {split} leaves nothing of {count} samples to train on or to validate with")
    # Keras got it as `batch_size`, too.
    rest["validation_batch_size"] = rest.get("validation_batch_size") or given
    with tf.device("CPU:0"):
        # Not on the GPU, whose memory they would fill.
        arrays = tf.nest.map_structure(_as_keras_has_it, whole)
    if split:
        held = tf.data.Dataset.from_tensor_slices(tf.nest.map_structure(lambda array: array[end:], arrays))
        held_size = rest["validation_batch_size"] or _default_size(count - end, rest.get("validation_steps"))
        rest["validation_data"] = held.batch(held_size)
    if (classes := rest.get("class_weight")) is not None and (weights := _weights_of(classes, whole)) is not None:
        # Validation is not weighted by class.
        arrays, rest = (*arrays, tf.convert_to_tensor(weights)), {**rest, "class_weight": None}
    order = tf.data.Dataset.range(end)
    if shuffle:
        order = order.shuffle(end, seed=seeds.of_run())
    size = given or _default_size(end, rest.get("steps_per_epoch"))
    data = order.batch(size).map(lambda rows: tf.nest.map_structure(lambda array: tf.gather(array, rows), arrays))
    return data.prefetch(tf.data.AUTOTUNE), rest


def _default_size(samples: int, steps: int | None) -> int:
    """The batch size that Keras takes where none is given."""
    return math.ceil(samples / steps) if steps else 32


def _weights_of(classes: Any, arrays: Any) -> Any:
    """The samples' weights by class, as Keras weights arrays; None for what Keras weights as a dataset, or refuses.

    Of a dataset, Keras takes them only if all classes are named.
    """
    if not isinstance(arrays, tuple) or len(arrays) != 2 or tf.nest.is_nested(arrays[1]) or arrays[1].ndim > 2:
        return None
    return import_module(_ADAPTERS).class_weight_to_sample_weights(arrays[1], classes)


def _as_keras_has_it(array: Any) -> tf.Tensor:
    """As a tensor; numbers with a fraction have Keras' type."""
    tensor = tf.convert_to_tensor(array)
    return tf.cast(tensor, keras.config.floatx()) if tensor.dtype.is_floating else tensor


def _samples(arrays: Any) -> int:
    """How many samples the arrays have."""
    lengths = [len(array) for array in tf.nest.flatten(arrays)]
    if len(set(lengths)) > 1:
        raise UsageError(f"x, y: have {', '.join(map(str, lengths))} samples; pass the same number of each")
    return lengths[0]
