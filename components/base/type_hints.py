"""The types that a setting's type hint allows."""

from collections.abc import Iterator, Mapping
from types import NoneType, UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from tensorplane.components.base.family import Variant
from tensorplane.components.base.model import Model


def variants(annotation: Any) -> Mapping[str, type[Model]]:
    """The variants of the family that an annotation allows, by kind; none where it is no family."""
    families = [option for option in options(annotation) if isinstance(option, type) and issubclass(option, Variant)]
    return next((option.variants for option in families if option.is_family), {})


def models(annotation: Any) -> list[tuple[type[Model], str]]:
    """The models that an annotation allows, with the `kind` of each where that selects one."""
    if family := variants(annotation):
        return [(variant, kind) for kind, variant in family.items()]
    found: list[type[Model]] = [option for option in options(annotation) if is_model(option)]
    return [(model, _kind(model) if len(found) > 1 else "") for model in found]


def _kind(model: type[Model]) -> str:
    field = model.model_fields.get("kind")
    return str(field.default) if field else ""


def options(annotation: Any) -> Iterator[Any]:
    """The types that an annotation allows, without None and what Annotated adds."""
    origin = get_origin(annotation)
    if origin is Annotated:
        yield from options(get_args(annotation)[0])
    elif origin in (Union, UnionType):
        for option in get_args(annotation):
            yield from options(option)
    elif annotation is not NoneType:
        yield annotation


def items(annotation: Any) -> list[Any]:
    """The annotations of the items of the lists that an annotation allows."""
    return [get_args(option)[0] for option in options(annotation) if get_origin(option) in (list, tuple)]


def is_model(option: Any) -> bool:
    """Whether a type is a map of settings."""
    return isinstance(option, type) and issubclass(option, Model)
