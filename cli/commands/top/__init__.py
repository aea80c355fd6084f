"""`tensorplane top`: who has which accelerators now, and the queues' history."""

from __future__ import annotations

import click

from tensorplane.cli import options


@click.command("top")
@options.stack_option
@click.option(
    "--history", default="3", show_default=True, metavar="HOURS", help="How far back the plot goes; 0 for no plot."
)
@options.json_option()
def click_command(stack: str, history: str, as_json: bool) -> None:
    """Who has which accelerators, and how many jobs waited.

    The table is by flavor, queue and namespace; the plot shows the waiting jobs. The history comes from the Workloads
    that still exist: deleted ones are missing, and of one that was evicted several times only the last is known.
    Prometheus has the full history.
    """
    from tensorplane.cli.commands.top import command
    from tensorplane.core import terminal

    command.run(command.TopOptions(stack, options.kubeconfig_context(), history, as_json), terminal.console())
