"""`tensorplane tiers`: which queue gets which flavors, from the settings alone."""

from __future__ import annotations

import click

from tensorplane.cli import options


@click.command("tiers")
@options.stack_option
@options.json_option()
def click_command(stack: str, as_json: bool) -> None:
    """Which queue gets which flavors: guaranteed or borrowable.

    That follows from the settings alone.
    """
    from tensorplane.cli import stack_config
    from tensorplane.cli.commands.tiers import command
    from tensorplane.core import terminal

    command.run(stack_config.file(stack), terminal.console(), as_json=as_json)
