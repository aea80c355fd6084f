"""Values that other resources of the program produce, in settings: `pulumi.Output`, without importing Pulumi."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, cast, runtime_checkable

if TYPE_CHECKING:
    import pulumi

T = TypeVar("T")


@runtime_checkable
class Produced(Protocol):
    """A value that another resource will produce: a `pulumi.Output`."""

    def apply(self, func: Callable[[Any], Any], run_with_unknowns: bool = False) -> Any:
        """The result of a function of the value."""

    def future(self, with_unknowns: bool | None = None) -> Any:
        """An awaitable of the value."""


def as_input(value: T | Produced) -> pulumi.Input[T]:
    """The value of a leaf of the settings as Pulumi's resources take it."""
    return cast("pulumi.Input[T]", value)


def known(value: T | Produced | None) -> T | None:
    """The value if the settings have it, so that a check can judge it; None if another resource produces it."""
    return None if isinstance(value, Produced) else value
