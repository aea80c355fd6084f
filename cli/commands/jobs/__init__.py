"""`tensorplane jobs`: all training jobs, with their place in the queue, progress and cost."""

from __future__ import annotations

import click

from tensorplane.cli import options


@click.command("jobs")
@options.stack_option
@options.team_option
@click.option("--all", "everything", is_flag=True, help="All jobs that have ended, not only the newest.")
@options.json_option()
def click_command(stack: str, team: str | None, everything: bool, as_json: bool) -> None:
    """Training jobs: state, place in the queue, progress, cost.

    They are those of all stacks and teams in the cluster, or with --team those of the team.
    """
    from tensorplane.cli.access import Access
    from tensorplane.cli.commands.jobs import command
    from tensorplane.core import terminal

    access = Access.of(stack, team, options.kubeconfig_context())
    command.run(access, terminal.console(), everything=everything, as_json=as_json)
