"""The commands: every module and package in `cli/commands`."""

from __future__ import annotations

import importlib
import pkgutil

from cli import commands
from cli.command import Command


def names() -> list[str]:
    """The commands' names, without importing any."""
    return sorted(module.name for module in pkgutil.iter_modules(commands.__path__))


def load(name: str) -> Command:
    """Import a command."""
    command: Command = importlib.import_module(f"{commands.__name__}.{name}").COMMAND
    return command
