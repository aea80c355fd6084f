"""`tensorplane tools`: finds or builds the Pulumi CLI and its plugins, and makes plain `pulumi` work here."""

from __future__ import annotations

from typing import Literal

import click


@click.command("tools")
@click.option("--all", "everything", is_flag=True, hidden=True, help="Also those of this repository's tests.")
@click.option(
    "--python", type=click.Choice(["stacks", "tests"]), hidden=True, help="Only a checkout's Python packages."
)
def click_command(everything: bool, python: Literal["stacks", "tests"] | None) -> int:
    """Get what previews need: the Pulumi CLI and its plugins."""
    from tensorplane.driver import exit_codes, tools

    return exit_codes.run("tensorplane tools", lambda: tools.prepare(everything=everything, python=python))
