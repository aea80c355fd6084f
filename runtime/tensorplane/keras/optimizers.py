"""The optimizers of a model: that of `compile`, and those of a train_step of its own."""

from __future__ import annotations

from typing import Any

import keras


def optimizers_of(model: Any) -> list[Any]:
    """The optimizers that are attributes of the model or its parts, or in lists and dicts of them, each once."""
    found: list[Any] = []
    for layer in model._flatten_layers():
        for value in vars(layer).values():
            held = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else [value]
            found += [one for one in held if isinstance(one, keras.optimizers.Optimizer)]
    return list({id(one): one for one in found}.values())
