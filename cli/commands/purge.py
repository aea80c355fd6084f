"""`tensorplane purge`: stops the embedded cluster and deletes its data, with the states of the stacks on it."""

from __future__ import annotations

import click

from tensorplane.cli import options


@click.command("purge")
@options.embedded_stack_option
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
def click_command(stack: str | None, yes: bool) -> int:
    """Stop the embedded cluster and delete its data (asks first)."""
    from tensorplane.driver import exit_codes, teardown
    from tensorplane.embedded.instance import Instance

    return exit_codes.run("tensorplane purge", lambda: teardown.purge(Instance.current(), stack, confirmed=yes))
