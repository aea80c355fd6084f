"""`tensorplane describe JOB`: everything about one training job, with its curves."""

from __future__ import annotations

import click

from tensorplane.cli import options


@click.command("describe")
@click.argument("job")
@options.stack_option
@options.team_option
@options.json_option()
def click_command(job: str, stack: str, team: str | None, as_json: bool) -> None:
    """One training job: state, pods, folders, cost, curves.

    It says why the job is in its state, and plots loss and speed.

    JOB is a training job of the stack, a JobSet's name, or NAMESPACE/NAME of a team's.
    """
    from tensorplane.cli.access import Access
    from tensorplane.cli.commands.describe import command
    from tensorplane.core import terminal

    access = Access.of(stack, team, options.kubeconfig_context())
    command.run(access, job, terminal.console(), as_json=as_json)
