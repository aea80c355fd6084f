"""Settings with values that other resources produce, as an output of the same settings with these values."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

from tensorplane.components.base import sdk
from tensorplane.components.base.model import Model
from tensorplane.components.base.produced import Produced

if TYPE_CHECKING:
    import pulumi

T = TypeVar("T")


def resolve_outputs(value: T) -> pulumi.Output[T]:
    """The value once what other resources produce in it is known: in models, dataclasses, maps and lists."""
    found = sdk.pulumi.Output.all(*_produced(value))
    return found.apply(lambda known: cast(T, _filled(value, iter(known))))


def has_outputs(value: Any) -> bool:
    """Whether another resource produces a part of the value."""
    return next(_produced(value), None) is not None


def _parts(value: Any) -> Mapping[Any, Any]:
    """What a value consists of; empty for a value without parts."""
    if isinstance(value, Model):
        return {name: getattr(value, name) for name in type(value).model_fields}
    if dataclasses.is_dataclass(value):
        return {each.name: getattr(value, each.name) for each in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return value
    return dict(enumerate(value)) if isinstance(value, list | tuple) else {}


def _produced(value: Any) -> Iterator[Any]:
    if isinstance(value, Produced):
        yield value
    else:
        for part in _parts(value).values():
            yield from _produced(part)


def _filled(value: Any, known: Iterator[Any]) -> Any:
    """The value with the known ones in place of the produced ones, in the order of `_produced`."""
    if isinstance(value, Produced):
        return next(known)
    parts = {name: _filled(part, known) for name, part in _parts(value).items()}
    if isinstance(value, Model):
        return value.model_copy(update={name: part for name, part in parts.items() if part is not getattr(value, name)})
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return dataclasses.replace(value, **parts)
    if isinstance(value, Mapping):
        return parts
    return type(value)(parts.values()) if isinstance(value, list | tuple) else value
