"""Positions in the settings: pydantic locations as the paths that users write."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import Any, get_args, get_origin

from pydantic import TypeAdapter, ValidationError

from components.base import misplaced
from components.base.annotations import is_model, models, options
from components.base.family import Variant
from components.base.model import LIST_TAG, MAP_TAG, PRODUCED_TAG, SECRET_TAG, TEXT_TAG, Model
from components.base.moved import Moved
from stack_file import PROJECT
from stack_file.nearest import is_close, nearest

_MARKERS = ("[key]", LIST_TAG, MAP_TAG, TEXT_TAG, PRODUCED_TAG, SECRET_TAG)
Key = tuple[str, ...]
"""A key below `tensorplane:`, from the outermost inwards."""


@dataclass(frozen=True)
class Place:
    """The position of an error: its path as users write it, and the model of its last key."""

    path: Key
    around: type[Model] | None
    siblings: Mapping[str, Any] = field(default_factory=dict)
    """The map that contains it."""
    written: str = ""
    """The value as the file has it, where Pulumi writes it in another way."""
    above: tuple[tuple[Key, type[Model]], ...] = ()
    """The maps of settings around that of the last key, from the outermost inwards: their paths and models."""
    expected: tuple[tuple[type[Model], str], ...] = ()
    """The models that the value itself may be, with the kind of each where that selects one."""

    @property
    def key(self) -> str:
        """Its last key, without the project's prefix, whose colon is often typed as a dot."""
        return self.path[-1].removeprefix(f"{PROJECT}.")

    @cached_property
    def meant(self) -> tuple[Key, ...]:
        """The keys that an unknown one may mean: similar ones, else the missing one."""
        allowed = self.allowed()
        if self.is_misplaced:
            return ()
        free = {name for name in allowed if name not in self.siblings}
        missing = [name for name in self.required() if name in free]
        # The very name of a setting elsewhere is not a misspelt one of here.
        similar = [] if self.homes else nearest(self.key, free)
        names = similar or (missing if len(missing) == self._unknown == 1 else ())
        return tuple((*self.path[:-1], name) for name in names)

    @cached_property
    def homes(self) -> list[str]:
        """Where the setting of this name is, unless it is as good as one of here."""
        found = misplaced.homes(self.key, self.around, self.siblings, self.above)
        return [] if found and is_close(self.key, self.allowed()) else found

    @property
    def is_misplaced(self) -> bool:
        """Whether there are more unknown keys than settings: they are not misspelt, but belong to another map."""
        return self._unknown > len(self.allowed())

    @property
    def _unknown(self) -> int:
        """How many keys beside it, itself included, the model does not know."""
        known = {*self.allowed(), *(self.around.moved if self.around else ())}
        return len(self.siblings) - sum(name in self.siblings for name in known)

    def moved(self, value: Any) -> Moved | None:
        """Where a setting with this former key is now; None if it was never a setting."""
        relocation = self.around.moved.get(self.path[-1]) if self.around else None
        return relocation(self.path[-2], value) if relocation else None

    def required(self) -> list[str]:
        """The keys that the model around must have."""
        return [info.alias or name for name, info in fields(self.around) if info.is_required()]

    def is_foreign(self) -> bool:
        """Whether its map has settings of another model; missing keys are then not reported."""
        alone = not any(name in self.siblings for name in self.allowed())
        return self.around is not None and (self._unknown > 1 or (alone and self._unknown > 0))

    def allowed(self) -> list[str]:
        """The keys that the model around knows, as people write them."""
        return _names(self.around)

    def accepts(self, value: Any) -> bool:
        """Whether the setting takes a value, as far as it alone decides."""
        check = _check_of(self.around, self.path[-1]) if self.around else None
        return check is None or _passes(check, value)

    @classmethod
    def of(cls, root: type[Model], location: tuple[int | str, ...], tree: Any = None) -> "Place":
        """Follow a pydantic location through the models, without its markers for union members and dict keys."""
        path: list[str] = []
        around: type[Model] | None = None
        above: list[tuple[Key, type[Model]]] = []
        here: Any = root
        for part in location:
            choices = list(options(here))
            variant = _variant(choices, part)
            if variant is not None:
                here = variant
                continue
            container = next((option for option in choices if _is_container(option)), None)
            if part == MAP_TAG:
                here = next(filter(is_model, choices), here)
            if container is None or part in _MARKERS:
                continue
            here = _inside(container, str(part))
            if isinstance(part, int) and isinstance(_at(tree, path), Mapping | str):
                # One item without its list: the model has it at position 0, the file at none.
                continue
            if around:
                above.append((tuple(path[:-1]), around))
            path.append(str(part))
            around = container if is_model(container) else None
        beside = _at(tree, path[:-1])
        siblings = beside if isinstance(beside, Mapping) else {}
        return cls(tuple(path), around, siblings, above=tuple(above), expected=tuple(models(here)))


def written_path(path: Key, tree: Any) -> Key:
    """A path of the model as that of the file: where the file has one item without its list, without its position."""
    found: list[str] = []
    for key in path:
        alone = isinstance(tree, str) or (isinstance(tree, Mapping) and key not in tree)
        if alone and key.isdecimal():
            continue
        found.append(key)
        tree = _at(tree, [key])
    return tuple(found)


@cache
def _names(model: type[Model] | None) -> list[str]:
    return sorted(info.alias or name for name, info in fields(model))


@cache
def _check_of(model: type[Model], key: str) -> TypeAdapter[Any] | None:
    """What validates a field of a model; None if it has none of this name."""
    found = next((info for name, info in fields(model) if key in (name, info.alias)), None)
    return TypeAdapter(found.rebuild_annotation()) if found else None


def accepts(model: type[Model], value: Mapping[str, Any]) -> bool:
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


def _at(tree: Any, path: Iterable[str]) -> Any:
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
