"""`tensorplane import`: settings made of other systems' files."""

from __future__ import annotations

from pathlib import Path

import click

from tensorplane.cli import options


@click.group("import", short_help="Settings made of pipelines of Pachyderm.")
def click_command() -> None:
    """Settings made of other systems' files."""


@click_command.command("pachyderm")
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=click.Path(path_type=Path))
@options.stack_option
@click.option("--name", help="Name of the pipeline (default: that of its last stage).")
@click.option("--volume", default="data", show_default=True, help="Volume of the datasets.")
@click.option("--queue", help="Queue of stages with GPUs.")
@click.option("--accelerator", metavar="MODEL", help="Model of their GPUs (default: any).")
def _pachyderm(
    files: tuple[Path, ...], stack: str, name: str | None, volume: str, queue: str | None, accelerator: str | None
) -> int:
    """Pipelines and datasets of Pachyderm's pipeline specs, JSON or YAML, as settings to be added to a stack.

    Specs that feed each other become stages of one pipeline. On standard error there is a line for each field that has
    no equal, and for each mistake that is left to correct: then it exits with 1.
    """
    from tensorplane.cli.pachyderm import into_stack
    from tensorplane.cli.pachyderm.stage import Choice

    text, lines, failed = into_stack.imported(list(files), stack, Choice(queue, accelerator), name=name, volume=volume)
    click.echo(text, nl=False)
    click.echo("\n".join(lines), err=True)
    return int(failed)
