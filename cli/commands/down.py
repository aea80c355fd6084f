"""`tensorplane down`: stops the embedded cluster; data, tools and images stay."""

from __future__ import annotations

import click

from tensorplane.cli import options


@click.command("down")
@options.embedded_stack_option
def click_command(stack: str | None) -> int:
    """Stop the embedded cluster. Data, tools and images stay."""
    from tensorplane.driver import exit_codes, teardown
    from tensorplane.embedded.instance import Instance

    return exit_codes.run("tensorplane down", lambda: teardown.down(Instance.current(), stack))
