"""The error that this project shows to users: a line per fault with its remedy, no traceback."""

from __future__ import annotations


class Fault(Exception):
    """One or more lines for the user. The command's entry point prints them and exits with 1."""

    def __init__(self, *lines: str) -> None:
        super().__init__("\n".join(lines))
        self.lines = lines
