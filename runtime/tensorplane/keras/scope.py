"""What a model trains with belongs to the model's strategy: elsewhere created, replicas would share its variables."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import keras

from tensorplane.keras.optimizers import optimizers_of
from tensorplane.keras.replicas import Replicas, several


def check_optimizers(model: Any) -> None:
    """Raises ValueError for optimizers that were created outside of the strategy's scope."""
    if several(model.distribute_strategy):
        _check("optimizer", model, ((one, one.variables) for one in optimizers_of(model)))


def check_metrics(model: Any) -> None:
    """Raises ValueError for built metrics that were created outside of the strategy's scope.

    Workers with one replica each may have them: nobody shares their variables.
    """
    if Replicas.of(model.distribute_strategy).local > 1:
        metrics = [one for metric in model.metrics for one in (getattr(metric, "metrics", None) or [metric])]
        _check("metrics", model, ((one, one.variables) for one in metrics))


def _check(key: str, model: Any, parts: Iterable[tuple[Any, list[keras.Variable]]]) -> None:
    inside = model.distribute_strategy.extended.variable_created_in_scope
    outside = [part.name for part, variables in parts if not all(inside(variable.value) for variable in variables)]
    if outside:
        names = ", ".join(dict.fromkeys(outside))
        raise ValueError(
            f"{key}: {names}: created outside of the strategy's scope, in which the model was; create both in "
            "`with tensorplane.strategy().scope():`"
        )
