"""`tensorplane run -- python train.py`: starts a training job on a stack's queues, and follows it."""

from __future__ import annotations

from pathlib import Path

import click

from tensorplane.cli import options


@click.command("run")
@options.stack_option
@options.team_option
@click.option("--name", help="Name of the job (default: that of the script, or of the file).")
@click.option("-f", "--file", type=Path, metavar="JOB.yaml", help="The job's settings, as below `workloads: NAME:`.")
@click.option("--queue", metavar="QUEUE", help="Queue that admits the job.")
@click.option("--workers", type=click.IntRange(min=1), metavar="N", help="Pods that train together (default: 1).")
@click.option("--accelerator", metavar="MODEL", help="GPUs of this model, such as l4.")
@click.option("--per-worker", type=click.IntRange(min=0), metavar="N", help="GPUs of each pod.")
@click.option("--cpus", type=float, metavar="N", help="CPU cores of each pod (default: 1).")
@click.option("--memory-gib", type=float, metavar="GIB", help="Memory of each pod (default: 2).")
@click.option("--volume", "volumes", multiple=True, metavar="NAME[:PATH[:ro]]", help="Volume, and where pods see it.")
@click.option("--env", "variables", multiple=True, metavar="NAME=VALUE", help="Environment variable of the pods.")
@click.option("--package", "packages", multiple=True, metavar="PACKAGE", help="Python package, such as pandas==2.2.3.")
@click.option("--image", metavar="REF", help="Container image (default: TensorFlow's).")
@click.option("--publish", metavar="SERVER", help="Model server that gets the trained model.")
@click.option("--again", is_flag=True, help="Train once more what has run already, from the beginning.")
@click.option("--dry-run", is_flag=True, help="Print the objects as YAML, and create nothing.")
@click.option("--detach", is_flag=True, help="Return once the job is submitted.")
@click.argument("command_line", nargs=-1, metavar="[-- COMMAND...]", type=click.UNPROCESSED)
def click_command(
    stack: str,
    team: str | None,
    name: str | None,
    file: Path | None,
    again: bool,
    dry_run: bool,
    detach: bool,
    command_line: tuple[str, ...],
    **given: object,
) -> None:
    """Start a training job in a queue, and follow it.

    It is followed until it ends; Ctrl-C leaves it running. The job gets the files of this folder, or of that of
    JOB.yaml, except hidden ones. The same command with the same files is the same run: it is not started twice.

    \b
    tensorplane run --queue training --volume models:/models -- python train.py
    tensorplane run --workers 4 --accelerator l4 -- python train.py
    tensorplane run -f job.yaml
    """
    from tensorplane.cli.commands.run import command, request
    from tensorplane.cli.commands.run.submission import SubmitOptions
    from tensorplane.core import terminal

    job = request.job(name, file, command_line, request.JobOptions.of(given), team=team)
    submit_options = SubmitOptions(
        job, stack, team, options.kubeconfig_context(), again=again, dry_run=dry_run, detach=detach
    )
    command.run(submit_options, terminal.console())
