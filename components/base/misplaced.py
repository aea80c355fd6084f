"""Where a setting belongs whose name another map of settings knows: one that is indented too little or too much."""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from components.base.annotations import items, models
from components.base.model import Model

_MOST = 3
"""A name that more maps have tells nothing."""
_EVERYWHERE = ("kind", "name")
"""Keys of so many maps that none of them is meant."""
_Map = tuple[tuple[str, ...], type[Model]]


def homes(key: str, around: type[Model] | None, given: Mapping[str, Any], above: Sequence[_Map]) -> list[str]:
    """The keys at which an unknown one would be valid: below its map, relative to it, or else in the maps around it,
    from the top. Empty where there are none or too many.

    `around`: the model of its map, in which the file has `given`; `above`: the maps around that one.
    """
    if key in _EVERYWHERE or around is None:
        return []
    if below := _below(around, key, given):
        return _few(below)
    # At the top, all maps are of names: what is there has another meaning.
    for path, model in [each for each in reversed(above) if each[0]]:
        if names := [key] if key in _keys(model) else _below(model, key, {}):
            return _few([".".join((*path, name)) for name in names])
    return []


def is_below(model: type[Model], key: str) -> bool:
    """Whether one of the maps directly below a model knows this key."""
    return key in _inner(model)


def _few(found: list[str]) -> list[str]:
    return found if len(found) <= _MOST else []


def _below(model: type[Model], key: str, given: Mapping[str, Any]) -> list[str]:
    found = {name for name, kind in _inner(model).get(key, ()) if kind in ("", _kind(given.get(name), kind))}
    return [f"{name}.{key}" for name in sorted(found)]


def _kind(given: object, any_kind: str) -> object:
    """The kind of variant that the file has; where it has none, each may be meant."""
    return given.get("kind", any_kind) if isinstance(given, Mapping) else any_kind


@cache
def _inner(model: type[Model]) -> Mapping[str, list[tuple[str, str]]]:
    """The keys of the maps directly below a model: the map's key, and the kind that has them, or none."""
    found: dict[str, list[tuple[str, str]]] = {}
    for name, field in model.model_fields.items():
        for annotation in (field.annotation, *items(field.annotation)):
            for inner, kind in models(annotation):
                for key in _keys(inner):
                    found.setdefault(key, []).append((field.alias or name, kind))
    return found


@cache
def _keys(model: type[Model]) -> frozenset[str]:
    return frozenset(info.alias or name for name, info in model.model_fields.items())
