"""`tensorplane logs JOB`: what the pods of a training job print, or those of a pipeline's stage."""

from __future__ import annotations

import click

from tensorplane.cli import options


@click.command("logs", short_help="What the pods of a training job or of a stage print.")
@click.argument("job", metavar="JOB|PIPELINE/STAGE")
@options.stack_option
@options.team_option
@click.option("-f", "--follow", is_flag=True, help="Print new lines as they come, until it has ended.")
@click.option("--role", metavar="ROLE", help="Only pods of this role: worker, chief, ps, evaluator, part.")
@click.option("--index", type=click.IntRange(min=0), help="Only the pod of this index in its role, or part.")
@click.option("--previous", is_flag=True, help="The start of the pods before the last one.")
@click.option("--tail", type=click.IntRange(min=1), metavar="LINES", help="Only the last lines of each pod.")
def click_command(
    job: str,
    stack: str,
    team: str | None,
    follow: bool,
    role: str | None,
    index: int | None,
    previous: bool,
    tail: int | None,
) -> None:
    """What the pods of a training job print, or those of a stage of a pipeline.

    Before its lines is each pod's role and index. Of a failed job, the reason comes first. Jobs with checkpoints keep
    the lines of deleted pods on their volume.

    JOB is a training job of the stack, a JobSet's name, or NAMESPACE/NAME of a team's. PIPELINE/STAGE is a stage of a
    pipeline's last run, RUN/STAGE of another one: first what was planned, then the lines of the program on each part,
    then what was committed.
    """
    from tensorplane.cli.access import Access
    from tensorplane.cli.commands.logs import command
    from tensorplane.cli.commands.logs.pods import LogsOptions
    from tensorplane.core import terminal

    wanted = LogsOptions(role, index, previous, tail)
    access = Access.of(stack, team, options.kubeconfig_context())
    command.run(access, job, wanted, terminal.console(), follows=follow)
