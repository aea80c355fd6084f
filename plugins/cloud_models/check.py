"""Checks the values of a resource's inputs against its cloud's own model, and says which it cannot check."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tensorplane.plugins.cloud_models import azure, catalog, limit_check
from tensorplane.plugins.cloud_models.coverage import Coverage
from tensorplane.plugins.cloud_models.limit_check import Model
from tensorplane.plugins.cloud_models.pairs import Pair
from tensorplane.plugins.cloud_models.shape import Limits
from tensorplane.plugins.preview.check import InputProblem

_AZURE = "azure-native"


@dataclass(frozen=True)
class Checked:
    """What the model says about one resource."""

    problems: list[InputProblem]
    coverage: Coverage


def check_inputs(token: str, values: Mapping[str, Any], arguments: type) -> Checked:
    """Checks the inputs of a resource of this type. `arguments`: the SDK's class of its arguments.

    Unknown values count neither as problems nor as checked.
    """
    model, pairs = _model_and_pairs(token, values, arguments)
    found = list(pairs)
    return Checked([each for pair in found for each in _problems(pair, model)], Coverage.of(token, model.source, found))


def _model_and_pairs(token: str, values: Mapping[str, Any], arguments: type) -> tuple[Model, Iterator[Pair]]:
    """The type's model, without a source if none is installed, and each value with its shape in the model."""
    name, path, _ = token.split(":", 2)
    if name == _AZURE:
        return Model("Azure", azure.installed(path.partition("/")[0])), azure.pairs(values, arguments)
    entry = catalog.entry(token)
    model = Model(entry.cloud.label, entry.cloud.source) if entry else Model("", "")
    return model, catalog.pairing(token).of(values, entry.shape if entry else None)


def _problems(pair: Pair, model: Model) -> Iterator[InputProblem]:
    limits = pair.shape.limits if pair.shape else Limits()
    if reason := limit_check.reason(pair.value, limits, model, hidden=pair.hidden):
        yield InputProblem(pair.path, reason, certain=not limits.grows)
