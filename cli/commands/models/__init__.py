"""`tensorplane models`: model servers, what they serve, and how fast they answer."""

from __future__ import annotations

import click

from tensorplane.cli import options


@click.command("models")
@options.server_argument(required=False)
@options.stack_option
@options.team_option
@options.json_option()
def click_command(target: str | None, stack: str, team: str | None, as_json: bool) -> None:
    """Model servers: versions, replicas, requests, latencies.

    With SERVER/MODEL, or a SERVER of one model, its signatures as well.
    """
    from tensorplane.cli.access import Access
    from tensorplane.cli.commands.models import command
    from tensorplane.core import terminal

    access = Access.of(stack, team, options.kubeconfig_context())
    command.run(access, target, terminal.console(), as_json=as_json)
