"""A type of a cloud's API, whatever format the cloud publishes it in."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol


@dataclass(frozen=True)
class Limits:
    """What a model says about the values of one type. Without limits, any value of the right type passes."""

    allowed: tuple[str, ...] = ()
    """Every value, if the type is an enumeration."""
    grows: bool = False
    """Whether the cloud adds values so often that the pinned model lacks some: other values are warnings."""
    pattern: str = ""
    """A regular expression that the complete value matches, in `regex`'s dialect."""
    least: float | None = None
    """Minimum of a number."""
    most: float | None = None
    """Maximum of a number."""
    shortest: int = 0
    """Minimum length: characters of a string, entries of a list or map."""
    longest: int | None = None
    """Maximum length."""

    @property
    def any(self) -> bool:
        """Whether the model limits the values at all."""
        return self != Limits()


class Shape(Protocol):
    """A type: a scalar, a list, a map, or a structure with members. Types may contain themselves."""

    @property
    def limits(self) -> Limits: ...

    @property
    def is_logical(self) -> bool:
        """Whether values are true or false, which the SDK's types check completely."""

    def members(self) -> Mapping[str, Shape]:
        """The members of a structure by name; empty for other types."""

    def item(self) -> Shape | None:
        """The type of a list's items; None for other types."""

    def entry(self) -> tuple[Shape | None, Shape] | None:
        """The types of a map's keys and values; None for other types."""


@dataclass(frozen=True)
class Parameters:
    """The inputs of a resource as one structure, where the API takes them in several."""

    parts: Mapping[str, Shape] = field(default_factory=dict)
    limits: Limits = Limits()
    is_logical: bool = False

    def members(self) -> Mapping[str, Shape]:
        return self.parts

    def item(self) -> Shape | None:
        return None

    def entry(self) -> tuple[Shape | None, Shape] | None:
        return None


Source = Callable[[str], Shape | None]
"""Finds a type by its address, such as `eks.CreateNodegroup` or `container.v1.NodePool`; None without such a type."""
