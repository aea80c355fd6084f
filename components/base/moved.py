"""Settings that moved to another key, and the message for the old one."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Moved:
    """Where a setting is now."""

    to: tuple[str, ...]
    """The new key."""
    text: str
    """What to do, as one line."""


Relocation = Callable[[str, Any], Moved]
"""From the name of what the old key is in, such as a volume's, and the value of the old key."""
