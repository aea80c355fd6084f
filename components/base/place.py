"""Positions in the settings: pydantic locations as the paths that users write."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import NoneType, UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from components.base.family import Variant
from components.base.model import LIST_TAG, MAP_TAG, PRODUCED_TAG, SECRET_TAG, TEXT_TAG, Model
from components.base.moved import Moved
from stack_file.nearest import nearest

_MARKERS = ("[key]", LIST_TAG, MAP_TAG, TEXT_TAG, PRODUCED_TAG, SECRET_TAG)
Key = tuple[str, ...]
"""A key below `tensorplane:`, from the outermost inwards."""


@dataclass(frozen=True)
class Place:
    """The position of an error: its path as users write it, and the model of its last key."""

    path: Key
    around: type[Model] | None
    given: frozenset[str] = frozenset()
    """The keys of the map that contains it."""

    def meant(self) -> tuple[Key, ...]:
        """The keys that an unknown one may mean: similar ones, else the missing one."""
        free = set(self.allowed()) - self.given
        missing = [name for name in self.required() if name in free]
        alone = len(missing) == 1 and len(self.given - set(self.allowed())) == 1
        names = nearest(self.path[-1], free) or (missing if alone else ())
        return tuple((*self.path[:-1], name) for name in names)

    def moved(self, value: Any) -> Moved | None:
        """Where a setting with this former key is now; None if it was never a setting."""
        relocation = self.around.moved.get(self.path[-1]) if self.around else None
        return relocation(self.path[-2], value) if relocation else None

    def required(self) -> list[str]:
        """The keys that the model around must have."""
        return [field.alias or name for name, field in fields(self.around) if field.is_required()]

    def is_foreign(self) -> bool:
        """Whether its map has settings of another model; missing keys are then not reported."""
        unknown = self.given - set(self.allowed())
        return self.around is not None and (len(unknown) > 1 or 0 < len(unknown) == len(self.given))

    def allowed(self) -> list[str]:
        """The keys that the model around knows, as people write them."""
        return sorted(field.alias or name for name, field in fields(self.around))

    @classmethod
    def of(cls, root: type[Model], location: tuple[int | str, ...], tree: Any = None) -> "Place":
        """Follow a pydantic location through the models, without its markers for union members and dict keys."""
        path: list[str] = []
        around: type[Model] | None = None
        here: Any = root
        for part in location:
            options = list(_options(here))
            variant = _variant(options, part)
            if variant is not None:
                here = variant
                continue
            container = next((option for option in options if _is_container(option)), None)
            if part == MAP_TAG:
                here = next(filter(_is_model, options), here)
            if container is None or part in _MARKERS:
                continue
            path.append(str(part))
            around = container if _is_model(container) else None
            here = _inside(container, str(part))
        for key in path[:-1]:
            tree = tree.get(key) if isinstance(tree, Mapping) else None
        given = frozenset(tree) if isinstance(tree, Mapping) else frozenset[str]()
        return cls(tuple(path), around, given - set(around.moved if around else ()))


def fields(model: type[Model] | None) -> Iterable[tuple[str, Any]]:
    """A model's settings: the name in Python, and pydantic's field."""
    return model.model_fields.items() if model else ()


def variants(annotation: Any) -> Mapping[str, type[Model]]:
    """The variants of the family that an annotation allows, by kind; none where it is no family."""
    families = [option for option in _options(annotation) if isinstance(option, type) and issubclass(option, Variant)]
    return next((option.variants for option in families if option.is_family), {})


def _options(annotation: Any) -> Iterator[Any]:
    """The types that an annotation allows, without None and what Annotated adds."""
    origin = get_origin(annotation)
    if origin is Annotated:
        yield from _options(get_args(annotation)[0])
    elif origin in (Union, UnionType):
        for option in get_args(annotation):
            yield from _options(option)
    elif annotation is not NoneType:
        yield annotation


def _is_model(option: Any) -> bool:
    return isinstance(option, type) and issubclass(option, Model)


def _is_container(option: Any) -> bool:
    return _is_model(option) or get_origin(option) in (dict, list, tuple)


def _variant(options: list[Any], part: int | str) -> type[Model] | None:
    """The model that a part of a location stands for where it is a union's tag, the `kind` of one of its models."""
    models: list[type[Model]] = [option for option in options if _is_model(option)]
    for model in models:
        if issubclass(model, Variant) and model.is_family:
            if part in model.variants:
                return model.variants[str(part)]
        elif len(models) > 1 and "kind" in model.model_fields and model.model_fields["kind"].default == part:
            return model
    return None


def _inside(container: Any, key: str) -> Any:
    if _is_model(container):
        return next((f.annotation for n, f in container.model_fields.items() if key in (n, f.alias)), None)
    arguments = get_args(container)
    # A list's items, of which a tuple's type says no number, or a map's values.
    return arguments[1] if get_origin(container) is dict else arguments[0]
