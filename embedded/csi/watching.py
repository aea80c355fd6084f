"""What the driver's threads have in common: they look again and again, and complain once of what stays wrong."""

from __future__ import annotations

import threading
import traceback
from collections.abc import Callable


def watch(look: Callable[[], None], seconds: float, ended: threading.Event) -> None:
    """Looks every so many seconds. Whatever goes wrong, the next look tries again."""
    while not ended.wait(seconds):
        try:
            look()
        except Exception:
            traceback.print_exc()


class Complaint:
    """Something that may be wrong for long, such as an API server that is away."""

    def __init__(self) -> None:
        self._said = ""

    def say(self, text: str) -> None:
        """Prints a text that is new; an empty one says that all is well again."""
        if text and text != self._said:
            print(text, flush=True)
        self._said = text
