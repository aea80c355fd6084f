"""What a model trains with belongs to the model's strategy: elsewhere created, replicas would share its variables."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import keras

from tensorplane.errors import UsageError
from tensorplane.keras.optimizers import optimizers_of
from tensorplane.keras.replicas import Replicas, several
from tensorplane.log import warn


def check_model(model: Any) -> None:
    """Raises UsageError for layers whose weights were created outside of the strategy's scope and would be trained."""
    if not several(model.distribute_strategy):
        return
    inside = model.distribute_strategy.extended.variable_created_in_scope
    outside = [
        layer.name
        for layer in model._flatten_layers()
        if layer.trainable and not all(inside(variable.value) for variable in layer._trainable_variables)
    ]
    if outside:
        more = f" and {len(outside) - 1} more layers" if len(outside) > 1 else ""
        raise UsageError(
            f"model: the weights of {outside[0]}{more} were created outside of the strategy's scope; create "
            "the layers, and call the model for the first time, in `with tensorplane.strategy().scope():`"
        )


def check_optimizers(model: Any) -> None:
    """Raises UsageError for optimizers that were created outside of the strategy's scope."""
    if line := _line("optimizer", model, ((one, one.variables) for one in optimizers_of(model))):
        raise UsageError(line)


def check_metrics(model: Any) -> None:
    """Says which built metrics were created outside of the strategy's scope: what they report is wrong."""
    metrics = [one for metric in model.metrics for one in (getattr(metric, "metrics", None) or [metric])]
    if line := _line("metrics", model, ((one, one.variables) for one in metrics)):
        warn(line)


def _line(key: str, model: Any, parts: Iterable[tuple[Any, list[keras.Variable]]]) -> str:
    """What is wrong; empty if nothing is. Where each process has one replica, nobody shares variables."""
    if Replicas.of(model.distribute_strategy).local < 2:
        return ""
    inside = model.distribute_strategy.extended.variable_created_in_scope
    outside = [part.name for part, variables in parts if not all(inside(variable.value) for variable in variables)]
    if not outside:
        return ""
    return (
        f"{key}: {', '.join(dict.fromkeys(outside))}: created outside of the strategy's scope, unlike the model; "
        "create both in `with tensorplane.strategy().scope():`"
    )
