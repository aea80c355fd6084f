"""`tensorplane status`: what is in a stack's cluster, and volumes without a claim."""

from __future__ import annotations

import click

from tensorplane.cli import options


@click.command("status")
@options.stack_option
@options.context_option
def click_command(stack: str, context: str) -> None:
    """Nodes, pods, volumes, queues and URLs of a stack's cluster."""
    from tensorplane.driver import status

    status.status(context, stack)
