"""Locations in the settings: pydantic's, as the paths that users write."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import Any, get_args, get_origin

from pydantic import TypeAdapter, ValidationError

from tensorplane.components.base.family import Variant
from tensorplane.components.base.model import LIST_TAG, MAP_TAG, PRODUCED_TAG, SECRET_TAG, TEXT_TAG, Model, Moved
from tensorplane.components.base.type_hints import is_model, items, models, options
from tensorplane.stack_file import PROJECT
from tensorplane.stack_file.nearest import is_close, nearest

_MARKERS = ("[key]", LIST_TAG, MAP_TAG, TEXT_TAG, PRODUCED_TAG, SECRET_TAG)
Key = tuple[str, ...]
"""A key below `tensorplane:`, from the outermost inwards."""
_MOST_PATHS = 3
"""More paths than these are no help."""
_COMMON_KEYS = ("kind", "name")
"""Keys that so many maps have that none is suggested."""
_Map = tuple[tuple[str, ...], type[Model]]


@dataclass(frozen=True)
class Location:
    """The location of an error: its path as users write it, and the model that has the last key."""

    path: Key
    model: type[Model] | None
    siblings: Mapping[str, Any] = field(default_factory=dict)
    """The map that contains it."""
    written: str = ""
    """The value as the file has it, where Pulumi writes it in another way."""
    ancestors: tuple[tuple[Key, type[Model]], ...] = ()
    """The maps of settings that contain that of the last key, from the outermost inwards: their paths and models."""
    expected: tuple[tuple[type[Model], str], ...] = ()
    """The models that the value itself may be, with the kind of each where that selects one."""

    @property
    def key(self) -> str:
        """Its last key, without the project's prefix, whose colon is often typed as a dot."""
        return self.path[-1].removeprefix(f"{PROJECT}.")

    @cached_property
    def suggestions(self) -> tuple[Key, ...]:
        """The keys to suggest instead of an unknown one: similar ones, else the missing one."""
        allowed = self.allowed()
        if self.is_misplaced:
            return ()
        free = {name for name in allowed if name not in self.siblings}
        missing = [name for name in self.required() if name in free]
        # A name that exists elsewhere is misplaced, not misspelt.
        similar = [] if self.other_paths else nearest(self.key, free)
        names = similar or (missing if len(missing) == self._unknown == 1 else ())
        return tuple((*self.path[:-1], name) for name in names)

    @cached_property
    def other_paths(self) -> list[str]:
        """Where a setting of this name exists; empty if a key of this map is as close."""
        found = _paths_elsewhere(self.key, self.model, self.siblings, self.ancestors)
        return [] if found and is_close(self.key, self.allowed()) else found

    @property
    def is_misplaced(self) -> bool:
        """Whether there are more unknown keys than settings: they are not misspelt, but belong to another map."""
        return self._unknown > len(self.allowed())

    @property
    def _unknown(self) -> int:
        """How many keys of its map the model does not know, this one included."""
        known = {*self.allowed(), *(self.model.moved if self.model else ())}
        return len(self.siblings) - sum(name in self.siblings for name in known)

    def moved(self, value: Any) -> Moved | None:
        """Where a setting with this former key is now; None if it was never a setting."""
        relocation = self.model.moved.get(self.path[-1]) if self.model else None
        return relocation(self.path[-2], value) if relocation else None

    def required(self) -> list[str]:
        """The keys that the model requires."""
        return [info.alias or name for name, info in fields(self.model) if info.is_required()]

    def is_foreign(self) -> bool:
        """Whether its map has settings of another model; missing keys are then not reported."""
        alone = not any(name in self.siblings for name in self.allowed())
        return self.model is not None and (self._unknown > 1 or (alone and self._unknown > 0))

    def allowed(self) -> list[str]:
        """The keys of the model, as people write them."""
        return _names(self.model)

    def accepts(self, value: Any) -> bool:
        """Whether the setting alone, without checks across settings, accepts a value."""
        check = _check_of(self.model, self.path[-1]) if self.model else None
        return check is None or _passes(check, value)

    @classmethod
    def find(cls, root: type[Model], loc: tuple[int | str, ...], tree: Any = None) -> "Location":
        """Follows a pydantic location through the models, without its markers for union members and dict keys."""
        path: list[str] = []
        model: type[Model] | None = None
        ancestors: list[tuple[Key, type[Model]]] = []
        annotation: Any = root
        for part in loc:
            choices = list(options(annotation))
            variant = _variant(choices, part)
            if variant is not None:
                annotation = variant
                continue
            container = next((option for option in choices if _is_container(option)), None)
            if part == MAP_TAG:
                annotation = next(filter(is_model, choices), annotation)
            if container is None or part in _MARKERS:
                continue
            annotation = _inside(container, str(part))
            if isinstance(part, int) and isinstance(value_at(tree, path), Mapping | str):
                # One item without its list: the model has it at position 0, the file at none.
                continue
            if model:
                ancestors.append((tuple(path[:-1]), model))
            path.append(str(part))
            model = container if is_model(container) else None
        parent = value_at(tree, path[:-1])
        siblings = parent if isinstance(parent, Mapping) else {}
        return cls(tuple(path), model, siblings, ancestors=tuple(ancestors), expected=tuple(models(annotation)))


