"""Tiers of accelerators in the settings of workloads, which the fleet's models replace before anything reads them."""

from typing import Any, TypeVar

from tensorplane.components.base.model import Model, Tier
from tensorplane.components.node_groups.fleet import Fleet

M = TypeVar("M", bound=Model)


def resolved(settings: M, fleet: Fleet) -> M:
    """The settings with models in place of tiers, at any depth. A tier without any model stays: checks refuse it."""
    changed = {
        name: new
        for name in type(settings).model_fields
        if (new := _resolved(value := getattr(settings, name), fleet)) is not value
    }
    accelerator = getattr(settings, "accelerator", None)
    if isinstance(accelerator, Tier) and (names := fleet.in_tier(accelerator)):
        changed["accelerator"] = names
    return settings.model_copy(update=changed) if changed else settings


def _resolved(value: Any, fleet: Fleet) -> Any:
    if isinstance(value, Model):
        return resolved(value, fleet)
    if isinstance(value, dict):
        new = {key: _resolved(each, fleet) for key, each in value.items()}
        return new if any(new[key] is not value[key] for key in value) else value
    return value
