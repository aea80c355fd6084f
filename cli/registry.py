"""The commands: every module and package in `cli/commands`.

`cli/commands/NAME.py` or `cli/commands/NAME/__init__.py` has `click_command`. `tensorplane --help` imports
them all, so what a command depends on is imported when it runs: importing the stack takes a second.
"""

from __future__ import annotations

import importlib
import keyword
import pkgutil

import click

from tensorplane.cli import commands


def names() -> list[str]:
    """The commands' names, without importing any."""
    return sorted(module.name.rstrip("_") for module in pkgutil.iter_modules(commands.__path__))


def load(name: str) -> click.Command:
    """Imports a command. A module cannot have the name of a keyword of Python, so that of `import` is `import_`."""
    module = f"{name}_" if keyword.iskeyword(name) else name
    click_command: click.Command = importlib.import_module(f"{commands.__name__}.{module}").click_command
    return click_command


class Commands(click.Group):
    """All of them; each is imported when it is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return names()

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        return load(cmd_name) if cmd_name in names() else None
