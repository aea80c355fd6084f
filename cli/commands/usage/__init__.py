"""`tensorplane usage`: GPU-hours that each team and queue used, by month, as the cluster recorded them."""

from __future__ import annotations

import click

from tensorplane.cli import options


@click.command("usage")
@options.stack_option
@click.option("--month", metavar="YYYY-MM", help="One month (default: the present one, in UTC; `all` for every one).")
@options.json_option()
def click_command(stack: str, month: str | None, as_json: bool) -> None:
    """GPU-hours by team, queue and month, and what they cost.

    They are those for which jobs in queues held their quota, as the stack's agent recorded them; also of jobs that were
    deleted. Costs are estimates at the list prices of the deployed stack.
    """
    from tensorplane.cli.commands.usage import command
    from tensorplane.core import terminal

    command.run(command.UsageOptions(stack, options.kubeconfig_context(), month, as_json), terminal.console())
