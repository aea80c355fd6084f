"""`tensorplane why JOB`: why a job waits, runs or was stopped, and what would let it start."""

from __future__ import annotations

import click

from tensorplane.cli import options


@click.command("why")
@click.argument("job")
@options.stack_option
@options.team_option
@options.json_option()
def click_command(job: str, stack: str, team: str | None, as_json: bool) -> None:
    """Why a job waits, runs or was stopped, and what helps.

    JOB is a training job of the stack, a JobSet's name, or NAMESPACE/NAME of a team's. Of a model server, a scorer, a
    recorder or a TensorBoard of the stack, it tells of pods that do not run or whose nodes are lost or leave.
    """
    from tensorplane.cli.access import Access
    from tensorplane.cli.commands.why import command
    from tensorplane.core import terminal

    access = Access.of(stack, team, options.kubeconfig_context())
    command.run(access, job, terminal.console(), as_json=as_json)
