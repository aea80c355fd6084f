"""Common parts of the driver's threads: they repeat a check, and log a persistent problem once."""

from __future__ import annotations

import threading
import traceback
from collections.abc import Callable


def watch(look: Callable[[], None], seconds: float, ended: threading.Event) -> None:
    """Repeats a check at an interval. After any error, the next one tries again."""
    while not ended.wait(seconds):
        try:
            look()
        except Exception:
            traceback.print_exc()


class Complaint:
    """A problem that may persist, such as an API server that does not answer."""

    def __init__(self) -> None:
        self._last = ""

    def say(self, text: str) -> None:
        """Prints a message if it is new; an empty one means that the problem is solved."""
        if text and text != self._last:
            print(text, flush=True)
        self._last = text
