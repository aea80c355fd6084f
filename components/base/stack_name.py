"""The name of the stack whose settings are read: of the running program, or of the file that a command reads."""

from __future__ import annotations

from tensorplane.components.base.sdk import pulumi

_of_file = ""


def configure(name: str) -> None:
    """From now on, settings are those of this stack. Empty: of the running program."""
    global _of_file
    _of_file = name


def current() -> str:
    """The stack's name."""
    return _of_file or pulumi.get_stack()
