"""The random seeds of Keras models, such as those of Dropout, which TensorFlow's checkpoints of a model leave out."""

from __future__ import annotations

import functools
import random
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any


def states_of(*models: Any) -> list[Any]:
    """The variables of the models' seed generators, each once, and of Keras' global generator, which comes last."""
    layers = [layer for model in models for layer in model._flatten_layers()]
    generators = {id(one): one for layer in layers for one in layer._seed_generators}
    return [one.state for one in [*generators.values(), shared(models[0].distribute_strategy)]]


def shared(strategy: Any) -> Any:
    """Keras' global generator, of draws without a seed. Keras creates it at the first, which a replica cannot."""
    with strategy.scope(), _other_draws():
        _newest[:] = [import_module("keras.src.random.seed_generator").global_seed_generator()]
    return _newest[0]


_newest: list[Any] = []
"""Keras' global generator of the thread that trains."""


def of_all_replicas(original: Callable[[], Any]) -> Callable[[], Any]:
    """Keras has a global generator for each thread, and TensorFlow runs each replica in a thread of its own."""

    @functools.wraps(original)
    def generator() -> Any:
        import tensorflow as tf

        in_replica = tf.distribute.has_strategy() and not tf.distribute.in_cross_replica_context()
        return _newest[0] if in_replica and _newest else original()

    return generator


@contextmanager
def _other_draws() -> Iterator[None]:
    """In this block, Python's generator draws other numbers; the program's come after it as without the block.

    Keras draws the seed of its global generator when that is first needed, and those of initial weights: another model
    of the program begins with the weights that it has without the library.
    """
    before = random.getstate()
    random.seed(repr(before))
    try:
        yield
    finally:
        random.setstate(before)


def models_among(objects: Iterable[Any]) -> list[Any]:
    """The Keras 3 models among some objects. Those of tf_keras have their seeds in their checkpoints."""
    return [one for one in objects if hasattr(one, "_seed_generators") and hasattr(one, "distribute_strategy")]
