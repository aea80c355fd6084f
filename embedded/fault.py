"""The one error that this package shows to people: what is wrong and what to do, a line each, no traceback."""

from __future__ import annotations


class Fault(Exception):
    """One or more lines for the user. Whoever is outermost prints them and exits with 1."""

    def __init__(self, *lines: str) -> None:
        super().__init__("\n".join(lines))
        self.lines = lines
