"""`tensorplane status`: what is in a stack's cluster, as `make status` shows it."""

from __future__ import annotations

import click

from tensorplane.cli import options


@click.command("status")
@options.stack_option
def click_command(stack: str) -> None:
    """Nodes, pods, volumes, queues and URLs of a stack's cluster."""
    from tensorplane.driver import status

    status.status(options.kubeconfig_context(), stack)
