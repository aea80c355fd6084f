"""`tensorplane drift`: what was changed outside of Pulumi."""

from __future__ import annotations

from pathlib import Path

import click

from tensorplane.cli import options


@click.command("drift", short_help="What was changed or deleted outside of Pulumi.")
@options.stack_option
@click.option(
    "--report", type=Path, default="drift.md", show_default=True, metavar="FILE", help="Path of the Markdown report."
)
def click_command(stack: str, report: Path) -> int:
    """What somebody changed or deleted outside of Pulumi, and `tensorplane up --refresh` would repair.

    The exit code is 0 without drift, 3 with drift, and 1 if it cannot be determined.
    """
    from tensorplane.cli.commands.drift import command
    from tensorplane.core import terminal

    return command.run(stack, options.kubeconfig_context(), report, terminal.console())
