"""The errors of tensorplane. All have one root; what people are meant to read is a UserError."""

from __future__ import annotations


class TensorplaneError(Exception):
    """The root of tensorplane's own errors."""


class UserError(TensorplaneError):
    """One or more lines for the user: a problem and its remedy each. Commands print them, and exit with 1."""

    def __init__(self, *lines: str) -> None:
        super().__init__("\n".join(lines))
        self.lines = lines
