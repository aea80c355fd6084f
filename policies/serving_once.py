"""The engine's request to judge a stack, read once for all rules.

pulumi-policy (1.21) deserializes all resources of the stack again for each stack policy: with forty rules, forty times.
What is read is the same each time, and rules do not change it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pulumi_policy import policy as framework


class _Messages:
    """`json_format` for the framework, which remembers what it made of a message."""

    def __init__(self, original: Any) -> None:
        self._original = original
        # The messages too: a name in memory is only unique while the object lives.
        self.made: dict[int, tuple[Any, Any]] = {}

    def MessageToDict(self, message: Any) -> Any:  # noqa: N802  # protobuf's name
        """The message as plain values; the same object for the same message."""
        if id(message) not in self.made:
            self.made[id(message)] = message, self._original.MessageToDict(message)
        return self.made[id(message)][1]


def _remembering(function: Callable[[Any], Any]) -> Callable[..., Any]:
    """A function of one object that answers the same object with the same answer."""
    made: dict[int, tuple[Any, Any]] = {}

    def answered(value: Any, *more: Any) -> Any:
        if more:
            return function(value, *more)
        if id(value) not in made:
            made[id(value)] = value, function(value)
        return made[id(value)][1]

    return answered


def install() -> None:
    """Makes the framework read each resource once. The pack's process ends with the preview or the update."""
    framework.json_format = _Messages(framework.json_format)
    framework.deserialize_properties = _remembering(framework.deserialize_properties)
    framework.unknown_checking_proxy = _remembering(framework.unknown_checking_proxy)