def written_path(path: Key, tree: Any) -> Key:
    """A path of the model as that of the file: where the file has one item without its list, without its position."""
    found: list[str] = []
    for key in path:
        alone = isinstance(tree, str) or (isinstance(tree, Mapping) and key not in tree)
        if alone and key.isdecimal():
            continue
        found.append(key)
        tree = value_at(tree, [key])
    return tuple(found)


@cache
def _names(model: type[Model] | None) -> list[str]:
    return sorted(info.alias or name for name, info in fields(model))


@cache
def _check_of(model: type[Model], key: str) -> TypeAdapter[Any] | None:
    """What validates a field of a model; None if it has none of this name."""
    found = next((info for name, info in fields(model) if key in (name, info.alias)), None)
    return TypeAdapter(found.rebuild_annotation()) if found else None


def is_valid(model: type[Model], value: Mapping[str, Any]) -> bool:
    """Whether a map is valid as settings."""
    return _passes(_check_of_model(model), value)


@cache
def _check_of_model(model: type[Model]) -> TypeAdapter[Any]:
    return TypeAdapter(model)


def _passes(check: TypeAdapter[Any], value: Any) -> bool:
    try:
        check.validate_python(value)
    except ValidationError:
        return False
    return True


def value_at(tree: Any, path: Iterable[str]) -> Any:
    """What is at a path of a tree; None if nothing is."""
    for key in path:
        if isinstance(tree, list):
            tree = tree[int(key)] if key.isdecimal() and int(key) < len(tree) else None
        else:
            tree = tree.get(key) if isinstance(tree, Mapping) else None
    return tree


def fields(model: type[Model] | None) -> Iterable[tuple[str, Any]]:
    """A model's settings: the name in Python, and pydantic's field."""
    return model.model_fields.items() if model else ()


def _is_container(option: Any) -> bool:
    return is_model(option) or get_origin(option) in (dict, list, tuple)


def _variant(choices: list[Any], part: int | str) -> type[Model] | None:
    """The model that a part of a location stands for where it is a union's tag, the `kind` of one of its models."""
    models: list[type[Model]] = [option for option in choices if is_model(option)]
    for model in models:
        if issubclass(model, Variant) and model.is_family:
            if part in model.variants:
                return model.variants[str(part)]
        elif len(models) > 1 and "kind" in model.model_fields and model.model_fields["kind"].default == part:
            return model
    return None


def _inside(container: Any, key: str) -> Any:
    if is_model(container):
        return next((f.annotation for n, f in container.model_fields.items() if key in (n, f.alias)), None)
    arguments = get_args(container)
    # A list's items, of which a tuple's type says no number, or a map's values.
    return arguments[1] if get_origin(container) is dict else arguments[0]


def _paths_elsewhere(
    key: str, model: type[Model] | None, given: Mapping[str, Any], ancestors: Sequence[_Map]
) -> list[str]:
    """The paths where an unknown key would be valid: below its map, relative to it, or else in the maps that contain
    it, from the top. Empty where there are none or too many.

    `model`: of its map, in which the file has `given`; `ancestors`: the maps that contain that one.
    """
    if key in _COMMON_KEYS or model is None:
        return []
    if below := _inside_of(model, key, given):
        return _if_few(below)
    # At the top, all maps are of names: what is there has another meaning.
    for path, outer in [each for each in reversed(ancestors) if each[0]]:
        if names := [key] if key in _keys(outer) else _inside_of(outer, key, {}):
            return _if_few([".".join((*path, name)) for name in names])
    return []


def is_key_below(model: type[Model], key: str) -> bool:
    """Whether one of the maps directly below a model knows this key."""
    return key in _keys_one_level_below(model)


def _if_few(found: list[str]) -> list[str]:
    return found if len(found) <= _MOST_PATHS else []


def _inside_of(model: type[Model], key: str, given: Mapping[str, Any]) -> list[str]:
    inner = _keys_one_level_below(model).get(key, ())
    found = {name for name, kind in inner if kind in ("", _given_kind(given.get(name), kind))}
    return [f"{name}.{key}" for name in sorted(found)]


def _given_kind(given: object, any_kind: str) -> object:
    """The kind of variant in the file, or any where it has none."""
    return given.get("kind", any_kind) if isinstance(given, Mapping) else any_kind


@cache
def _keys_one_level_below(model: type[Model]) -> Mapping[str, list[tuple[str, str]]]:
    """The keys of the maps directly below a model: the map's key, and the kind that has them, or none."""
    found: dict[str, list[tuple[str, str]]] = {}
    for name, info in model.model_fields.items():
        for annotation in (info.annotation, *items(info.annotation)):
            for inner, kind in models(annotation):
                for key in _keys(inner):
                    found.setdefault(key, []).append((info.alias or name, kind))
    return found


@cache
def _keys(model: type[Model]) -> frozenset[str]:
    return frozenset(info.alias or name for name, info in model.model_fields.items())
