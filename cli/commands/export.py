"""`tensorplane export`: files for other systems, made of a stack's settings."""

from __future__ import annotations

import click

from tensorplane.cli import options


@click.group("export", short_help="Pipelines as specs of Pachyderm.")
def click_command() -> None:
    """Files for other systems, made of a stack's settings."""


@click_command.command("pachyderm")
@click.argument("pipelines", metavar="[PIPELINE]...", nargs=-1)
@options.stack_option
def _pachyderm(pipelines: tuple[str, ...], stack: str) -> None:
    """PIPELINEs of a stack, or all, as specs that `pachctl create pipeline` takes: one for each stage.

    On standard error there is a line for each setting that has no equal.
    """
    from tensorplane.cli.pachyderm import export

    text, lines = export.exported(pipelines, stack)
    click.echo(text, nl=False)
    if lines:
        click.echo("\n".join(lines), err=True)
