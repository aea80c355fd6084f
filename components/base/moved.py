"""Settings that moved to another key, and the message for the old one."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Moved:
    """The new key of a setting that moved."""

    to: tuple[str, ...]
    """The new key."""
    text: str
    """Problem and remedy, in one line."""


Relocation = Callable[[str, Any], Moved]
"""A function of the name of the map with the old key, such as a volume's name, and the value of that key."""
