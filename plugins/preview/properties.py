"""The properties of a class of the SDK: their names as the engine has them, their types, and which are required."""

from __future__ import annotations

import functools
import typing
from collections.abc import Awaitable, Mapping
from dataclasses import dataclass
from types import NoneType, UnionType
from typing import Any

import pulumi

# The SDK's own function for a class's annotations, which resolves forward references in their module.
from pulumi import _types


@dataclass(frozen=True)
class Property:
    """One property; `types`: its alternatives, without those of inputs (`Awaitable`, `Output`)."""

    name: str
    python_name: str
    types: tuple[Any, ...]
    required: bool


@functools.cache
def of(cls: type) -> Mapping[str, Property]:
    """Properties by the engine's name. Required arguments must be set; required outputs are always present."""
    names = {name: python_name for python_name, name, _ in _types._py_properties(cls)}
    found = {}
    for name, hint in _types._raw_return_hints(cls).items():
        hint = typing.get_args(hint)[0] if typing.get_origin(hint) is pulumi.Output else hint
        optional = _is_union(hint) and NoneType in typing.get_args(hint)
        found[name] = Property(name, names[name], alternatives(hint), not optional)
    return found


@functools.cache
def alternatives(hint: Any) -> tuple[Any, ...]:
    """The types that an annotation allows; empty: any value."""
    if not _is_union(hint):
        return () if hint is Any or isinstance(hint, typing.TypeVar) else (hint,)
    members = [member for member in typing.get_args(hint) if not _is_plumbing(member)]
    found = [alternatives(member) for member in members]
    return tuple(dict.fromkeys(option for options in found for option in options)) if all(found) else ()


def is_object(option: Any) -> bool:
    """Whether a type is a class with properties."""
    return isinstance(option, type) and (_types.is_input_type(option) or _types.is_output_type(option))


def _is_union(hint: Any) -> bool:
    return typing.get_origin(hint) in (typing.Union, UnionType)


def _is_plumbing(member: Any) -> bool:
    origin = typing.get_origin(member) or member
    return origin in (NoneType, Awaitable, pulumi.Output) or typing.is_typeddict(member)
